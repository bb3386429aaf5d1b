#include "apps/cli/help.h"

#include "apps/cli/without_effect.h"

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

struct Usage {
    Mode mode;
    const char * what;
    const char * lines;
};

const Usage & usage_of(Mode mode) {
    static const Usage list[] = {
        {Mode::img_gen, "Makes pictures.",
         "  sd-cli --diffusion-model FILE --llm FILE --vae FILE -p \"a cat\" -o cat.png\n"},
        {Mode::inspect, "Tells what is in model files, and whether they can be run.",
         "  sd-cli -M inspect -m FILE [--layers | --json]\n"},
        {Mode::convert, "Writes a model as another file, with float weights in another type.",
         "  sd-cli -M convert -m FILE --type f16 -o OUTPUT.gguf\n"},
        {Mode::quantize, "Writes a model with weights in an INT8 or INT4 format.",
         "  sd-cli -M quantize -m FILE --format int8-convrot -o OUTPUT.safetensors\n"},
        {Mode::compare, "Shows what two models make of the same prompts.",
         "  sd-cli -M compare --diffusion-model FILE --llm FILE --vae FILE \\\n"
         "      --compare-diffusion-model FILE -p \"a cat\" -o sheet.png\n"},
        {Mode::metadata, "Prints how a picture was made.",
         "  sd-cli -M metadata --image cat.png [--metadata-format json]\n"},
    };
    return *std::find_if(std::begin(list), std::end(list), [&](const Usage & u) { return u.mode == mode; });
}

// Options of each group that are wanted, under its name.
template <class Wanted>
std::string groups_of(const CLI::App & app, Wanted && wanted) {
    std::string text;
    for (const std::string & group : app.get_groups()) {
        std::string lines;
        for (const CLI::Option * option : app.get_options()) {
            if (!group.empty() && option->get_group() == group && wanted(*option)) lines += line_of(*option);
        }
        if (!lines.empty()) text += "\n" + group + ":\n" + lines;
    }
    return text;
}

} // namespace

std::string help_text(const CLI::App & app) {
    return app.get_description() + "\n\nUsage: " + app.get_name() + " [-M MODE] [options]\n\n" +
           usage_of(Mode::img_gen).lines +
           "\nThese are the options of all modes; sd-cli -M MODE --help lists those of one.\n" +
           groups_of(app, [](const CLI::Option &) { return true; });
}

std::string help_text(const CLI::App & app, Mode mode) {
    const Usage & usage = usage_of(mode);
    const auto is_for_it = [&](const CLI::Option & option) {
        const std::vector<std::string> & names = option.get_lnames();
        return !names.empty() && has_mode("--" + names.front(), option.get_group(), mode);
    };
    return std::string(usage.what) + "\n\n" + usage.lines + groups_of(app, is_for_it);
}

} // namespace cli
