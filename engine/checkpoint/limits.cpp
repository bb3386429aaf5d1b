#include "checkpoint/limits.h"

#include "base/error.h"

#include <string_view>
#include <utility>

namespace sd {
namespace {

[[noreturn]] void fail(const std::string & tensor, std::string cause) {
    throw Error({"E_CONTAINER", {}, tensor, std::move(cause), {}});
}

} // namespace

void check_tensor_name(const std::string & name) {
    if (name.empty()) fail({}, "a tensor has an empty name");
    if (name.size() > kMostNameBytes) {
        fail(name, "its name has " + std::to_string(name.size()) + " bytes, more than " +
                       std::to_string(kMostNameBytes));
    }
    if (name == "__metadata__") fail(name, "is the name of the metadata");
    // What needs no change to be printed is UTF-8 without control characters.
    if (printable(name, name.size() + 1) != name)
        fail(name, "its name has control characters, or is not UTF-8");
}

} // namespace sd
