#include "apps/cli/help.h"

#include <algorithm>

namespace cli {
namespace {

constexpr size_t kColumns = 100, kText = 30; // of a line, and where descriptions begin

// `text` in lines of at most `width` columns, each after the first indented. ASCII, as all texts here.
std::string wrapped(const std::string & text, size_t width, size_t indent) {
    std::string out;
    size_t column = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        if (column > 0 && column + 1 + (end - at) > width) {
            out += "\n" + std::string(indent, ' ');
            column = 0;
        }
        if (column > 0) out += ' ';
        out += text.substr(at, end - at);
        column += (column > 0 ? 1 : 0) + (end - at);
        at = end + 1;
    }
    return out;
}

std::string line_of(const CLI::Option & option) {
    std::string name = "  " + option.get_name(false, true);
    if (option.get_items_expected_max() > 0) name += " " + option.get_type_name();
    // Names that are too long for their column have a line of their own.
    name += name.size() + 2 > kText ? "\n" + std::string(kText, ' ') : std::string(kText - name.size(), ' ');
    return name + wrapped(option.get_description(), kColumns - kText, kText) + "\n";
}

} // namespace

std::string help_text(const CLI::App & app) {
    std::string text = app.get_description() + "\n\nUsage: " + app.get_name() +
                       " [-M MODE] [options]\n\n"
                       "  sd-cli --diffusion-model FILE --llm FILE --vae FILE -p \"a cat\" -o cat.png\n";
    for (const std::string & group : app.get_groups()) {
        std::string lines;
        for (const CLI::Option * option : app.get_options()) {
            if (!group.empty() && option->get_group() == group) lines += line_of(*option);
        }
        if (!lines.empty()) text += "\n" + group + ":\n" + lines;
    }
    return text;
}

} // namespace cli
