// "m=1024,k=6144,type=q8_0": the parameters of an operator's case, named.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace op_bench {

struct Param {
    std::string name;
    std::string initial;              // used where the command line says nothing
    std::vector<std::string> choices; // empty: a whole number from `least` to 2^40
    int64_t least = 1;
};

class Shape {
  public:
    // Throws Failure for what is no such list, names and values that are not among `params`, and repetitions.
    static Shape parse(std::string_view text, const std::vector<Param> & params);

    int64_t number(const std::string & name) const;
    const std::string & word(const std::string & name) const { return values_.at(name); }
    bool is(const std::string & name, std::string_view value) const { return word(name) == value; }

    // All parameters, in the order of `params`, as parse reads them.
    std::string text(const std::vector<Param> & params) const;

  private:
    std::map<std::string, std::string> values_;
};

} // namespace op_bench
