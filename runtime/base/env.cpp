#include "runtime/base/env.h"

#include <array>
#include <cstdlib>

namespace ggml {
namespace {

constexpr const char * kCpuIsaValues[] = {"auto",   "baseline",   "avx2", "avxvnni",
                                          "avx512", "avx512vnni", "neon", "dotprod"};

constexpr const char * kOnOff[] = {"on", "off"};

// In the order of EnvId.
constexpr EnvVariable kTable[] = {
    {"GGML_CPU_ISA", kCpuIsaValues,
     "Highest instruction set the CPU kernels may use; `auto` takes all the processor has."},
    {"GGML_EXT_KERNELS", kOnOff,
     "Registered kernels may replace a device's own operators; `off` leaves them the nodes nobody else "
     "runs."},
    {"GGML_EXT_FUSION", kOnOff, "Registered fusion rules may replace several nodes by one step."},
    {"GGML_EXT_REPLAY", kOnOff,
     "Devices may record the work of a graph with extensions and launch it again."},
};
static_assert(std::size(kTable) == size_t(EnvId::count));

std::string joined(std::span<const char * const> values, const char * before, const char * after) {
    std::string text;
    for (const char * value : values) {
        if (!text.empty()) text += ", ";
        text.append(before).append(value).append(after);
    }
    return text;
}

std::array<EnvSetting, size_t(EnvId::count)> read_all() {
    std::array<EnvSetting, size_t(EnvId::count)> settings;
    for (size_t i = 0; i < settings.size(); ++i)
        settings[i] = parse_env(kTable[i], std::getenv(kTable[i].name));
    return settings;
}

} // namespace

const EnvVariable & env_variable(EnvId id) { return kTable[size_t(id)]; }

EnvSetting parse_env(const EnvVariable & variable, const char * text) {
    EnvSetting setting;
    if (text == nullptr || *text == '\0') return setting;
    setting.is_set = true;
    for (size_t i = 0; i < variable.values.size(); ++i) {
        if (std::string_view(text) == variable.values[i]) {
            setting.index = int(i);
            return setting;
        }
    }
    setting.status =
        failure("env.unknown_value", "%s=%s: not a known value; valid: %s; using %s", variable.name, text,
                joined(variable.values, "", "").c_str(), variable.values[0]);
    return setting;
}

const EnvSetting & env_setting(EnvId id) {
    static const auto settings = read_all();
    return settings[size_t(id)];
}

std::string env_markdown() {
    std::string text = "| Variable | Values | Default | Meaning |\n| --- | --- | --- | --- |\n";
    for (const EnvVariable & variable : kTable) {
        text.append("| `").append(variable.name).append("` | ");
        text += joined(variable.values, "`", "`");
        text.append(" | `")
            .append(variable.values[0])
            .append("` | ")
            .append(variable.sentence)
            .append(" |\n");
    }
    return text;
}

} // namespace ggml
