#include "backends/cpu/isa/cpu_features.h"

#include "backends/cpu/isa/simd_targets.h"
#include "hwy/targets.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"

#include <atomic>
#include <cstring>

#if defined(__aarch64__)
#    include <asm/hwcap.h>
#    include <sys/auxv.h>
#endif

namespace ggml::cpu {
namespace {

constexpr const char * kIsaNames[] = {"baseline",   "avx2", "avxvnni", "avx512",
                                      "avx512vnni", "neon", "dotprod", "auto"};

CpuFeatures detect() {
    CpuFeatures f;
#if defined(__x86_64__)
    __builtin_cpu_init();
    f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
    f.avx512vnni = f.avx512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
    f.avxvnni = f.avx2 && __builtin_cpu_supports("avxvnni");
#elif defined(__aarch64__)
    f.neon = true;
    f.dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#endif
    return f;
}

bool has_level(const CpuFeatures & f, Isa isa) {
    switch (isa) {
    case Isa::avx2: return f.avx2;
    case Isa::avxvnni: return f.avxvnni;
    case Isa::avx512: return f.avx512;
    case Isa::avx512vnni: return f.avx512vnni;
    case Isa::neon: return f.neon;
    case Isa::dotprod: return f.dotprod;
    case Isa::baseline:
    case Isa::all: return true;
    }
    return false;
}

CpuFeatures capped(CpuFeatures f, Isa cap) {
    f.avx2 = f.avx2 && cap >= Isa::avx2;
    f.avxvnni = f.avxvnni && cap >= Isa::avxvnni;
    f.avx512 = f.avx512 && cap >= Isa::avx512;
    f.avx512vnni = f.avx512vnni && cap >= Isa::avx512vnni;
    f.neon = f.neon && cap >= Isa::neon;
    f.dotprod = f.dotprod && cap >= Isa::dotprod;
    return f;
}

// Highway picks its own target; keep it at the same level so that one cap covers every kernel.
void cap_highway(const CpuFeatures & f, Isa cap) {
    if (cap == Isa::all) {
        hwy::SetSupportedTargetsForTest(0);
    } else {
        int64_t allowed = HWY_EMU128 | HWY_SCALAR;
        if (f.avx2) allowed |= HWY_AVX2;
        if (f.avx512) allowed |= HWY_AVX3;
        if (f.neon) allowed |= HWY_NEON;
        hwy::SetSupportedTargetsForTest(allowed);
    }
    hwy::GetChosenTarget().DeInit();
}

Isa cap_from_environment() {
    const EnvSetting & setting = env_setting(EnvId::cpu_isa);
    if (!setting.status.ok()) GGML_LOG_ERROR("%s\n", setting.status.message().c_str());
    const EnvVariable & variable = env_variable(EnvId::cpu_isa);
    const char * value = variable.values[size_t(setting.index)];
    for (int i = 0; i <= int(Isa::all); ++i) {
        if (std::strcmp(value, kIsaNames[i]) != 0) continue;
        if (has_level(detected_features(), Isa(i))) return Isa(i);
        const Status status =
            failure("env.unavailable_value", "%s=%s: this processor does not have it; using %s",
                    variable.name, value, variable.values[0]);
        GGML_LOG_ERROR("%s\n", status.message().c_str());
    }
    return Isa::all;
}

struct State {
    CpuFeatures per_cap[int(Isa::all) + 1];
    std::atomic<int> cap;
    State() {
        for (int i = 0; i <= int(Isa::all); ++i) per_cap[i] = capped(detected_features(), Isa(i));
        const Isa initial = cap_from_environment();
        cap = int(initial);
        if (initial != Isa::all) cap_highway(per_cap[int(initial)], initial);
    }
};

State & state() {
    static State instance;
    return instance;
}

} // namespace

const CpuFeatures & detected_features() {
    static const CpuFeatures features = detect();
    return features;
}

const CpuFeatures & cpu_features() {
    State & s = state();
    return s.per_cap[s.cap.load(std::memory_order_relaxed)];
}

bool set_isa_cap(Isa cap) {
    if (!has_level(detected_features(), cap)) return false;
    State & s = state();
    s.cap = int(cap);
    cap_highway(s.per_cap[int(cap)], cap);
    return true;
}

const char * isa_name(Isa isa) { return kIsaNames[int(isa)]; }

} // namespace ggml::cpu
