#include "bench/support/peaks.h"

#include "backends/cpu/isa/cpu_features.h"
#include "backends/cpu/isa/target.h"

#include <cstring>

namespace bench {
namespace {

// Twelve independent chains: more than latency times throughput of any current core.
constexpr int kChains = 12;

struct Kernel {
    void (*run)(int64_t steps); // kChains instructions per step
    double work;                // operations per instruction
};

// `asm` keeps the compiler from merging or dropping the additions.
#define CHAIN(i, statement) statement(a##i) asm volatile("" : "+" GGML_BENCH_REGISTER(a##i));
// clang-format off
#define CHAINS(s)                                                                                            \
    CHAIN(0, s) CHAIN(1, s) CHAIN(2, s) CHAIN(3, s) CHAIN(4, s) CHAIN(5, s) CHAIN(6, s) CHAIN(7, s)          \
    CHAIN(8, s) CHAIN(9, s) CHAIN(10, s) CHAIN(11, s)
// clang-format on
#define DECLARE(type, value)                                                                                 \
    type a0 = value, a1 = value, a2 = value, a3 = value, a4 = value, a5 = value, a6 = value, a7 = value,     \
         a8 = value, a9 = value, a10 = value, a11 = value;

#if defined(__x86_64__)
#    define GGML_BENCH_REGISTER(x) "v"(x)
GGML_TARGET_BEGIN_AVX512VNNI
void dot_avx512vnni(int64_t steps) {
    const __m512i u = _mm512_set1_epi8(1), s = _mm512_set1_epi8(1);
    DECLARE(__m512i, _mm512_setzero_si512())
#    define STEP(a) a = _mm512_dpbusd_epi32(a, u, s);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
void fma_avx512(int64_t steps) {
    const __m512 x = _mm512_set1_ps(0.5f);
    DECLARE(__m512, _mm512_setzero_ps())
#    define STEP(a) a = _mm512_fmadd_ps(a, x, x);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
GGML_TARGET_END
#    undef GGML_BENCH_REGISTER
#    define GGML_BENCH_REGISTER(x) "x"(x)
GGML_TARGET_BEGIN_AVXVNNI
void dot_avxvnni(int64_t steps) {
    const __m256i u = _mm256_set1_epi8(1), s = _mm256_set1_epi8(1);
    DECLARE(__m256i, _mm256_setzero_si256())
#    define STEP(a) a = _mm256_dpbusd_avx_epi32(a, u, s);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
GGML_TARGET_END
GGML_TARGET_BEGIN_AVX2
// Three instructions per product; the two multiplications are counted through the value they are applied to.
void dot_avx2(int64_t steps) {
    __m256i u = _mm256_set1_epi8(1);
    const __m256i s = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
    DECLARE(__m256i, _mm256_setzero_si256())
#    define STEP(a)                                                                                          \
        asm volatile("" : "+x"(u));                                                                          \
        a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), ones));
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
void fma_avx2(int64_t steps) {
    const __m256 x = _mm256_set1_ps(0.5f);
    DECLARE(__m256, _mm256_setzero_ps())
#    define STEP(a) a = _mm256_fmadd_ps(a, x, x);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
GGML_TARGET_END
// The oldest processors: what the compiler's baseline offers.
void fma_baseline(int64_t steps) {
    const __m128 x = _mm_set1_ps(0.5f);
    DECLARE(__m128, _mm_setzero_ps())
#    define STEP(a) a = _mm_add_ps(_mm_mul_ps(a, x), x);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
void dot_baseline(int64_t steps) {
    __m128i u = _mm_set1_epi16(1);
    const __m128i s = _mm_set1_epi16(1);
    DECLARE(__m128i, _mm_setzero_si128())
#    define STEP(a)                                                                                          \
        asm volatile("" : "+x"(u));                                                                          \
        a = _mm_add_epi32(a, _mm_madd_epi16(u, s));
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}

Kernel fma_kernel() {
    const ggml::cpu::CpuFeatures & f = ggml::cpu::cpu_features();
    if (f.avx512vnni) return {fma_avx512, 32};
    if (f.avx2) return {fma_avx2, 16};
    return {fma_baseline, 8};
}
Kernel dot_kernel() {
    const ggml::cpu::CpuFeatures & f = ggml::cpu::cpu_features();
    if (f.avx512vnni) return {dot_avx512vnni, 128};
    if (f.avxvnni) return {dot_avxvnni, 64};
    if (f.avx2) return {dot_avx2, 64};
    return {dot_baseline, 16};
}
#elif defined(__aarch64__)
#    define GGML_BENCH_REGISTER(x) "w"(x)
GGML_TARGET_BEGIN_DOTPROD
void dot_sdot(int64_t steps) {
    const int8x16_t s = vdupq_n_s8(1);
    DECLARE(int32x4_t, vdupq_n_s32(0))
#    define STEP(a) a = vdotq_s32(a, s, s);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
GGML_TARGET_END
void dot_neon(int64_t steps) {
    int16x8_t u = vdupq_n_s16(1);
    DECLARE(int32x4_t, vdupq_n_s32(0))
#    define STEP(a) a = vmlal_s16(a, vget_low_s16(u), vget_low_s16(u));
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
void fma_neon(int64_t steps) {
    const float32x4_t x = vdupq_n_f32(0.5f);
    DECLARE(float32x4_t, vdupq_n_f32(0))
#    define STEP(a) a = vfmaq_f32(x, a, x);
    for (int64_t i = 0; i < steps; ++i) {
        CHAINS(STEP)
    }
#    undef STEP
}
Kernel fma_kernel() { return {fma_neon, 8}; }
Kernel dot_kernel() { return ggml::cpu::cpu_features().dotprod ? Kernel{dot_sdot, 32} : Kernel{dot_neon, 8}; }
#endif

#undef CHAIN
#undef CHAINS
#undef DECLARE

Candidate peak(const char * name, const Kernel & kernel, const ggml::cpu::Team & team, double milliseconds) {
    // One 512-bit or two 256-bit instructions per cycle at 4 GHz, roughly: only the duration depends on it.
    const int64_t steps = int64_t(milliseconds * 4e6 / kChains);
    const double work = kernel.work * kChains * double(steps) * team.n_threads();
    return {name, work,
            [&team, run = kernel.run, steps] { team.run(team.n_threads(), [&](int, int) { run(steps); }); }};
}

} // namespace

Candidate fma_peak(const ggml::cpu::Team & team, double milliseconds) {
    return peak("fma peak", fma_kernel(), team, milliseconds);
}

Candidate int8_dot_peak(const ggml::cpu::Team & team, double milliseconds) {
    return peak("int8 dot peak", dot_kernel(), team, milliseconds);
}

Candidate read_memory(const ggml::cpu::Team & team, std::span<const std::byte> memory) {
    return {"read", double(memory.size()), [&team, memory] {
                team.run(team.n_threads(), [&](int ith, int nth) {
                    // Whole cache lines per thread; plain integer loads keep up with memory in any
                    // instruction set.
                    const size_t lines = memory.size() / 64;
                    const std::byte * p = memory.data() + lines * size_t(ith) / size_t(nth) * 64;
                    const std::byte * end = memory.data() + lines * size_t(ith + 1) / size_t(nth) * 64;
                    uint64_t sum[8] = {};
                    for (; p < end; p += 64) {
                        uint64_t words[8];
                        std::memcpy(words, p, sizeof words);
                        for (int i = 0; i < 8; ++i) sum[i] |= words[i];
                    }
                    for (uint64_t & s : sum) asm volatile("" : "+r"(s));
                });
            }};
}

} // namespace bench
