// sd.linear_i8.v1 against its ceilings: the int8 dot product, oneDNN's product of the same codes without any
// scaling, reading the weights once. On one thread and on all. A ratio to oneDNN is bounded by the peak: the
// line before shows how much of it oneDNN itself reaches.
#include "backends/cpu/team.h"
#include "bench/support/measure.h"
#include "bench/support/peaks.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "sd-ggml-ops.h"

#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Size {
    int64_t m, k, n;
};

// Operands of a layer, and graphs of one node over them.
class Layer {
  public:
    Layer(Size size, int n_threads) : size_(size), n_threads_(n_threads), backend_(ggml_backend_cpu_init()) {
        const auto [m, k, n] = size;
        ggml_backend_cpu_set_n_threads(backend_.get(), n_threads);
        ctx_.reset(ggml_init({size_t(k * (n + m) + 4 * (m * k + 2 * n + m)) + (1 << 20), nullptr, false}));
        w = tensor(GGML_TYPE_I8, k, n);
        codes = tensor(GGML_TYPE_I8, k, m);
        x = tensor(GGML_TYPE_F32, k, m);
        x_scale_ = tensor(GGML_TYPE_F32, m, 1);
        w_scale_ = tensor(GGML_TYPE_F32, n, 1);
        bias_ = tensor(GGML_TYPE_F32, n, 1);
    }

    double operations() const { return 2.0 * double(size_.m) * double(size_.k) * double(size_.n); }
    std::span<const std::byte> weights() const {
        return {static_cast<const std::byte *>(w->data), ggml_nbytes(w)};
    }

    bench::Candidate with_codes() { return candidate("codes", codes, x_scale_); }
    bench::Candidate with_floats() { return candidate("f32", x, nullptr); }

    // The library's own best way for the same codes; its result are the sums.
    bench::Candidate onednn() {
        using namespace dnnl;
        const auto [m, k, n] = size_;
        const engine cpu(engine::kind::cpu, 0);
        const memory::desc a({m, k}, memory::data_type::s8, memory::format_tag::ab);
        const memory::desc b({k, n}, memory::data_type::s8, memory::format_tag::ba);
        const memory::desc c({m, n}, memory::data_type::s32, memory::format_tag::ab);
        const matmul::primitive_desc pd(matmul::desc(a, b, c), cpu);
        auto sums = std::make_shared<std::vector<int32_t>>(size_t(m * n));
        return {"oneDNN", operations(),
                [this, sums, primitive = matmul(pd), s = stream(cpu), ma = memory(a, cpu, codes->data),
                 mb = memory(b, cpu, w->data), mc = memory(c, cpu, sums->data())]() mutable {
                    omp_set_num_threads(n_threads_);
                    primitive.execute(s, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
                    s.wait();
                }};
    }

    ggml_tensor *w, *codes, *x;

  private:
    struct Graph {
        ggml_context_ptr ctx;
        ggml_backend_sched_ptr sched;
        ggml_cgraph * graph;
    };

    bench::Candidate candidate(const char * name, ggml_tensor * acts, ggml_tensor * scale) {
        auto g = std::make_shared<Graph>();
        g->ctx.reset(ggml_init({1 << 20, nullptr, true}));
        g->graph = ggml_new_graph(g->ctx.get());
        ggml_tensor * y = ggml_mul_mat_i8_tensorwise(g->ctx.get(), w, acts, w_scale_, bias_, 256, scale);
        ggml_build_forward_expand(g->graph, y);
        ggml_backend_t backend = backend_.get();
        g->sched.reset(ggml_backend_sched_new(&backend, nullptr, 1, 16, false, true));
        if (y == nullptr || !ggml_backend_sched_alloc_graph(g->sched.get(), g->graph)) std::abort();
        return {name, operations(), [g] {
                    if (ggml_backend_sched_graph_compute(g->sched.get(), g->graph) != GGML_STATUS_SUCCESS)
                        std::abort();
                }};
    }

    ggml_tensor * tensor(ggml_type type, int64_t ne0, int64_t ne1) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx_.get(), type, ne0, ne1);
        uint32_t state = 1;
        for (int64_t i = 0; i < ggml_nelements(t); ++i) {
            state = state * 1664525u + 1013904223u;
            if (type == GGML_TYPE_I8)
                static_cast<int8_t *>(t->data)[i] = int8_t(state >> 24);
            else
                static_cast<float *>(t->data)[i] = float(int32_t(state)) * 0x1p-31f;
        }
        return t;
    }

    Size size_;
    int n_threads_;
    ggml_backend_ptr backend_;
    ggml_context_ptr ctx_;
    ggml_tensor *x_scale_, *w_scale_, *bias_;
};

std::string label(const char * what, Size size, int n_threads) {
    return std::string(what) + "_m" + std::to_string(size.m) + "_k" + std::to_string(size.k) + "_n" +
           std::to_string(size.n) + "_t" + std::to_string(n_threads);
}

void against_peak(Size size, double aim, int n_threads, bool all, bench::Report & report) {
    Layer layer(size, n_threads);
    const ggml::cpu::Team team(n_threads);
    const bench::Candidate candidates[] = {layer.with_codes(), bench::int8_dot_peak(team, 100),
                                           layer.onednn(), layer.with_floats()};
    const bench::Timings t = bench::interleave(candidates, size.m > 500 ? 7 : 21);
    std::printf("%s: %.0f GOP/s, f32 %.0f, oneDNN %.0f (%.3f of the peak), int8 dot peak %.0f\n",
                label("linear_i8", size, n_threads).c_str(), t.rate(0) / 1e9, t.rate(3) / 1e9,
                t.rate(2) / 1e9, t.rate_ratio(2, 1), t.rate(1) / 1e9);
    report.ratio(label("linear_i8_vs_int8_peak", size, n_threads), t.rate_ratio(0, 1), aim);
    if (!all) return;
    report.ratio(label("linear_i8_vs_onednn", size, n_threads), t.rate_ratio(0, 2), 1.2);
    report.ratio(label("linear_i8_f32_vs_codes", size, n_threads), t.rate_ratio(3, 0), 0.95);
}

// Weights three times a last-level cache.
void against_reading(int64_t m, int n_threads, bench::Report & report) {
    const Size size = {m, 6144, 16384};
    Layer layer(size, n_threads);
    const ggml::cpu::Team team(n_threads);
    bench::Candidate rows = layer.with_codes();
    rows.work = double(layer.weights().size());
    const bench::Candidate candidates[] = {rows, bench::read_memory(team, layer.weights())};
    const bench::Timings t = bench::interleave(candidates, 25);
    std::printf("%s: %.1f GB/s, reading %.1f\n", label("linear_i8", size, n_threads).c_str(), t.rate(0) / 1e9,
                t.rate(1) / 1e9);
    report.ratio(label("linear_i8_vs_reading", size, n_threads), t.rate_ratio(0, 1), 0.8);
}

} // namespace

int main() {
    sd_ggml_register_extensions(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    bench::Report report;
    for (const int n_threads : {1, cores}) {
        against_peak({1024, 6144, 6144}, 0.85, n_threads, true, report);
        against_peak({1024, 6144, 16384}, 0.85, n_threads, true, report);
        against_peak({1024, 16384, 6144}, 0.85, n_threads, true, report);
        against_peak({64, 6144, 6144}, 0.75, n_threads, false, report);
        against_peak({256, 6144, 6144}, 0.82, n_threads, false, report);
        for (const int64_t m : {1, 2, 4}) against_reading(m, n_threads, report);
        if (cores == 1) break;
    }
    return 0;
}
