// Flash attention against its ceilings: the multiply-add peak for many queries, reading K and V once for few.
#include "bench/support/measure.h"
#include "bench/support/node.h"
#include "bench/support/peaks.h"

#include <cmath>
#include <cstdio>
#include <thread>

namespace {

struct Shape {
    const char * name;
    int64_t d, n_q, n_kv, heads, kv_heads;
    bool causal;
    double aim;
};

double multiply_adds(const Shape & s) {
    return 4.0 * double(s.d) * double(s.n_q) * double(s.n_kv) * double(s.heads);
}

bench::Node attention(const Shape & s, const ggml::cpu::Team & team) {
    const int64_t q = s.d * s.n_q * s.heads, kv = s.d * s.n_kv * s.kv_heads;
    const size_t bytes =
        size_t(2 * q) * sizeof(float) + size_t(2 * kv + s.n_kv * s.n_q) * sizeof(ggml_fp16_t);
    ggml_tensor * mask = nullptr;
    bench::Node node(bytes, team, [&](ggml_context * ctx) {
        if (s.causal) mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, s.n_kv, s.n_q);
        return ggml_flash_attn_ext(ctx, ggml_new_tensor_3d(ctx, GGML_TYPE_F32, s.d, s.n_q, s.heads),
                                   ggml_new_tensor_3d(ctx, GGML_TYPE_F16, s.d, s.n_kv, s.kv_heads),
                                   ggml_new_tensor_3d(ctx, GGML_TYPE_F16, s.d, s.n_kv, s.kv_heads), mask,
                                   1 / std::sqrt(float(s.d)), 0, 0);
    });
    for (int64_t i = 0; mask != nullptr && i < s.n_q; ++i) {
        for (int64_t j = 0; j < s.n_kv; ++j) {
            static_cast<ggml_fp16_t *>(mask->data)[i * s.n_kv + j] =
                ggml_fp32_to_fp16(j > i ? -INFINITY : 0.0f);
        }
    }
    return node;
}

void many_queries(const ggml::cpu::Team & team, bench::Report & report) {
    constexpr Shape shapes[] = {
        {"flash_attn_d128_h24_n1280", 128, 1280, 1280, 24, 24, false, 0.4},
        {"flash_attn_d64_h24_n1280", 64, 1280, 1280, 24, 24, false, 0.4},
        {"flash_attn_d40_h8_n4096", 40, 4096, 4096, 8, 8, false, 0.4},
        // Half of a causal mask is skipped; the figure counts the half that is left.
        {"flash_attn_causal_d128_h16_n1024", 128, 1024, 1024, 16, 8, true, 0.4},
    };
    for (const Shape & s : shapes) {
        bench::Node node = attention(s, team);
        const double work = multiply_adds(s) * (s.causal ? 0.5 : 1.0);
        const bench::Candidate candidates[] = {node.candidate(s.name, work), bench::fma_peak(team, 100)};
        const bench::Timings t = bench::interleave(candidates, 5);
        std::printf("%s: %.1f GFLOP/s of %.1f\n", s.name, t.rate(0) * 1e-9, t.rate(1) * 1e-9);
        report.ratio(s.name, t.rate_ratio(0, 1), s.aim);
    }
}

void few_queries(const ggml::cpu::Team & team, bench::Report & report) {
    // 128 MiB of K and V: more than the caches hold.
    constexpr Shape shapes[] = {
        {"flash_attn_decode_1_query", 128, 1, 32768, 8, 8, false, 0.7},
        {"flash_attn_decode_1_query_gqa4", 128, 1, 32768, 32, 8, false, 0.5},
        {"flash_attn_decode_4_queries", 128, 4, 32768, 8, 8, false, 0.5},
    };
    for (const Shape & s : shapes) {
        bench::Node node = attention(s, team);
        const double bytes = 2.0 * double(s.d * s.n_kv * s.kv_heads) * sizeof(ggml_fp16_t);
        const std::vector<std::byte> memory(size_t(bytes), std::byte(1));
        const bench::Candidate candidates[] = {node.candidate(s.name, bytes),
                                               bench::read_memory(team, memory)};
        const bench::Timings t = bench::interleave(candidates, 9);
        std::printf("%s: %.1f GB/s of %.1f\n", s.name, t.rate(0) * 1e-9, t.rate(1) * 1e-9);
        report.ratio(s.name, t.rate_ratio(0, 1), s.aim);
    }
}

} // namespace

int main() {
    const ggml::cpu::Team team(int(std::thread::hardware_concurrency()));
    bench::Report report;
    many_queries(team, report);
    few_queries(team, report);
    return 0;
}
