// Compiles the functions between GGML_TARGET_BEGIN(...) and GGML_TARGET_END for a newer instruction set than
// the rest of the program. Include every header BEFORE the begin marker: an inline function of a header
// compiled inside would be merged by the linker with the same function elsewhere and crash older processors.
//
//   #include "backends/cpu/isa/target.h"
//   GGML_TARGET_BEGIN_AVX512VNNI
//   ... functions, only called when cpu_features().avx512vnni ...
//   GGML_TARGET_END
#pragma once

#if defined(__x86_64__)
#    include <immintrin.h>
#    if defined(__clang__)
#        define GGML_TARGET_PRAGMA(x) _Pragma(#        x)
#        define GGML_TARGET_BEGIN(features)                                                                  \
            GGML_TARGET_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#        define GGML_TARGET_END _Pragma("clang attribute pop")
#    else
#        define GGML_TARGET_PRAGMA(x) _Pragma(#        x)
#        define GGML_TARGET_BEGIN(features)                                                                  \
            _Pragma("GCC push_options") GGML_TARGET_PRAGMA(GCC target(features))
#        define GGML_TARGET_END _Pragma("GCC pop_options")
#    endif
#    define GGML_TARGET_BEGIN_AVX2 GGML_TARGET_BEGIN("avx2,fma,f16c,bmi2")
#    define GGML_TARGET_BEGIN_AVXVNNI GGML_TARGET_BEGIN("avx2,fma,f16c,bmi2,avxvnni")
#    define GGML_TARGET_BEGIN_AVX512                                                                         \
        GGML_TARGET_BEGIN("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")
#    define GGML_TARGET_BEGIN_AVX512VNNI                                                                     \
        GGML_TARGET_BEGIN(                                                                                   \
            "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vnni")
#elif defined(__aarch64__)
#    include <arm_neon.h>
#    if defined(__clang__)
#        define GGML_TARGET_PRAGMA(x) _Pragma(#        x)
#        define GGML_TARGET_BEGIN_DOTPROD                                                                    \
            GGML_TARGET_PRAGMA(clang attribute push(__attribute__((target("dotprod"))), apply_to = function))
#        define GGML_TARGET_END _Pragma("clang attribute pop")
#    else
#        define GGML_TARGET_PRAGMA(x) _Pragma(#        x)
#        define GGML_TARGET_BEGIN_DOTPROD                                                                    \
            _Pragma("GCC push_options") GGML_TARGET_PRAGMA(GCC target("arch=armv8.2-a+dotprod"))
#        define GGML_TARGET_END _Pragma("GCC pop_options")
#    endif
#endif
