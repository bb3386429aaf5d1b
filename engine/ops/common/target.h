// Compiles the functions between SD_TARGET_... and SD_TARGET_END for a newer instruction set than the rest of
// the library. Every header is included BEFORE the marker: an inline function of a header compiled inside
// would be merged by the linker with the same function elsewhere and crash older processors.
#pragma once

#if defined(__x86_64__)
#    include <immintrin.h>
#    define SD_TARGET_PRAGMA(x) _Pragma(#    x)
#    if defined(__clang__)
#        define SD_TARGET(features)                                                                          \
            SD_TARGET_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#        define SD_TARGET_END _Pragma("clang attribute pop")
#    else
#        define SD_TARGET(features) _Pragma("GCC push_options") SD_TARGET_PRAGMA(GCC target(features))
#        define SD_TARGET_END _Pragma("GCC pop_options")
#    endif
#    define SD_TARGET_AVX2 SD_TARGET("avx2,fma,f16c,bmi2")
#    define SD_TARGET_AVXVNNI SD_TARGET("avx2,fma,f16c,bmi2,avxvnni")
#    define SD_TARGET_AVX512VNNI                                                                             \
        SD_TARGET("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vnni")
#elif defined(__aarch64__)
#    include <arm_neon.h>
#    define SD_TARGET_PRAGMA(x) _Pragma(#    x)
#    if defined(__clang__)
#        define SD_TARGET_NEON_DOTPROD                                                                       \
            SD_TARGET_PRAGMA(clang attribute push(__attribute__((target("dotprod"))), apply_to = function))
#        define SD_TARGET_END _Pragma("clang attribute pop")
#    else
#        define SD_TARGET_NEON_DOTPROD                                                                       \
            _Pragma("GCC push_options") SD_TARGET_PRAGMA(GCC target("arch=armv8.2-a+dotprod"))
#        define SD_TARGET_END _Pragma("GCC pop_options")
#    endif
#endif
