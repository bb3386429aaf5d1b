// What --extra-sample-args may set: one table for the parser and for help texts.
#pragma once

#include "sampling/key_values.h"

#include <span>

namespace sd {

struct ExtraSampleArg {
    const char * name;
    const char * used_by; // a sampling method, a scheduler, "guidance" or "img2img"
    const char * meaning;
};

std::span<const ExtraSampleArg> extra_sample_args();

// Throws Error for what is no list of key=value or has a key that is not in the table. Values are checked by
// whoever uses them.
KeyValues parse_extra_sample_args(std::string_view text);

} // namespace sd
