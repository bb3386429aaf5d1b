#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

// Row of the embedding table for one row of GET_REL_POS's result.
int64_t distance_row(const ggml_tensor * dst, RowIndex r) { return dst->ne[1] - 1 - r.i1 + r.i2; }

// The logits of ADD_REL_POS seen with both key coordinates: [kw, kh, queries, batch].
template <class T>
struct Logits {
    T * data;
    int64_t kw;
    T & at(int64_t w, int64_t h, int64_t query) const { return data[(query * kw + h) * kw + w]; }
};

int64_t query_count(const ggml_tensor * dst) {
    const ggml_tensor * pw = dst->src[1];
    return pw->ne[1] * pw->ne[2] * pw->ne[3];
}

} // namespace

bool get_rel_pos_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    RowMover mover;
    if (a == nullptr || type_info(a->type).block != 1 || !find_mover(a->type, dst->type, mover)) return false;
    return a->ne[0] == dst->ne[0] && dst->ne[3] == 1 && a->ne[1] >= dst->ne[1] + dst->ne[2] - 1;
}

ggml_status get_rel_pos_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    RowMover mover;
    if (!find_mover(a->type, dst->type, mover)) return GGML_STATUS_FAILED;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            mover.move(row_at<char>(a, size_t(distance_row(dst, r)) * a->nb[1]), a->nb[0],
                       row_at<char>(dst, row_offset(dst, r)), dst->nb[0], dst->ne[0]);
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status get_rel_pos_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        ggml_tensor from = *a, to = *dst;
        from.ne[1] = from.ne[2] = from.ne[3] = to.ne[1] = to.ne[2] = to.ne[3] = 1;
        from.data = row_at<char>(&from, size_t(distance_row(dst, r)) * a->nb[1]);
        to.data = row_at<char>(&to, row_offset(dst, r));
        copy_tensor_reference(&from, &to);
    }
    return GGML_STATUS_SUCCESS;
}

bool add_rel_pos_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *pw = dst->src[1], *ph = dst->src[2];
    if (a == nullptr || pw == nullptr || ph == nullptr) return false;
    for (const ggml_tensor * t : {static_cast<const ggml_tensor *>(dst), a, pw, ph}) {
        if (t->type != GGML_TYPE_F32 || !ggml_is_contiguous(t)) return false;
    }
    return ggml_are_same_shape(a, dst) && ggml_are_same_shape(pw, ph) && pw->ne[3] == a->ne[2] &&
           a->ne[3] == 1 && pw->ne[0] * pw->ne[0] == a->ne[0] && pw->ne[1] * pw->ne[2] == a->ne[1];
}

// In place and not: every element is read before it is written.
ggml_status add_rel_pos_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const int64_t kw = dst->src[1]->ne[0], kh = kw;
    const Logits<const float> in{row_at<float>(static_cast<const ggml_tensor *>(dst->src[0]), 0), kw};
    const Logits<float> out{row_at<float>(dst, 0), kw};
    const float * pw = row_at<float>(dst->src[1], 0);
    const float * ph = row_at<float>(dst->src[2], 0);
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / kw);
    ctx.team.parallel_for(query_count(dst) * kh, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t query = i / kh, h = i % kh;
            const float * from = &in.at(0, h, query);
            const float * columns = pw + query * kw;
            float * to = &out.at(0, h, query);
            for (int64_t w = 0; w < kw; ++w) to[w] = (from[w] + ph[i]) + columns[w];
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status add_rel_pos_reference(const KernelContext &, ggml_tensor * dst) {
    const int64_t kw = dst->src[1]->ne[0], kh = kw;
    const Logits<const float> in{row_at<float>(static_cast<const ggml_tensor *>(dst->src[0]), 0), kw};
    const Logits<float> out{row_at<float>(dst, 0), kw};
    const float * pw = row_at<float>(dst->src[1], 0);
    const float * ph = row_at<float>(dst->src[2], 0);
    for (int64_t query = 0; query < query_count(dst); ++query) {
        for (int64_t h = 0; h < kh; ++h) {
            for (int64_t w = 0; w < kw; ++w) {
                out.at(w, h, query) = (in.at(w, h, query) + ph[query * kh + h]) + pw[query * kw + w];
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
