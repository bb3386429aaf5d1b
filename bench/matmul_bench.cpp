// Matrix products against their ceilings: oneDNN called directly, the int8 dot product, reading the weights
// once.
#include "backends/cpu/kernel.h"
#include "bench/support/measure.h"
#include "bench/support/peaks.h"
#include "ggml-cpp.h"
#include "ggml.h"

#include <dnnl.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace {

constexpr ggml_type kQuantized[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                    GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                    GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};
constexpr ggml_type kFloats[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

// One MUL_MAT node with filled operands, run through the CPU backend's kernel.
class MulMat {
  public:
    MulMat(ggml_type type, int64_t m, int64_t k, int64_t n, const ggml::cpu::Team & team) : team_(team) {
        const size_t bytes = ggml_row_size(type, k) * size_t(n) + sizeof(float) * size_t(m * k + m * n);
        ctx_.reset(ggml_init({bytes + (1 << 20), nullptr, false}));
        weights = ggml_new_tensor_2d(ctx_.get(), type, k, n);
        x = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, k, m);
        dst = ggml_mul_mat(ctx_.get(), weights, x);
        fill();
        work = 2.0 * double(m) * double(k) * double(n);
        kernels_ = ggml::cpu::find_kernels(GGML_OP_MUL_MAT);
        scratch_.resize(kernels_->scratch(dst, team.n_threads()) + 64);
    }

    bench::Candidate candidate() {
        return {ggml_type_name(weights->type), work, [this] { run(); }};
    }
    std::span<const std::byte> weight_bytes() const {
        return {static_cast<const std::byte *>(weights->data), ggml_nbytes(weights)};
    }

    ggml_tensor *weights, *x, *dst;
    double work;

  private:
    void run() {
        void * memory = scratch_.data();
        size_t space = scratch_.size();
        std::align(64, 1, memory, space);
        const ggml::cpu::KernelContext ctx{team_, {static_cast<std::byte *>(memory), space}};
        if (kernels_->kernel(ctx, dst) != GGML_STATUS_SUCCESS) std::abort();
    }

    // Quantizing is slow: 32 rows of random numbers, repeated.
    void fill() {
        const int64_t k = weights->ne[0];
        std::vector<float> values(size_t(k) * 32);
        uint32_t state = 1;
        for (float & v : values) v = float(int32_t(state = state * 1664525u + 1013904223u)) * 0x1p-31f;
        const int64_t rows = std::min<int64_t>(32, weights->ne[1]);
        ggml_quantize_chunk(weights->type, values.data(), weights->data, 0, rows, k, nullptr);
        char * data = static_cast<char *>(weights->data);
        for (int64_t n = 32; n < weights->ne[1]; ++n) {
            std::memcpy(data + size_t(n) * weights->nb[1], data + size_t(n % 32) * weights->nb[1],
                        weights->nb[1]);
        }
        float * row = static_cast<float *>(x->data);
        for (int64_t m = 0; m < x->ne[1]; ++m) std::copy_n(values.data() + (m % 32) * k, k, row + m * k);
    }

    const ggml::cpu::Team & team_;
    ggml_context_ptr ctx_;
    const ggml::cpu::OpKernels * kernels_;
    std::vector<std::byte> scratch_;
};

// The library's own best way for the same operands.
bench::Candidate direct_onednn(const MulMat & product) {
    using namespace dnnl;
    const int64_t k = product.x->ne[0], m = product.x->ne[1], n = product.weights->ne[1];
    engine cpu(engine::kind::cpu, 0);
    const memory::desc x({m, k}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc w({k, n}, memory::data_type::f32, memory::format_tag::ba);
    const memory::desc y({m, n}, memory::data_type::f32, memory::format_tag::ab);
    const matmul::primitive_desc pd(matmul::desc(x, w, y), cpu);
    auto out = std::make_shared<std::vector<float>>(size_t(m * n));
    return {"oneDNN", product.work,
            [cpu, primitive = matmul(pd), out, s = stream(cpu), mx = memory(x, cpu, product.x->data),
             mw = memory(w, cpu, product.weights->data), my = memory(y, cpu, out->data())]() mutable {
                primitive.execute(s, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_WEIGHTS, mw}, {DNNL_ARG_DST, my}});
                s.wait();
            }};
}

void against_onednn(const ggml::cpu::Team & team, bench::Report & report) {
    MulMat f32(GGML_TYPE_F32, 1024, 6144, 6144, team);
    const bench::Candidate candidates[] = {f32.candidate(), direct_onednn(f32), bench::fma_peak(team, 50)};
    const bench::Timings t = bench::interleave(candidates, 7);
    std::printf("f32 1024x6144x6144: %.0f GFLOP/s, oneDNN %.0f, FMA peak %.0f\n", t.rate(0) / 1e9,
                t.rate(1) / 1e9, t.rate(2) / 1e9);
    report.ratio("mul_mat_f32_vs_onednn", t.rate_ratio(0, 1), 0.9);
}

void against_int8_peak(const ggml::cpu::Team & team, bench::Report & report) {
    MulMat q8_0(GGML_TYPE_Q8_0, 1024, 6144, 6144, team);
    const bench::Candidate candidates[] = {q8_0.candidate(), bench::int8_dot_peak(team, 50)};
    const bench::Timings t = bench::interleave(candidates, 11);
    std::printf("q8_0 1024x6144x6144: %.0f GOP/s, int8 dot peak %.0f\n", t.rate(0) / 1e9, t.rate(1) / 1e9);
    report.ratio("mul_mat_q8_0_vs_int8_peak", t.rate_ratio(0, 1), 0.45);
}

void against_q8_0(const ggml::cpu::Team & team, bench::Report & report) {
    std::vector<std::unique_ptr<MulMat>> products;
    std::vector<bench::Candidate> candidates;
    for (ggml_type type : kQuantized) {
        products.push_back(std::make_unique<MulMat>(type, 256, 2560, 9728, team));
        candidates.push_back(products.back()->candidate());
    }
    const bench::Timings t = bench::interleave(candidates, 15);
    constexpr size_t kQ8_0 = 4;
    for (size_t i = 0; i < candidates.size(); ++i) {
        std::printf("%s 256x2560x9728: %.0f GOP/s, %.2f of q8_0\n", candidates[i].name.c_str(),
                    t.rate(i) / 1e9, t.rate_ratio(i, kQ8_0));
        if (kQuantized[i] == GGML_TYPE_Q4_K)
            report.ratio("mul_mat_q4_K_vs_q8_0", t.rate_ratio(i, kQ8_0), 0.8);
    }
}

// One activation row, weights three times a last-level cache.
void against_reading(const ggml::cpu::Team & team, ggml_type type, bench::Report & report) {
    constexpr int64_t k = 6144;
    const int64_t n = int64_t((size_t(96) << 20) / ggml_row_size(type, k));
    MulMat product(type, 1, k, n, team);
    bench::Candidate row = product.candidate();
    row.work = double(product.weight_bytes().size());
    const bench::Candidate candidates[] = {row, bench::read_memory(team, product.weight_bytes())};
    const bench::Timings t = bench::interleave(candidates, 25);
    std::printf("%s 1x%lldx%lld: %.1f GB/s, reading %.1f\n", row.name.c_str(), (long long)k, (long long)n,
                t.rate(0) / 1e9, t.rate(1) / 1e9);
    report.ratio("mul_mat_row_" + row.name + "_vs_reading", t.rate_ratio(0, 1), 0.7);
}

} // namespace

int main() {
    const unsigned cores = std::thread::hardware_concurrency();
    const ggml::cpu::Team team(cores > 0 ? int(cores) : 1);
    bench::Report report;
    against_onednn(team, report);
    against_int8_peak(team, report);
    against_q8_0(team, report);
    for (ggml_type type : kQuantized) against_reading(team, type, report);
    for (ggml_type type : kFloats) against_reading(team, type, report);
    return 0;
}
