#include "checkpoint/type_rules.h"

#include "base/error.h"
#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"

#include <algorithm>
#include <regex>

namespace sd {
namespace {

constexpr size_t kMostPattern = 256, kMostName = 512;
constexpr int64_t kMostRepetition = 128; // the product of all counts in braces

constexpr std::string_view kExcludedEndings[] = {
    ".bias",        ".scale",       ".weight_scale", ".weight_s_rel", ".weight_s_channel", ".weight_codebook",
    ".comfy_quant", ".input_scale", ".scale_weight", ".scale_input"};

// Layers where quality is lost for few bytes.
constexpr std::string_view kExcludedParts[] = {
    "img_in.",           "txt_in.",     "time_in.",    "vector_in.",  "guidance_in.",
    "final_layer.",      "x_embedder.", "t_embedder.", "y_embedder.", "pos_embed",
    "context_embedder.", "time_embed.", "label_emb.",  "embedding"};

bool is_excluded(const std::string & name) {
    const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
    const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    return std::any_of(std::begin(kExcludedEndings), std::end(kExcludedEndings), ends) ||
           std::any_of(std::begin(kExcludedParts), std::end(kExcludedParts), has);
}

[[noreturn]] void refuse(const std::string & item, const std::string & cause) {
    throw Error("--tensor-type-rules: \"" + printable(item, 60) + "\" " + cause);
}

// Counts in braces multiply the states of the matcher, and with them its stack.
bool repeats_too_much(const std::string & pattern) {
    int64_t product = 1, number = 0;
    bool inside = false;
    for (const char c : pattern) {
        if (c == '{') {
            inside = true;
            number = 0;
        } else if (inside && c >= '0' && c <= '9') {
            number = std::min<int64_t>(number * 10 + (c - '0'), kMostRepetition + 1);
        } else if (inside && (c == ',' || c == '}')) {
            product = std::min(product * std::max<int64_t>(number, 1), kMostRepetition + 1);
            number = 0;
            inside = c == ',';
        }
    }
    return product > kMostRepetition;
}

std::regex compile(const std::string & pattern, const std::string & item) {
    if (pattern.empty()) refuse(item, "has an empty pattern");
    if (pattern.size() > kMostPattern)
        refuse(item, "has a pattern of more than " + std::to_string(kMostPattern) + " bytes");
    if (repeats_too_much(pattern))
        refuse(item, "repeats parts more than " + std::to_string(kMostRepetition) + " times");
    auto flags = std::regex::ECMAScript | std::regex::nosubs;
#ifdef __GLIBCXX__
    // That library's other matcher recurses for each character, and may take exponential time.
    flags |= std::regex_constants::__polynomial;
#endif
    try {
        return std::regex(pattern, flags);
    } catch (const std::regex_error & error) {
        refuse(item, std::string("is no pattern this program can use: ") + error.what());
    }
}

// "a{1,2}=f16,b=f32" -> "a{1,2}=f16", "b=f32"
std::vector<std::string> split(const std::string & rules) {
    std::vector<std::string> items(1);
    for (const char c : rules) {
        if (c == ',' && (items.back().empty() || items.back().find('=') != std::string::npos)) {
            items.emplace_back();
        } else {
            items.back() += c;
        }
    }
    return items;
}

} // namespace

struct TypeRules::Rule {
    std::string item;
    std::regex pattern;
    ggml_type type;

    bool matches(const std::string & name) const {
        if (name.size() > kMostName)
            refuse(item, "cannot be applied: the tensor " + printable(name, 40) +
                             " has a name of more than " + std::to_string(kMostName) + " bytes");
        try {
            return std::regex_search(name, pattern);
        } catch (const std::regex_error & error) {
            refuse(item, std::string("cannot be applied: ") + error.what());
        }
    }
};

ggml_type weight_type(const std::string & name) {
    std::string known;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = ggml_type(i);
        if (!is_float_target(type)) continue;
        if (name == ggml_type_name(type)) return type;
        if (!known.empty()) known += ' ';
        known += ggml_type_name(type);
    }
    throw Error("\"" + printable(name, 40) + "\" is no type weights can have; there are " + known);
}

TypeRules TypeRules::parse(const std::string & type, const std::string & rules) {
    TypeRules parsed;
    try {
        if (!type.empty()) parsed.wanted_ = weight_type(type);
    } catch (const Error & error) {
        throw Error(std::string("--type: ") + error.what());
    }
    if (rules.empty()) return parsed;
    for (const std::string & item : split(rules)) {
        const size_t equals = item.rfind('=');
        if (equals == item.npos) refuse(item, "is not of the form regex=type");
        Rule rule{item, compile(item.substr(0, equals), item), GGML_TYPE_COUNT};
        try {
            rule.type = weight_type(item.substr(equals + 1));
        } catch (const Error & error) {
            refuse(item, std::string("has a wrong type: ") + error.what());
        }
        parsed.rules_.push_back(std::make_shared<const Rule>(std::move(rule)));
    }
    return parsed;
}

ggml_type TypeRules::target_type(const TensorInfo & tensor) const {
    return asked_type(tensor).value_or(natural_type(tensor.type));
}

std::optional<ggml_type> TypeRules::asked_type(const TensorInfo & tensor) const {
    if ((!is_float(tensor.type) && !is_blocks(tensor.type)) || is_excluded(tensor.name)) return std::nullopt;
    const auto matching = [&](const auto & rule) { return rule->matches(tensor.name); };
    const auto rule = std::find_if(rules_.begin(), rules_.end(), matching);
    const ggml_type wanted = rule != rules_.end() ? (*rule)->type : wanted_;
    if (wanted == GGML_TYPE_COUNT) return std::nullopt;
    // Blocks are for matrices: vectors are added and multiplied, which operators do with floats only.
    if (ggml_is_quantized(wanted) &&
        (tensor.shape.size() < 2 || tensor.shape.back() % ggml_blck_size(wanted) != 0))
        return std::nullopt;
    return wanted;
}

} // namespace sd
