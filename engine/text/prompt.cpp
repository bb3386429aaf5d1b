#include "text/prompt.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace sd {
namespace {

constexpr float kMore = 1.1f;

bool is_number_character(char c) { return (c >= '0' && c <= '9') || c == '.'; }

// The weight of ":<number>)" at the start of `text`, and the characters it takes.
struct Weight {
    float value;
    size_t length;
};
std::optional<Weight> weight_at(std::string_view text) {
    size_t end = 1;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
    while (end < text.size() && is_number_character(text[end])) ++end;
    if (end >= text.size() || text[end] != ')') return std::nullopt;
    const size_t begin = text[1] == '+' ? 2 : 1;
    float value = 0.0f;
    const auto [stop, problem] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (problem != std::errc() || stop != text.data() + end || !std::isfinite(value)) return std::nullopt;
    return Weight{value, end + 1};
}

// Texts with factors that apply from a fragment on. Closing a bracket multiplies what has come since it was
// opened, so that each fragment keeps a list of its brackets' numbers instead.
struct Bracket {
    char kind;
    float factor;
    int parent; // -1: none
};

} // namespace

std::vector<Fragment> parse_prompt(std::string_view prompt) {
    struct Part {
        std::string text;
        int bracket; // the innermost one, -1: none
    };
    std::vector<Bracket> brackets;
    std::vector<Part> parts = {{"", -1}};
    int open = -1;
    const auto enter = [&](int bracket) {
        open = bracket;
        parts.push_back({"", bracket});
    };
    for (size_t i = 0; i < prompt.size(); ++i) {
        const char c = prompt[i];
        const bool escaped = c == '\\' && i + 1 < prompt.size() &&
                             std::string_view("()[]\\").find(prompt[i + 1]) != std::string_view::npos;
        const auto closes = [&](char opening) { return open >= 0 && brackets[size_t(open)].kind == opening; };
        if (escaped) {
            parts.back().text += prompt[++i];
        } else if (c == '(' || c == '[') {
            brackets.push_back({c, c == '(' ? kMore : 1.0f / kMore, open});
            enter(int(brackets.size()) - 1);
        } else if ((c == ')' && closes('(')) || (c == ']' && closes('['))) {
            enter(brackets[size_t(open)].parent);
        } else if (const auto weight = c == ':' && closes('(') ? weight_at(prompt.substr(i)) : std::nullopt) {
            brackets[size_t(open)].factor = weight->value;
            i += weight->length - 1;
            enter(brackets[size_t(open)].parent);
        } else {
            parts.back().text += c;
        }
    }
    // Parents come before their children.
    std::vector<float> weights(brackets.size());
    for (size_t i = 0; i < brackets.size(); ++i) {
        const int parent = brackets[i].parent;
        weights[i] = brackets[i].factor * (parent >= 0 ? weights[size_t(parent)] : 1.0f);
    }
    std::vector<Fragment> out;
    for (const Part & part : parts) {
        if (part.text.empty()) continue;
        const float weight = part.bracket >= 0 ? weights[size_t(part.bracket)] : 1.0f;
        if (!out.empty() && out.back().weight == weight)
            out.back().text += part.text;
        else
            out.push_back({part.text, weight});
    }
    return out;
}

} // namespace sd
