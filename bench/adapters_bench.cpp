// What adapters of rank 16 add to the layers of a block of Krea 2 at 1,024 tokens: INT8 weights of its real
// sizes, corrections as the engine builds them (layers with the same input share one product by all their
// first factors). All threads, through the scheduler as models run.
#include "bench/support/measure.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 5, kGroup = 256;
constexpr int64_t kTokens = 1024, kRank = 16, kWidth = 6144, kHidden = 16384;

// Layers of one input: [K, N of each].
struct Projection {
    int64_t k;
    std::vector<int64_t> n;
};
const std::vector<Projection> kBlock = {
    {kWidth, {6144, 1536, 1536, 6144}}, {kWidth, {6144}}, {kWidth, {kHidden, kHidden}}, {kHidden, {6144}}};

class Block {
  public:
    Block(int adapters, bool fusion, int n_threads) : rank_(adapters * kRank) {
        backend_.reset(
            ggml_backend_dev_init(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), nullptr));
        ggml_backend_cpu_set_n_threads(backend_.get(), n_threads);
        ggml_backend_t backends[] = {backend_.get()};
        sched_.reset(ggml_backend_sched_new(backends, nullptr, 1, 256, false, true));
        ggml_ext_policy policy = ggml_ext_policy_default();
        policy.fusion = fusion;
        ggml_ext_sched_set_policy(sched_.get(), &policy);
        graph_ = ggml_new_graph(graph_ctx_.get());
        for (const Projection & p : kBlock) add(p);
        fill();
        if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) std::abort();
    }
    void run() {
        if (ggml_backend_sched_graph_compute(sched_.get(), graph_) != GGML_STATUS_SUCCESS) std::abort();
    }

  private:
    ggml_tensor * weight(ggml_type type, int64_t ne0, int64_t ne1) {
        return ggml_new_tensor_2d(weights_ctx_.get(), type, ne0, ne1);
    }

    void add(const Projection & p) {
        ggml_context * ctx = graph_ctx_.get();
        ggml_tensor * x = weight(GGML_TYPE_F32, p.k, kTokens);
        ggml_tensor * packed = ggml_quantize_i8_convrot(ctx, x, kGroup);
        ggml_tensor * all = nullptr;
        if (rank_ > 0) all = ggml_mul_mat(ctx, weight(GGML_TYPE_F32, p.k, rank_ * int64_t(p.n.size())), x);
        for (size_t i = 0; i < p.n.size(); ++i) {
            const int64_t n = p.n[i];
            ggml_tensor * y =
                ggml_mul_mat_i8_tensorwise(ctx, weight(GGML_TYPE_I8, p.k, n), packed,
                                           weight(GGML_TYPE_F32, n, 1), nullptr, kGroup, nullptr);
            if (rank_ > 0) {
                ggml_tensor * part =
                    ggml_view_2d(ctx, all, rank_, kTokens, all->nb[1], i * size_t(rank_) * sizeof(float));
                y = ggml_add(ctx, y, ggml_mul_mat(ctx, weight(GGML_TYPE_F32, rank_, n), part));
            }
            ggml_build_forward_expand(graph_, y);
        }
    }

    void fill() {
        buffer_.reset(
            ggml_backend_alloc_ctx_tensors_from_buft(weights_ctx_.get(), ggml_backend_cpu_buffer_type()));
        if (buffer_ == nullptr) std::abort();
        for (ggml_tensor * t = ggml_get_first_tensor(weights_ctx_.get()); t != nullptr;
             t = ggml_get_next_tensor(weights_ctx_.get(), t)) {
            for (int64_t i = 0; i < ggml_nelements(t); ++i) {
                const int value = int(i * 37 % 251) - 125;
                if (t->type == GGML_TYPE_I8)
                    static_cast<int8_t *>(t->data)[i] = int8_t(value);
                else
                    static_cast<float *>(t->data)[i] = float(value) * 0.01f;
            }
        }
    }

    int64_t rank_;
    ggml_context_ptr graph_ctx_{ggml_init({4u << 20, nullptr, true})},
        weights_ctx_{ggml_init({1u << 20, nullptr, true})};
    ggml_backend_buffer_ptr buffer_;
    ggml_backend_ptr backend_;
    ggml_backend_sched_ptr sched_;
    ggml_cgraph * graph_;
};

} // namespace

int main() {
    const int n_threads = std::max(1, int(std::thread::hardware_concurrency()));
    if (sd_ggml_register_extensions(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)) !=
        GGML_EXT_SUCCESS) {
        std::fprintf(stderr, "registration: %s\n", ggml_ext_last_message());
        return 1;
    }
    bench::Report report;
    Block none(0, true, n_threads), one(1, true, n_threads), three(3, true, n_threads),
        nodes(3, false, n_threads);
    const bench::Candidate candidates[] = {{"none", 1, [&] { none.run(); }},
                                           {"one", 1, [&] { one.run(); }},
                                           {"three", 1, [&] { three.run(); }},
                                           {"three, not fused", 1, [&] { nodes.run(); }}};
    const bench::Timings t = bench::interleave(candidates, kRounds);
    for (size_t i = 0; i < std::size(candidates); ++i)
        std::printf("%-17s %.1f ms, %+.1f %%\n", candidates[i].name.c_str(), t.median_seconds(i) * 1e3,
                    100 * (1 / t.rate_ratio(i, 0) - 1));
    // Of the layers alone; attention and the rest of a step only make the share smaller.
    report.ratio("layers_with_one_adapter", t.rate_ratio(1, 0), 1 / 1.08);
    report.ratio("layers_with_three_adapters", t.rate_ratio(2, 0), 1 / 1.15);
    return 0;
}
