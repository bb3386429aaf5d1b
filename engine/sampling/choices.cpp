#include "sampling/choices.h"

#include "base/error.h"

namespace sd {

std::string joined(const std::vector<std::string> & names) {
    std::string list;
    for (const std::string & name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

void refuse_choice(std::string_view what, std::string_view name, std::string_view reason,
                   const std::vector<std::string> & usable) {
    std::string cause = reason.empty() ? "there is no " : "";
    cause += std::string(what) + " " + in_quotes(name, 40);
    if (!reason.empty()) cause += " " + std::string(reason);
    throw Error({"E_CHOICE", {}, {}, cause, "use one of " + joined(usable)});
}

} // namespace sd
