// sd.linear_w4_convrot.v1 against sd.linear_i8.v1 of the same size, whose products W4A4 does with half the
// bytes, and against ceilings: float multiply-adds for W4A8, reading the packed weights once. On one thread
// and on all.
#include "backends/cpu/team.h"
#include "bench/support/measure.h"
#include "bench/support/peaks.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace {

struct Size {
    int64_t m, k, n;
};

constexpr int kGroup = 256;

// Operands of a layer in each format, and graphs of one node over them. All read the same packed activations.
class Layer {
  public:
    Layer(Size size, int n_threads) : size_(size), backend_(ggml_backend_cpu_init()) {
        const auto [m, k, n] = size;
        ggml_backend_cpu_set_n_threads(backend_.get(), n_threads);
        ctx_.reset(ggml_init({size_t(2 * k * n + 5 * m * k + 8 * n + 16 * m) + (1 << 20), nullptr, false}));
        x_ = tensor(GGML_TYPE_F32, k, m);
        w8_ = tensor(GGML_TYPE_I8, k, n);
        w4_ = tensor(GGML_TYPE_I8, k / 2, n);
        scale_ = tensor(GGML_TYPE_F32, n, 1);
        bias_ = tensor(GGML_TYPE_F32, n, 1);
        codebook_ = tensor(GGML_TYPE_F32, 16, 1);
        relative_ = tensor(GGML_TYPE_I8, k / 16, n);
        // Scales as files have them: 16 to 112.
        for (int64_t i = 0; i < ggml_nelements(relative_); ++i) {
            auto & byte = static_cast<int8_t *>(relative_->data)[i];
            byte = int8_t(0x58 + (uint8_t(byte) % 23));
        }
        pack();
    }

    double operations() const { return 2.0 * double(size_.m) * double(size_.k) * double(size_.n); }
    std::span<const std::byte> packed_weights() const {
        return {static_cast<const std::byte *>(w4_->data), ggml_nbytes(w4_)};
    }
    double w4a8_bytes() const { return double(ggml_nbytes(w4_) + ggml_nbytes(relative_)); }

    bench::Candidate i8() {
        return candidate("linear_i8", [this](ggml_context * ctx) {
            return ggml_mul_mat_i8_tensorwise(ctx, w8_, ggml_quantize_i8_convrot(ctx, x_, kGroup), scale_,
                                              bias_, kGroup, nullptr);
        });
    }
    bench::Candidate w4a4() {
        return candidate("W4A4", [this](ggml_context * ctx) {
            return ggml_mul_mat_w4_convrot(ctx, w4_, ggml_quantize_i8_convrot(ctx, x_, kGroup), scale_,
                                           nullptr, nullptr, nullptr, bias_, kGroup);
        });
    }
    bench::Candidate w4a8() {
        return candidate("W4A8", [this](ggml_context * ctx) {
            return ggml_mul_mat_w4_convrot(ctx, w4_, ggml_quantize_i8_convrot(ctx, x_, kGroup), nullptr,
                                           codebook_, scale_, relative_, bias_, kGroup);
        });
    }

  private:
    using Build = std::function<ggml_tensor *(ggml_context *)>;

    struct Graph {
        ggml_context_ptr ctx;
        ggml_backend_sched_ptr sched;
        ggml_cgraph * graph;

        Graph(ggml_backend_t backend, const Build & build) {
            ctx.reset(ggml_init({1 << 20, nullptr, true}));
            graph = ggml_new_graph(ctx.get());
            ggml_tensor * y = build(ctx.get());
            if (y == nullptr) std::abort();
            ggml_build_forward_expand(graph, y);
            sched.reset(ggml_backend_sched_new(&backend, nullptr, 1, 16, false, true));
            if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) std::abort();
        }
        void run() const {
            if (ggml_backend_sched_graph_compute(sched.get(), graph) != GGML_STATUS_SUCCESS) std::abort();
        }
    };

    // Quantizes once: a layer is timed without it, as those are that share activations.
    void pack() {
        ggml_tensor * result = nullptr;
        const Graph graph(backend_.get(), [&](ggml_context * ctx) {
            return result = ggml_quantize_i8_convrot(ctx, x_, kGroup);
        });
        graph.run();
        packed_ = ggml_new_tensor_2d(ctx_.get(), GGML_TYPE_I8, result->ne[0], result->ne[1]);
        ggml_backend_tensor_get(result, packed_->data, 0, ggml_nbytes(packed_));
    }

    bench::Candidate candidate(const char * name, const Build & build) {
        auto graph = std::make_shared<Graph>(backend_.get(), [&](ggml_context * ctx) {
            ggml_tensor * y = build(ctx);
            if (y != nullptr) y->src[1] = packed_; // in place of the node that would quantize once more
            return y;
        });
        return {name, operations(), [graph] { graph->run(); }};
    }

    ggml_tensor * tensor(ggml_type type, int64_t ne0, int64_t ne1) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx_.get(), type, ne0, ne1);
        for (int64_t i = 0; i < ggml_nelements(t); ++i) {
            state_ = state_ * 1664525u + 1013904223u;
            if (type == GGML_TYPE_I8)
                static_cast<int8_t *>(t->data)[i] = int8_t(state_ >> 24);
            else
                static_cast<float *>(t->data)[i] = float(int32_t(state_)) * 0x1p-31f;
        }
        return t;
    }

    Size size_;
    uint32_t state_ = 1;
    ggml_backend_ptr backend_;
    ggml_context_ptr ctx_;
    ggml_tensor *x_, *packed_ = nullptr, *w8_, *w4_, *scale_, *bias_, *codebook_, *relative_;
};

std::string label(const char * what, Size size, int n_threads) {
    return std::string(what) + "_m" + std::to_string(size.m) + "_k" + std::to_string(size.k) + "_n" +
           std::to_string(size.n) + "_t" + std::to_string(n_threads);
}

void many_rows(Size size, double w4a4_aim, double w4a8_aim, int n_threads, bench::Report & report) {
    Layer layer(size, n_threads);
    const ggml::cpu::Team team(n_threads);
    const bench::Candidate candidates[] = {layer.i8(), layer.w4a4(), layer.w4a8(), bench::fma_peak(team, 100),
                                           bench::int8_dot_peak(team, 100)};
    const bench::Timings t = bench::interleave(candidates, size.m > 500 ? 7 : 21);
    std::printf("%s: W4A4 %.0f GOP/s, linear_i8 %.0f, int8 dot peak %.0f; W4A8 %.0f, FMA peak %.0f\n",
                label("linear_w4", size, n_threads).c_str(), t.rate(1) / 1e9, t.rate(0) / 1e9,
                t.rate(4) / 1e9, t.rate(2) / 1e9, t.rate(3) / 1e9);
    report.ratio(label("w4a4_vs_linear_i8", size, n_threads), t.rate_ratio(1, 0), w4a4_aim);
    report.ratio(label("w4a8_vs_fma_peak", size, n_threads), t.rate_ratio(2, 3), w4a8_aim);
}

// INT8 weights three times a last-level cache.
void few_rows(Size size, double w4a4_aim, int n_threads, bench::Report & report) {
    Layer layer(size, n_threads);
    const ggml::cpu::Team team(n_threads);
    const bench::Candidate candidates[] = {layer.i8(), layer.w4a4(), layer.w4a8(),
                                           bench::read_memory(team, layer.packed_weights())};
    const bench::Timings t = bench::interleave(candidates, 25);
    const double bytes = double(layer.packed_weights().size()), reading = t.rate(3);
    const double w4a4 = bytes / t.median_seconds(1), w4a8 = layer.w4a8_bytes() / t.median_seconds(2);
    std::printf("%s: W4A4 %.1f GB/s, W4A8 %.1f, reading %.1f\n", label("linear_w4", size, n_threads).c_str(),
                w4a4 / 1e9, w4a8 / 1e9, reading / 1e9);
    report.ratio(label("w4a4_vs_linear_i8", size, n_threads), t.rate_ratio(1, 0), w4a4_aim);
    report.ratio(label("w4a4_vs_reading", size, n_threads), w4a4 / reading, 0.8);
    report.ratio(label("w4a8_vs_reading", size, n_threads), w4a8 / reading, 0.5);
}

} // namespace

int main() {
    sd_ggml_register_extensions(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    bench::Report report;
    for (const int n_threads : {1, cores}) {
        many_rows({1024, 6144, 6144}, 0.9, 0.7, n_threads, report);
        many_rows({64, 6144, 6144}, 0.9, 0.6, n_threads, report);
        few_rows({1, 6144, 16384}, 1.6, n_threads, report);
        few_rows({4, 6144, 16384}, 1.2, n_threads, report);
        if (cores == 1) break;
    }
    return 0;
}
