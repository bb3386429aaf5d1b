#include "backends/cpu/kernels/rows/index.h"

#include "backends/cpu/kernels/copy/element.h"
#include "runtime/base/log.h"
#include "runtime/tensor/layout.h"

namespace ggml::cpu {

int64_t index_at(const ggml_tensor * indexes, int64_t i0, int64_t i1, int64_t i2) {
    const char * p = row_at<char>(indexes, size_t(i0) * indexes->nb[0] + row_offset(indexes, {i1, i2, 0}));
    return indexes->type == GGML_TYPE_I64 ? load_element<int64_t>(p) : int64_t(load_element<int32_t>(p));
}

bool check_indexes(const ggml_tensor * node, const ggml_tensor * indexes, int64_t n_rows) {
    for (int64_t i2 = 0; i2 < indexes->ne[2]; ++i2) {
        for (int64_t i1 = 0; i1 < indexes->ne[1]; ++i1) {
            for (int64_t i0 = 0; i0 < indexes->ne[0]; ++i0) {
                const int64_t index = index_at(indexes, i0, i1, i2);
                if (index >= 0 && index < n_rows) continue;
                GGML_LOG_ERROR("CPU: %s '%s': index %lld at [%lld, %lld, %lld] of '%s' is not in [0, %lld)\n",
                               ggml_op_desc(node), node->name, (long long)index, (long long)i0, (long long)i1,
                               (long long)i2, indexes->name, (long long)n_rows);
                return false;
            }
        }
    }
    return true;
}

} // namespace ggml::cpu
