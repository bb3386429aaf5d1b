#include "backends/cpu/kernels/matmul/float_matmul.h"
#include "backends/cpu/kernels/matmul/matmul.h"
#include "backends/cpu/kernels/matmul/quant_matmul.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu::matmul {
namespace {

// Float rows gathered at a time for one expert: bounds scratch.
constexpr int64_t kGatherRows = 1024;

// Rows sorted by expert: those of expert i are pairs[start[i], start[i + 1]).
struct Routing {
    RowPair * pairs;
    int64_t * start;
};

int64_t total_rows(const ggml_tensor * dst) { return dst->ne[1] * dst->ne[2]; }

// Counting sort by expert; within an expert, tokens keep their order. False when an id names no expert.
bool route(ggml_tensor * dst, const Routing & routing) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    std::fill_n(routing.start, a->ne[2] + 1, 0);
    for (int64_t t = 0; t < dst->ne[2]; ++t) {
        for (int64_t e = 0; e < dst->ne[1]; ++e) {
            const int64_t expert = expert_at(dst, e, t);
            if (expert < 0) return false;
            ++routing.start[expert + 1];
        }
    }
    for (int64_t i = 0; i < a->ne[2]; ++i) routing.start[i + 1] += routing.start[i];
    for (int64_t t = 0; t < dst->ne[2]; ++t) {
        for (int64_t e = 0; e < dst->ne[1]; ++e) {
            routing.pairs[routing.start[expert_at(dst, e, t)]++] = {
                row_at<char>(b, row_offset(b, {e % b->ne[1], t, 0})),
                row_at<float>(dst, row_offset(dst, {e, t, 0}))};
        }
    }
    // Each start has moved to the next expert's: shift them back.
    for (int64_t i = a->ne[2]; i > 0; --i) routing.start[i] = routing.start[i - 1];
    routing.start[0] = 0;
    return true;
}

size_t float_expert_scratch(const ggml_tensor * dst, int n_threads) {
    const ggml_tensor * a = dst->src[0];
    const int64_t m = std::min(total_rows(dst), kGatherRows);
    const bool direct = float_weights_direct({a->type, nullptr, a->nb[1], a->nb[0], a->ne[1], a->ne[0]});
    // How a product is computed depends on its rows: room for either way.
    return saturating_add(slice_bytes(saturating_mul(m, a->ne[0], sizeof(float))),
                          slice_bytes(saturating_mul(m, a->ne[1], sizeof(float))),
                          std::max(float_scratch(direct, a->ne[1], a->ne[0], 1, n_threads),
                                   float_scratch(direct, a->ne[1], a->ne[0], m, n_threads)));
}

ggml_status expert_float(const Team & team, const Weights & w, std::span<const RowPair> pairs,
                         const RowFormat & format, std::span<std::byte> memory) {
    const int64_t m = std::min(int64_t(pairs.size()), kGatherRows);
    Scratch scratch(memory);
    float *x = scratch.take<float>(size_t(m * w.cols)), *y = scratch.take<float>(size_t(m * w.rows));
    if (x == nullptr || y == nullptr) return GGML_STATUS_FAILED;
    for (size_t done = 0; done < pairs.size(); done += size_t(m)) {
        const auto part = pairs.subspan(done, std::min(size_t(m), pairs.size() - done));
        const int64_t n = int64_t(part.size());
        team.parallel_for(n, ceil_div(kParallelGrain, w.cols), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                read_floats(format.type, format.elem_stride, part[size_t(i)].x, 0, w.cols, x + i * w.cols);
            }
        });
        const FloatProduct product{w, x, w.cols, n, y, w.rows};
        const ggml_status status = float_products(
            team, 1, [&](int64_t) { return product; }, scratch.rest());
        if (status != GGML_STATUS_SUCCESS) return status;
        team.parallel_for(n, ceil_div(kParallelGrain, w.rows), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                std::memcpy(part[size_t(i)].y, y + i * w.rows, size_t(w.rows) * sizeof(float));
            }
        });
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace

size_t mul_mat_id_scratch(const ggml_tensor * dst, int n_threads) {
    const ggml_tensor * a = dst->src[0];
    const int64_t rows = total_rows(dst);
    const size_t routing = saturating_add(slice_bytes(saturating_mul(rows, sizeof(RowPair))),
                                          slice_bytes(saturating_mul(a->ne[2] + 1, sizeof(int64_t))));
    return saturating_add(routing, ggml_is_quantized(a->type) ? quant_scratch(a->ne[0], rows, n_threads)
                                                              : float_expert_scratch(dst, n_threads));
}

ggml_status mul_mat_id(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    Scratch scratch(ctx.scratch);
    const Routing routing{scratch.take<RowPair>(size_t(total_rows(dst))),
                          scratch.take<int64_t>(size_t(a->ne[2] + 1))};
    if (routing.pairs == nullptr || routing.start == nullptr) return GGML_STATUS_FAILED;
    if (!route(dst, routing)) return GGML_STATUS_FAILED;
    const RowFormat format{b->type, b->nb[0]};
    const bool quantized = ggml_is_quantized(a->type);
    for (int64_t i = 0; i < a->ne[2]; ++i) {
        const std::span<const RowPair> pairs(routing.pairs + routing.start[i],
                                             size_t(routing.start[i + 1] - routing.start[i]));
        if (pairs.empty()) continue;
        if (a->ne[0] == 0) {
            for (const RowPair & pair : pairs) std::fill_n(pair.y, dst->ne[0], 0.0f);
            continue;
        }
        if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
        const Weights weights = weights_of(a, i, 0);
        const ggml_status status = quantized ? quant_product(ctx.team, weights, pairs, format, scratch.rest())
                                             : expert_float(ctx.team, weights, pairs, format, scratch.rest());
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::matmul
