// Which Highway targets kernels are compiled for. Include this before hwy/foreach_target.h in every file with
// SIMD code, in this order:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "backends/cpu/kernels/unary/unary_simd.cpp"   // the file itself
//   #include "backends/cpu/isa/simd_targets.h"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace ggml::cpu::HWY_NAMESPACE { ... kernels, each compiled once per target ... }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace ggml::cpu { HWY_EXPORT(row_exp); void f(...) { HWY_DYNAMIC_DISPATCH(row_exp)(...); } }
//   #endif
//
// Baseline (any x86-64), AVX2 and AVX-512 on x86, NEON on ARM: each further target would lengthen every build
// by a quarter for machines that are rare. Shared templates live in *-inl.h files with the usual per-target
// guard.
#pragma once

#include "hwy/detect_targets.h"

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS                                                                                 \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
