#include "tools/op-bench/shape.h"

#include "tools/op-bench/failure.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace op_bench {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

std::string names_of(const std::vector<Param> & params) {
    std::string text;
    for (const Param & p : params) text += (text.empty() ? "" : ", ") + p.name;
    return text;
}

std::string list_of(const std::vector<std::string> & words) {
    std::string text;
    for (const std::string & word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

void check_value(const Param & param, const std::string & value) {
    if (!param.choices.empty()) {
        if (std::find(param.choices.begin(), param.choices.end(), value) != param.choices.end()) return;
        throw Failure("'" + param.name + "' is one of " + list_of(param.choices) + ", not '" + value + "'");
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= param.least &&
        number <= kMost)
        return;
    throw Failure("'" + param.name + "' is a whole number from " + std::to_string(param.least) +
                  " to 2^40, not '" + value + "'");
}

} // namespace

Shape Shape::parse(std::string_view text, const std::vector<Param> & params) {
    Shape shape;
    std::set<std::string> given;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        const std::string item(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        const size_t sign = item.find('=');
        if (sign == std::string::npos) throw Failure("'" + item + "' is not written NAME=VALUE");
        const std::string name = item.substr(0, sign);
        const auto param =
            std::find_if(params.begin(), params.end(), [&](const Param & p) { return p.name == name; });
        if (param == params.end())
            throw Failure("there is no parameter '" + name + "'; there are " + names_of(params));
        if (!given.insert(name).second) throw Failure("'" + name + "' is given twice");
        check_value(*param, item.substr(sign + 1));
        shape.values_[name] = item.substr(sign + 1);
    }
    for (const Param & p : params) shape.values_.try_emplace(p.name, p.initial);
    return shape;
}

int64_t Shape::number(const std::string & name) const { return std::stoll(values_.at(name)); }

std::string Shape::text(const std::vector<Param> & params) const {
    std::string text;
    for (const Param & p : params) text += (text.empty() ? "" : ",") + p.name + "=" + values_.at(p.name);
    return text;
}

} // namespace op_bench
