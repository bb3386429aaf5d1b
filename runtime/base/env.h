// Every environment variable the runtime reads, in one table. Each is read once, at first use; later changes
// of the environment have no effect. A value the table does not list is reported with the valid ones, never
// guessed at. Messages read "NAME=VALUE: what is wrong; using WHAT".
#pragma once

#include "runtime/base/status.h"

#include <span>
#include <string>
#include <string_view>

namespace ggml {

enum class EnvId : int { cpu_isa, ext_kernels, ext_fusion, ext_replay, count };

struct EnvVariable {
    const char * name;
    std::span<const char * const> values; // all valid values; the first is the default
    const char * sentence;                // what it does, for the documentation
};

struct EnvSetting {
    Status status; // failure "env.unknown_value": the caller says so before it goes on with the default
    int index = 0; // into `values`; 0, the default, when unset, empty or unknown
    bool is_set = false;
};

const EnvVariable & env_variable(EnvId id);

// The process's setting.
const EnvSetting & env_setting(EnvId id);

// The same for any text; null or empty means unset.
EnvSetting parse_env(const EnvVariable & variable, const char * text);

// The table as Markdown.
std::string env_markdown();

} // namespace ggml
