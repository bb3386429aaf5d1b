// The engine's operators on rows: modulation against a plain copy of as many bytes, rotation too, and fused
// chains against their nodes and against a plain copy of what they must read and write. One core and all,
// through the scheduler as models run.
#include "backends/cpu/team.h"
#include "bench/support/measure.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 15;
constexpr int64_t kHead = 128, kHeads = 48, kTokens = 1280, kWidth = kHead * kHeads;

// Inputs of one model layer: x [width, tokens], a vector of the width, one of the head, a table of rotations.
struct Inputs {
    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_backend_buffer_ptr buffer;
    ggml_tensor *x, *y, *heads, *scale, *shift, *weight, *pe;

    Inputs() {
        x = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, kWidth, kTokens);
        y = ggml_dup_tensor(ctx.get(), x);
        heads = ggml_reshape_3d(ctx.get(), x, kHead, kHeads, kTokens);
        scale = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kWidth);
        shift = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kWidth);
        weight = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kHead);
        pe = ggml_new_tensor_4d(ctx.get(), GGML_TYPE_F32, 2, 2, kHead / 2, kTokens);
        buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), ggml_backend_cpu_buffer_type()));
        for (ggml_tensor * t : {x, y, scale, shift, weight, pe}) {
            auto * p = static_cast<float *>(t->data);
            for (int64_t i = 0; i < ggml_nelements(t); ++i) p[i] = float(int(i % 251) - 125) * 0.01f;
        }
    }
};

using Build = ggml_tensor * (*)(ggml_context *, const Inputs &);

// A graph allocated in a scheduler of its own.
class Graph {
  public:
    Graph(const Inputs & in, Build build, int n_threads, bool fusion) {
        backend_.reset(
            ggml_backend_dev_init(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), nullptr));
        ggml_backend_cpu_set_n_threads(backend_.get(), n_threads);
        ggml_backend_t backends[] = {backend_.get()};
        sched_.reset(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
        ggml_ext_policy policy = ggml_ext_policy_default();
        policy.fusion = fusion;
        ggml_ext_sched_set_policy(sched_.get(), &policy);
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, build(ctx_.get(), in));
        if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) std::abort();
    }
    void run() {
        if (ggml_backend_sched_graph_compute(sched_.get(), graph_) != GGML_STATUS_SUCCESS) std::abort();
    }
    bool is_fused() const {
        ggml_tensor ** nodes = ggml_graph_nodes(graph_);
        return std::any_of(nodes, nodes + ggml_graph_n_nodes(graph_),
                           [](const ggml_tensor * t) { return t->data == nullptr; });
    }

  private:
    ggml_context_ptr ctx_{ggml_init({1u << 20, nullptr, true})};
    ggml_backend_ptr backend_;
    ggml_backend_sched_ptr sched_;
    ggml_cgraph * graph_;
};

ggml_tensor * modulate(ggml_context * ctx, const Inputs & in) {
    return ggml_ext_modulate(ctx, in.x, in.shift, in.scale);
}
ggml_tensor * rope_neighbours(ggml_context * ctx, const Inputs & in) {
    return ggml_ext_rope_apply(ctx, in.heads, in.pe, true);
}
ggml_tensor * rope_halves(ggml_context * ctx, const Inputs & in) {
    return ggml_ext_rope_apply(ctx, in.heads, in.pe, false);
}
ggml_tensor * norm_rope(ggml_context * ctx, const Inputs & in) {
    ggml_tensor * norm = ggml_mul(ctx, ggml_rms_norm(ctx, in.heads, 1e-5f), in.weight);
    return ggml_ext_rope_apply(ctx, norm, in.pe, true);
}

void measure_against_copy(bench::Report & report, const Inputs & in, const char * name, Build build,
                          double aim, int n_threads) {
    const ggml::cpu::Team team(n_threads);
    const auto * from = static_cast<const char *>(in.x->data);
    std::vector<char> to(ggml_nbytes(in.x), 1);
    Graph graph(in, build, n_threads, true);
    const double bytes = 2.0 * double(to.size());
    const bench::Candidate candidates[] = {
        {"copy", bytes,
         [&] {
             team.parallel_for(int64_t(to.size()), 1 << 16, [&](int64_t begin, int64_t end) {
                 std::memcpy(to.data() + begin, from + begin, size_t(end - begin));
             });
         }},
        {name, bytes, [&] { graph.run(); }},
    };
    const bench::Timings t = bench::interleave(candidates, kRounds);
    std::printf("%-16s %d threads: %6.1f GB/s, copy %6.1f GB/s\n", name, n_threads, t.rate(1) / 1e9,
                t.rate(0) / 1e9);
    report.ratio(std::string(name) + "_vs_copy_t" + std::to_string(n_threads), t.rate_ratio(1, 0), aim);
}

ggml_tensor * quantize(ggml_context * ctx, ggml_tensor * t) { return ggml_quantize_i8_convrot(ctx, t, 256); }
ggml_tensor * modulate_convrot(ggml_context * ctx, const Inputs & in) {
    return quantize(ctx, modulate(ctx, in));
}
ggml_tensor * norm_convrot(ggml_context * ctx, const Inputs & in) {
    ggml_tensor * norm = ggml_mul(ctx, ggml_rms_norm(ctx, in.x, 1e-5f), in.scale);
    return quantize(ctx, ggml_ext_modulate(ctx, norm, in.shift, in.scale));
}
ggml_tensor * swiglu_convrot(ggml_context * ctx, const Inputs & in) {
    return quantize(ctx, ggml_swiglu_split(ctx, in.x, in.y));
}
ggml_tensor * sigmoid_convrot(ggml_context * ctx, const Inputs & in) {
    return quantize(ctx, ggml_mul(ctx, in.y, ggml_sigmoid(ctx, in.x)));
}
ggml_tensor * gated_residual(ggml_context * ctx, const Inputs & in) {
    return ggml_add(ctx, in.x, ggml_mul(ctx, in.y, in.scale));
}

// bytes: read and written for each element of x when nothing between the nodes reaches memory.
struct Fusion {
    const char * name;
    Build build;
    double bytes, aim_nodes, aim_copy;
};
constexpr Fusion kFusions[] = {
    {"norm_mul_rope", norm_rope, 8, 1.6, 0.6},
    {"modulate_convrot", modulate_convrot, 5, 1.5, 0.5},
    {"norm_modulate_convrot", norm_convrot, 5, 2.5, 0.5},
    {"swiglu_convrot", swiglu_convrot, 9, 1.1, 0.5},
    {"sigmoid_mul_convrot", sigmoid_convrot, 9, 1.5, 0.5},
    {"gated_residual", gated_residual, 12, 1.2, 0.8},
};

void measure_fusion(bench::Report & report, const Inputs & in, const Fusion & fusion, int n_threads) {
    const ggml::cpu::Team team(n_threads);
    Graph nodes(in, fusion.build, n_threads, false), fused(in, fusion.build, n_threads, true);
    if (nodes.is_fused() || !fused.is_fused()) std::abort();
    const auto * from = static_cast<const char *>(in.x->data);
    const double bytes = fusion.bytes * double(kWidth * kTokens);
    // Halves that fit x: read one, write one.
    const int64_t half = std::min(int64_t(bytes / 2), int64_t(ggml_nbytes(in.x)));
    std::vector<char> to(static_cast<size_t>(half), 1);
    const bench::Candidate candidates[] = {
        {"copy", 2.0 * double(half),
         [&] {
             team.parallel_for(half, 1 << 16, [&](int64_t begin, int64_t end) {
                 std::memcpy(to.data() + begin, from + begin, size_t(end - begin));
             });
         }},
        {"nodes", bytes, [&] { nodes.run(); }},
        {"fused", bytes, [&] { fused.run(); }},
    };
    const bench::Timings t = bench::interleave(candidates, kRounds);
    std::printf("%-21s %d threads: %.2f ms, fused %.2f ms, %.1f GB/s, copy %.1f GB/s\n", fusion.name,
                n_threads, t.median_seconds(1) * 1e3, t.median_seconds(2) * 1e3, t.rate(2) / 1e9,
                t.rate(0) / 1e9);
    const std::string suffix = "_t" + std::to_string(n_threads);
    report.ratio(fusion.name + ("_fused" + suffix), t.rate_ratio(2, 1), fusion.aim_nodes);
    report.ratio(fusion.name + ("_vs_copy" + suffix), t.rate_ratio(2, 0), fusion.aim_copy);
}

} // namespace

int main() {
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    if (sd_ggml_register_extensions(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)) !=
        GGML_EXT_SUCCESS) {
        std::fprintf(stderr, "registration: %s\n", ggml_ext_last_message());
        return 1;
    }
    bench::Report report;
    const Inputs in;
    for (int n_threads = 1; n_threads <= std::min(cores, 2); ++n_threads) {
        measure_against_copy(report, in, "modulate", modulate, 0.8, n_threads);
        measure_against_copy(report, in, "rope_neighbours", rope_neighbours, 0.8, n_threads);
        measure_against_copy(report, in, "rope_halves", rope_halves, 0.8, n_threads);
        for (const Fusion & fusion : kFusions) measure_fusion(report, in, fusion, n_threads);
    }
    return 0;
}
