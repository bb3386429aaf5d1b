#include "quantize/rules.h"

#include "base/error.h"
#include "base/file.h"
#include "base/rotation.h"
#include "quantize/patterns.h"

#include <charconv>

namespace sd {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

struct FormatName {
    LayerFormat format;
    const char * name;
    QuantFormat stored;
};

constexpr FormatName kNames[] = {
    {LayerFormat::int8, "int8", QuantFormat::int8_tensorwise},
    {LayerFormat::int8_convrot, "int8-convrot", QuantFormat::int8_tensorwise},
    {LayerFormat::w4a4, "w4a4", QuantFormat::convrot_w4a4},
    {LayerFormat::w4a8, "w4a8", QuantFormat::asym_w4a8_int8},
};

const FormatName & row_of(LayerFormat format) {
    for (const FormatName & row : kNames) {
        if (row.format == format) return row;
    }
    return kNames[0];
}

std::string read_text(const File & file) {
    if (file.size() > kMostBytes)
        throw Error({"E_FILE", file.path(), {}, "is longer than rules for layers can be (1 MiB)", {}});
    std::string text(size_t(file.size()), '\0');
    file.read(0, text.data(), text.size());
    return text;
}

[[noreturn]] void fail(const std::string & path, int line, const std::string & cause) {
    throw Error({"E_ARGUMENT",
                 path,
                 {},
                 "line " + std::to_string(line) + ": " + cause,
                 "a rule is PATTERN = FORMAT, PATTERN = FORMAT/GROUP or PATTERN = keep"});
}

LayerRule parse_rule(const std::string & path, int line, std::string_view text) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos) fail(path, line, "there is no \"=\" in it");
    LayerRule rule;
    rule.line = line;
    rule.pattern = without_blanks(text.substr(0, equals));
    std::string_view value = without_blanks(text.substr(equals + 1));
    if (rule.pattern.empty()) fail(path, line, "there is no pattern before \"=\"");
    if (value == "keep") return rule;
    const size_t slash = value.find('/');
    const std::string name(without_blanks(value.substr(0, slash)));
    rule.format = layer_format(name);
    if (!rule.format)
        fail(path, line, in_quotes(name, 40) + " is no format: " + layer_format_names() + ", keep");
    if (slash == value.npos) return rule;
    const std::string_view group = without_blanks(value.substr(slash + 1));
    const auto [end, problem] = std::from_chars(group.data(), group.data() + group.size(), rule.group);
    if (problem != std::errc() || end != group.data() + group.size() || rule.group < 4 ||
        !is_rotation_group(rule.group))
        fail(path, line, "the group " + in_quotes(group, 20) + " is no power of four from 4 to 4096");
    if (rule.format == LayerFormat::int8) fail(path, line, "int8 is not rotated and has no group");
    return rule;
}

} // namespace

const char * layer_format_name(LayerFormat format) { return row_of(format).name; }

QuantFormat quant_format_of(LayerFormat format) { return row_of(format).stored; }

std::optional<LayerFormat> layer_format(const std::string & name) {
    for (const FormatName & row : kNames) {
        if (name == row.name) return row.format;
    }
    return std::nullopt;
}

std::string layer_format_names() {
    std::string names;
    for (const FormatName & row : kNames) names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
}

std::vector<LayerRule> read_rules(const std::string & path) {
    const std::string all = read_text(File::open(path));
    std::vector<LayerRule> rules;
    int line = 0;
    for (size_t begin = 0; begin < all.size();) {
        const size_t end = std::min(all.find('\n', begin), all.size());
        std::string_view text = std::string_view(all).substr(begin, end - begin);
        begin = end + 1;
        ++line;
        text = without_blanks(text.substr(0, text.find('#')));
        if (!text.empty()) rules.push_back(parse_rule(path, line, text));
    }
    return rules;
}

} // namespace sd
