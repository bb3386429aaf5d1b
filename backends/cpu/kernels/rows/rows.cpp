// GET_ROWS: dst row (i, j, k) is row indexes(i, j, k) of plane (j, k) of src0, as dst's type.
// SET_ROWS: row i of plane (j, k) of src0 replaces row indexes(i, j % n, k % m) of dst, which is a view of
// the tensor being changed. When an index repeats within a plane the later row stays, for any number of
// threads.
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/rows/index.h"
#include "backends/cpu/kernels/rows/row_codec.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

bool has_index_type(const ggml_tensor * t) { return t->type == GGML_TYPE_I32 || t->type == GGML_TYPE_I64; }

bool get_rows_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    RowCodec codec;
    return a != nullptr && b != nullptr && has_index_type(b) && a->ne[0] == dst->ne[0] && b->ne[3] == 1 &&
           dst->ne[1] == b->ne[0] && dst->ne[2] == b->ne[1] && dst->ne[3] == b->ne[2] &&
           a->ne[2] == b->ne[1] && a->ne[3] == b->ne[2] && !type_info(dst->type).quantized &&
           RowCodec::find(a, dst, codec);
}

void get_row(const RowCodec & codec, ggml_tensor * dst, RowIndex r) {
    const ggml_tensor * a = dst->src[0];
    const int64_t row = index_at(dst->src[1], r.i1, r.i2, r.i3);
    codec.convert(row_at<char>(a, row_offset(a, {row, r.i2, r.i3})), row_at<char>(dst, row_offset(dst, r)),
                  a->ne[0]);
}

ggml_status get_rows_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    RowCodec codec;
    if (!RowCodec::find(dst->src[0], dst, codec)) return GGML_STATUS_FAILED;
    if (!check_indexes(dst, dst->src[1], dst->src[0]->ne[1])) return GGML_STATUS_FAILED;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) get_row(codec, dst, row_index(dst, row));
    });
    return GGML_STATUS_SUCCESS;
}

// A row of a tensor as a tensor, for the element-by-element copy.
ggml_tensor row_tensor(const ggml_tensor * t, RowIndex r) {
    ggml_tensor row = *t;
    row.ne[1] = row.ne[2] = row.ne[3] = 1;
    row.data = static_cast<char *>(t->data) + row_offset(t, r);
    return row;
}

ggml_status get_rows_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (!check_indexes(dst, dst->src[1], a->ne[1])) return GGML_STATUS_FAILED;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const ggml_tensor from = row_tensor(a, {index_at(dst->src[1], r.i1, r.i2, r.i3), r.i2, r.i3});
        ggml_tensor to = row_tensor(dst, r);
        copy_tensor_reference(&from, &to);
    }
    return GGML_STATUS_SUCCESS;
}

bool set_rows_supports(const ggml_tensor * dst) {
    const ggml_tensor * b = dst->src[0];
    const ggml_tensor * c = dst->src[1];
    if (b == nullptr || c == nullptr || !has_index_type(c)) return false;
    if (ggml_is_empty(b)) return true;
    RowCodec codec;
    return b->ne[0] == dst->ne[0] && b->ne[2] == dst->ne[2] && b->ne[3] == dst->ne[3] &&
           b->ne[1] == c->ne[0] && c->ne[1] > 0 && c->ne[2] > 0 && b->ne[2] % c->ne[1] == 0 &&
           b->ne[3] % c->ne[2] == 0 && c->ne[3] == 1 && !type_info(b->type).quantized &&
           RowCodec::find(b, dst, codec);
}

// Row of dst that row r of src0 goes to.
RowIndex target_row(const ggml_tensor * dst, RowIndex r) {
    const ggml_tensor * c = dst->src[1];
    return {index_at(c, r.i1, r.i2 % c->ne[1], r.i3 % c->ne[2]), r.i2, r.i3};
}

ggml_status set_rows_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * b = dst->src[0];
    if (ggml_is_empty(b)) return GGML_STATUS_SUCCESS;
    RowCodec codec;
    if (!RowCodec::find(b, dst, codec)) return GGML_STATUS_FAILED;
    if (!check_indexes(dst, dst->src[1], dst->ne[1])) return GGML_STATUS_FAILED;
    const int64_t rows = ggml_nrows(b), tasks = std::min(rows, 1 + ggml_nelements(b) / kParallelGrain);
    // Each thread walks all indexes and takes the target rows congruent to its number: no row has two
    // writers, and neighbouring targets, the usual case, spread evenly.
    ctx.team.run(int(std::min<int64_t>(tasks, ctx.team.n_threads())), [&](int ith, int nth) {
        for (int64_t row = 0; row < rows; ++row) {
            const RowIndex from = row_index(b, row), to = target_row(dst, from);
            if ((to.i1 + to.i2 + to.i3) % nth != ith) continue;
            codec.convert(row_at<char>(b, row_offset(b, from)), row_at<char>(dst, row_offset(dst, to)),
                          b->ne[0]);
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status set_rows_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * b = dst->src[0];
    if (ggml_is_empty(b)) return GGML_STATUS_SUCCESS;
    if (!check_indexes(dst, dst->src[1], dst->ne[1])) return GGML_STATUS_FAILED;
    for (int64_t row = 0; row < ggml_nrows(b); ++row) {
        const RowIndex r = row_index(b, row);
        const ggml_tensor from = row_tensor(b, r);
        ggml_tensor to = row_tensor(dst, target_row(dst, r));
        copy_tensor_reference(&from, &to);
    }
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kRows[] = {
    {GGML_OP_GET_ROWS, get_rows_supports, get_rows_kernel, get_rows_reference},
    {GGML_OP_SET_ROWS, set_rows_supports, set_rows_kernel, set_rows_reference},
};

} // namespace

Family family_rows() { return kRows; }

} // namespace ggml::cpu
