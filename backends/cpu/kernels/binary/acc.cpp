// ACC: dst is src0 with src1 added to a region of it, described by byte strides and an offset in op_params.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/binary/arithmetic.h"
#include "backends/cpu/kernels/binary/binary.h"
#include "runtime/base/math.h"
#include "runtime/ops/params.h"

#include <algorithm>
#include <utility>

namespace ggml::cpu {
namespace {

// The region of dst that src1 lands on: src1's shape with the strides of op_params.
ggml_tensor region_of(const ggml_tensor * dst) {
    const auto p = get_params<RegionParams>(dst);
    ggml_tensor region = *dst;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) region.ne[i] = dst->src[1]->ne[i];
    region.nb[1] = size_t(p.nb1);
    region.nb[2] = size_t(p.nb2);
    region.nb[3] = size_t(p.nb3);
    if (dst->data != nullptr) region.data = static_cast<char *>(dst->data) + p.offset;
    return region;
}

// Threads add to different rows, so rows of the region must not overlap: sorted by stride, each dimension
// must step over everything the smaller ones span.
bool rows_are_disjoint(const ggml_tensor & region) {
    std::pair<size_t, int64_t> dims[3];
    for (int i = 0; i < 3; ++i) dims[i] = {region.nb[i + 1], region.ne[i + 1]};
    std::sort(dims, dims + 3);
    size_t extent = size_t(region.ne[0]) * region.nb[0];
    for (const auto & [stride, count] : dims) {
        if (count <= 1) continue;
        size_t span;
        if (stride < extent || !checked_mul(stride, size_t(count - 1), span) ||
            !checked_add(span, extent, extent)) {
            return false;
        }
    }
    return true;
}

} // namespace

bool acc_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    if (a == nullptr || b == nullptr || !ggml_are_same_shape(a, dst)) return false;
    if (a->type != GGML_TYPE_F32 || b->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (!ggml_is_contiguous(a) || !ggml_is_contiguous(dst)) return false;
    const auto p = get_params<RegionParams>(dst);
    for (const int32_t bytes : {p.nb1, p.nb2, p.nb3, p.offset}) {
        if (bytes < 0 || bytes % int32_t(sizeof(float)) != 0) return false;
    }
    if (ggml_is_empty(b)) return true;
    const ggml_tensor region = region_of(dst);
    size_t bytes, end;
    return rows_are_disjoint(region) &&
           span_bytes(region.type, shape_of(&region),
                      {region.nb[0], region.nb[1], region.nb[2], region.nb[3]}, bytes) &&
           checked_add(bytes, size_t(p.offset), end) && end <= ggml_nbytes(dst);
}

ggml_status acc_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    std::memmove(dst->data, a->data, ggml_nbytes(dst));
    const ggml_tensor region = region_of(dst);
    for (int64_t row = 0; row < ggml_nrows(b); ++row) {
        const RowIndex r = row_index(b, row);
        const char * x = row_at<char>(b, row_offset(b, r));
        char * y = static_cast<char *>(region.data) + row_offset(&region, r);
        for (int64_t i = 0; i < b->ne[0]; ++i) {
            char * out = y + size_t(i) * region.nb[0];
            write_float(dst->type, out,
                        read_float(dst->type, out) + read_float(b->type, x + size_t(i) * b->nb[0]));
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status acc_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    if (a->data != dst->data) {
        const float * from = row_at<float>(a, 0);
        float * to = row_at<float>(dst, 0);
        ctx.team.parallel_for(ggml_nelements(dst), kParallelGrain, [&](int64_t begin, int64_t end) {
            std::memcpy(to + begin, from + begin, size_t(end - begin) * sizeof(float));
        });
        if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
    }
    if (ggml_is_empty(b)) return GGML_STATUS_SUCCESS;
    ggml_tensor region = region_of(dst);
    for_each_block(ctx.team, &region, [&](RowIndex r, int64_t begin, int64_t n) {
        float buffer[kRowBlock];
        float * y = row_at<float>(&region, row_offset(&region, r)) + begin;
        const float * x = load_row(b, row_at<char>(b, row_offset(b, r)), begin, n, buffer);
        arithmetic_row(Arithmetic::add, y, x, y, n);
    });
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
