// The syntax of assignments to parts of a model, `vae=cpu,te=gpu,auto`, and the parts' names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sd {

// The parts that models here have.
enum class Module { diffusion, text, vae };
constexpr int kModules = 3;

struct SpecItem {
    std::string key;   // without spaces, as it was given; empty: the item has no "=", it is the default
    std::string value; // without spaces around it
};

// Items between commas. `option` names the option in errors: an empty key or value. Nothing given: no items.
std::vector<SpecItem> parse_spec(std::string_view text, const char * option);

// The key stands for everything that is not named: empty, "all", "default" or "*".
bool is_default_key(const std::string & key);

// Which of kModules a name stands for; kNoModule for one that other programs' models have and those here do
// not. Letter case, "-" and "_" do not matter. Other names are an Error that lists the valid ones.
constexpr int kNoModule = -1;
int find_module(const std::string & name, const char * option);

const char * module_name(Module module); // "diffusion", "te", "vae"

} // namespace sd
