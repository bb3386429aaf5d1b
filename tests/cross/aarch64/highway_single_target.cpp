// The two functions of Highway's library that capping the level calls. They steer the choice between compiled
// targets; on AArch64 the kernels are compiled for NEON alone, every call is direct, and there is nothing to
// steer.
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

static_assert(HWY_TARGETS == HWY_NEON, "with several targets the program needs Highway's library");

namespace hwy {

ChosenTarget & GetChosenTarget() {
    static ChosenTarget target;
    return target;
}

void SetSupportedTargetsForTest(int64_t) {}

} // namespace hwy
