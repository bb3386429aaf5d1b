// ADD_ID: dst[:, i1, i2, i3] = src0[:, i1, i2, i3] + src1[:, ids[i1, i2]]. Ids come from data, so one outside
// src1 is an error of the graph's input: the node fails before anything is written.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/binary/arithmetic.h"
#include "backends/cpu/kernels/binary/binary.h"
#include "runtime/base/log.h"

namespace ggml::cpu {
namespace {

int32_t id_at(const ggml_tensor * ids, int64_t i1, int64_t i2) {
    int32_t id;
    std::memcpy(&id, row_at<char>(ids, size_t(i1) * ids->nb[0] + size_t(i2) * ids->nb[1]), sizeof(id));
    return id;
}

bool ids_in_range(const ggml_tensor * dst) {
    const ggml_tensor *table = dst->src[1], *ids = dst->src[2];
    for (int64_t i2 = 0; i2 < dst->ne[2]; ++i2) {
        for (int64_t i1 = 0; i1 < dst->ne[1]; ++i1) {
            const int32_t id = id_at(ids, i1, i2);
            if (id >= 0 && id < table->ne[1]) continue;
            GGML_LOG_ERROR("ADD_ID '%s': id %d at [%lld, %lld] is outside the %lld rows of '%s'\n", dst->name,
                           id, (long long)i1, (long long)i2, (long long)table->ne[1], table->name);
            return false;
        }
    }
    return true;
}

} // namespace

bool add_id_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *table = dst->src[1], *ids = dst->src[2];
    if (a == nullptr || table == nullptr || ids == nullptr || !ggml_are_same_shape(a, dst)) return false;
    if (!is_plain_float(a->type) || !is_plain_float(table->type) || !is_plain_float(dst->type)) return false;
    return ids->type == GGML_TYPE_I32 && table->ne[0] == a->ne[0] && ids->ne[0] == a->ne[1] &&
           ids->ne[1] == a->ne[2];
}

ggml_status add_id_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *table = dst->src[1];
    if (!ids_in_range(dst)) return GGML_STATUS_FAILED;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * x = row_at<char>(a, row_offset(a, r));
        const char * y = row_at<char>(table, size_t(id_at(dst->src[2], r.i1, r.i2)) * table->nb[1]);
        char * z = row_at<char>(dst, row_offset(dst, r));
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            const float sum = read_float(a->type, x + size_t(i) * a->nb[0]) +
                              read_float(table->type, y + size_t(i) * table->nb[0]);
            write_float(dst->type, z + size_t(i) * dst->nb[0], sum);
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status add_id_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *table = dst->src[1];
    if (!ids_in_range(dst)) return GGML_STATUS_FAILED;
    for_each_block(ctx.team, dst, [&](RowIndex r, int64_t begin, int64_t n) {
        float a_buffer[kRowBlock], b_buffer[kRowBlock], y_buffer[kRowBlock];
        const char * b_row = row_at<char>(table, size_t(id_at(dst->src[2], r.i1, r.i2)) * table->nb[1]);
        char * row = row_at<char>(dst, row_offset(dst, r));
        float * y = result_row(dst, row, begin, y_buffer);
        const float * x = load_row(a, row_at<char>(a, row_offset(a, r)), begin, n, a_buffer);
        arithmetic_row(Arithmetic::add, x, load_row(table, b_row, begin, n, b_buffer), y, n);
        store_row(dst, row, begin, n, y);
    });
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
