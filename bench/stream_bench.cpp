// Operators limited by memory: bytes they must move per second against a plain copy of as many bytes by the
// same team, on operands larger than the caches. And how large operators speed up from one thread to all.
#include "backends/cpu/team.h"
#include "bench/support/measure.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kWidth = 3072, kRows = 4096; // 48 MiB a tensor of floats
constexpr int kRounds = 9;

using Build = ggml_tensor * (*)(ggml_context *, ggml_tensor *, ggml_tensor *);

struct Case {
    const char * name;
    double bytes_per_element; // read and written, of the operands that have kWidth * kRows elements
    double aim;
    Build build;
};

// Aims: 1 is a copy; exp, erf and the second pass of a norm cost a little beyond moving the data.
const Case kCases[] = {
    {"add", 12, 0.8, [](ggml_context * c, ggml_tensor * a, ggml_tensor * b) { return ggml_add(c, a, b); }},
    {"mul_row", 8, 0.8,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor * b) {
         return ggml_mul(c, a, ggml_view_1d(c, b, kWidth, 0));
     }},
    {"scale", 8, 0.8,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_scale(c, a, 0.5f); }},
    {"silu", 8, 0.7, [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_silu(c, a); }},
    {"gelu", 8, 0.6, [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_gelu(c, a); }},
    {"swiglu", 12, 0.7,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor * b) { return ggml_swiglu_split(c, a, b); }},
    {"rms_norm", 8, 0.7,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_rms_norm(c, a, 1e-6f); }},
    {"norm", 8, 0.7, [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_norm(c, a, 1e-6f); }},
    {"soft_max", 8, 0.6,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_soft_max(c, a); }},
    {"transpose", 8, 0.5,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_cont(c, ggml_transpose(c, a)); }},
    {"heads_first", 8, 0.7,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) {
         return ggml_cont(c, ggml_permute(c, ggml_reshape_3d(c, a, 128, kWidth / 128, kRows), 0, 2, 1, 3));
     }},
    {"to_f16", 6, 0.7,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_cast(c, a, GGML_TYPE_F16); }},
    {"concat", 16, 0.7,
     [](ggml_context * c, ggml_tensor * a, ggml_tensor * b) { return ggml_concat(c, a, b, 1); }},
};

class Operator {
  public:
    Operator(Build build, int64_t width, int64_t rows)
        : ctx_(ggml_init({size_t(width * rows) * 4 * 5 + (1u << 20), nullptr, false})) {
        ggml_tensor * a = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, width, rows);
        ggml_tensor * b = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_F32, width, rows);
        for (ggml_tensor * t : {a, b}) {
            auto * p = static_cast<float *>(t->data);
            for (int64_t i = 0; i < width * rows; ++i) p[i] = float(int(i % 251) - 125) * 0.01f;
        }
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, build(ctx_.get(), a, b));
    }

    void run(int n_threads) {
        ggml_cplan plan = ggml_graph_plan(graph_, n_threads, nullptr);
        if (work_.size() < plan.work_size) work_.resize(plan.work_size);
        plan.work_data = work_.data();
        if (ggml_graph_compute(graph_, &plan) != GGML_STATUS_SUCCESS) std::abort();
    }

  private:
    ggml_context_ptr ctx_;
    ggml_cgraph * graph_;
    std::vector<uint8_t> work_;
};

void measure_streams(bench::Report & report, int n_threads) {
    const ggml::cpu::Team team(n_threads);
    std::vector<char> from(size_t(kWidth * kRows) * 4, 1), to(from.size(), 2);
    for (const Case & c : kCases) {
        Operator op(c.build, kWidth, kRows);
        const bench::Candidate candidates[] = {
            {"copy", 2.0 * double(from.size()),
             [&] {
                 team.parallel_for(int64_t(from.size()), 1 << 16, [&](int64_t begin, int64_t end) {
                     std::memcpy(to.data() + begin, from.data() + begin, size_t(end - begin));
                 });
             }},
            {c.name, c.bytes_per_element * double(kWidth * kRows), [&] { op.run(n_threads); }},
        };
        const bench::Timings t = bench::interleave(candidates, kRounds);
        std::printf("%-12s %6.1f GB/s, copy %6.1f GB/s\n", c.name, t.rate(1) / 1e9, t.rate(0) / 1e9);
        report.ratio(std::string("stream_") + c.name, t.rate_ratio(1, 0), c.aim);
    }
}

// Matrix products and row operators on data that fits the caches, so that cores and not memory are shared.
void measure_scaling(bench::Report & report, int n_threads) {
    const Case cases[] = {
        {"mul_mat", 0, 1.85,
         [](ggml_context * c, ggml_tensor * a, ggml_tensor * b) { return ggml_mul_mat(c, a, b); }},
        {"gelu", 0, 1.85, [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_gelu(c, a); }},
        {"soft_max", 0, 1.85,
         [](ggml_context * c, ggml_tensor * a, ggml_tensor *) { return ggml_soft_max(c, a); }},
    };
    for (const Case & c : cases) {
        Operator op(c.build, 1024, 1024);
        const bench::Candidate candidates[] = {
            {"one", 1, [&] { op.run(1); }},
            {"all", 1, [&] { op.run(n_threads); }},
        };
        const bench::Timings t = bench::interleave(candidates, 25);
        std::printf("%-12s %.3f ms with 1 thread, %.3f ms with %d\n", c.name, t.median_seconds(0) * 1e3,
                    t.median_seconds(1) * 1e3, n_threads);
        report.ratio(std::string("scaling_") + c.name, t.rate_ratio(1, 0), c.aim);
    }
}

} // namespace

int main() {
    const unsigned cores = std::thread::hardware_concurrency();
    const int n_threads = cores > 0 ? int(cores) : 1;
    bench::Report report;
    measure_streams(report, n_threads);
    if (n_threads == 2) measure_scaling(report, n_threads);
    return 0;
}
