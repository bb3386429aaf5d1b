#include "backends/cpu/kernels/matmul/matmul.h"

#include "backends/cpu/kernels/matmul/operands.h"
#include "backends/cpu/kernels/matmul/quant_format.h"
#include "runtime/base/log.h"

#include <cstring>

namespace ggml::cpu {
namespace matmul {
namespace {

bool known_weights(const ggml_tensor * t) {
    if (is_plain_float(t->type)) return true;
    return quant_info(t->type).index >= 0 && t->nb[0] == ggml_type_size(t->type) &&
           t->ne[0] % ggml_blck_size(t->type) == 0;
}

bool float_result(const ggml_tensor * dst) {
    return dst->type == GGML_TYPE_F32 && dst->nb[0] == sizeof(float);
}

bool repeats(const ggml_tensor * small, const ggml_tensor * big) {
    for (int i = 2; i < 4; ++i) {
        if (small->ne[i] == 0 ? big->ne[i] != 0 : big->ne[i] % small->ne[i] != 0) return false;
    }
    return true;
}

} // namespace

bool mul_mat_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    return known_weights(a) && is_plain_float(b->type) && float_result(dst) && a->ne[0] == b->ne[0] &&
           repeats(a, b) && dst->ne[0] == a->ne[1] && dst->ne[1] == b->ne[1] && dst->ne[2] == b->ne[2] &&
           dst->ne[3] == b->ne[3];
}

bool mul_mat_id_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1], *ids = dst->src[2];
    return known_weights(a) && is_plain_float(b->type) && float_result(dst) && ids->type == GGML_TYPE_I32 &&
           a->ne[0] == b->ne[0] && a->ne[3] == 1 && b->ne[3] == 1 && ids->ne[2] == 1 && ids->ne[3] == 1 &&
           ids->ne[1] == b->ne[2] && b->ne[1] > 0 && ids->ne[0] % b->ne[1] == 0 && dst->ne[0] == a->ne[1] &&
           dst->ne[1] == ids->ne[0] && dst->ne[2] == b->ne[2];
}

bool out_prod_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    return known_weights(a) && is_plain_float(b->type) && float_result(dst) && a->ne[1] == b->ne[1] &&
           repeats(a, b) && dst->ne[0] == a->ne[0] && dst->ne[1] == b->ne[0] && dst->ne[2] == b->ne[2] &&
           dst->ne[3] == b->ne[3];
}

int64_t expert_at(const ggml_tensor * dst, int64_t e, int64_t t) {
    const ggml_tensor * ids = dst->src[2];
    int32_t id;
    std::memcpy(&id, static_cast<const char *>(ids->data) + size_t(e) * ids->nb[0] + size_t(t) * ids->nb[1],
                sizeof id);
    if (id >= 0 && id < dst->src[0]->ne[2]) return id;
    GGML_LOG_ERROR("CPU: %s '%s': expert id %d (slot %lld of token %lld) is not in 0..%lld\n",
                   ggml_op_desc(dst), dst->name, id, (long long)e, (long long)t,
                   (long long)dst->src[0]->ne[2] - 1);
    return -1;
}

} // namespace matmul

Family family_matmul() {
    using namespace matmul;
    static constexpr OpKernels list[] = {
        {GGML_OP_MUL_MAT, mul_mat_supports, mul_mat, mul_mat_reference, mul_mat_scratch, reference_scratch},
        {GGML_OP_MUL_MAT_ID, mul_mat_id_supports, mul_mat_id, mul_mat_id_reference, mul_mat_id_scratch,
         reference_scratch},
        {GGML_OP_OUT_PROD, out_prod_supports, out_prod, out_prod_reference, out_prod_scratch,
         reference_scratch},
    };
    return list;
}

} // namespace ggml::cpu
