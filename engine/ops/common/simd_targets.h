// Highway's targets for kernels of the engine. Include this before hwy/foreach_target.h, after defining
// HWY_TARGET_INCLUDE. They are those of libggml's CPU kernels: operators that promise the bits of built-in
// nodes must add in as many lanes as they do. Highway chooses per process, so GGML_CPU_ISA holds here too.
#pragma once

#include "hwy/detect_targets.h"

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS                                                                                 \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
