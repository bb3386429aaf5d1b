#include "runtime/ext/effects/effects.h"

#include "runtime/graph/graph.h"
#include "runtime/ops/extension_node.h"

namespace ggml::ext {
namespace {

// Whether everything the operator reads is a source and everything it writes is its result. Written out
// without a default, so that a new operator is a compile error until somebody has decided.
bool touches_only_its_operands(const ggml_tensor * node) noexcept {
    // clang-format off
    switch (node->op) {
    case GGML_OP_NONE: case GGML_OP_RESHAPE: case GGML_OP_VIEW: case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
    // Results of their own, or over src[0] in their in-place forms.
    case GGML_OP_DUP: case GGML_OP_ADD: case GGML_OP_ADD_ID: case GGML_OP_ADD1: case GGML_OP_ACC:
    case GGML_OP_SUB: case GGML_OP_MUL: case GGML_OP_DIV: case GGML_OP_SQR: case GGML_OP_SQRT:
    case GGML_OP_LOG: case GGML_OP_SIN: case GGML_OP_COS: case GGML_OP_NORM: case GGML_OP_RMS_NORM:
    case GGML_OP_GROUP_NORM: case GGML_OP_L2_NORM: case GGML_OP_SCALE: case GGML_OP_SET:
    case GGML_OP_DIAG_MASK_INF: case GGML_OP_DIAG_MASK_ZERO: case GGML_OP_SOFT_MAX: case GGML_OP_ROPE:
    case GGML_OP_CLAMP: case GGML_OP_LEAKY_RELU: case GGML_OP_FILL: case GGML_OP_ADD_REL_POS:
    case GGML_OP_UNARY:
    // Results of their own.
    case GGML_OP_SUM: case GGML_OP_SUM_ROWS: case GGML_OP_CUMSUM: case GGML_OP_MEAN: case GGML_OP_ARGMAX:
    case GGML_OP_COUNT_EQUAL: case GGML_OP_REPEAT: case GGML_OP_CONCAT: case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID: case GGML_OP_OUT_PROD: case GGML_OP_CONT: case GGML_OP_GET_ROWS:
    case GGML_OP_DIAG: case GGML_OP_CONV_TRANSPOSE_1D: case GGML_OP_IM2COL: case GGML_OP_IM2COL_3D:
    case GGML_OP_COL2IM_1D: case GGML_OP_CONV_2D: case GGML_OP_CONV_3D: case GGML_OP_CONV_2D_DW:
    case GGML_OP_CONV_TRANSPOSE_2D: case GGML_OP_POOL_1D: case GGML_OP_POOL_2D: case GGML_OP_UPSCALE:
    case GGML_OP_PAD: case GGML_OP_PAD_REFLECT_1D: case GGML_OP_ROLL: case GGML_OP_ARANGE:
    case GGML_OP_TIMESTEP_EMBEDDING: case GGML_OP_ARGSORT: case GGML_OP_TOP_K: case GGML_OP_TRI:
    case GGML_OP_FLASH_ATTN_EXT: case GGML_OP_WIN_PART: case GGML_OP_WIN_UNPART: case GGML_OP_GET_REL_POS:
    case GGML_OP_GLU:
    // Their result is a view of the source they write.
    case GGML_OP_CPY: case GGML_OP_SET_ROWS: return true;

    // Registered operators have one result and no other effects; functions of the caller may do anything.
    case GGML_OP_CUSTOM: return extension_op(node) != nullptr;
    case GGML_OP_MAP_CUSTOM1: case GGML_OP_MAP_CUSTOM2: case GGML_OP_MAP_CUSTOM3: return false;

    // Optimizer steps change several sources at once.
    case GGML_OP_OPT_STEP_ADAMW: case GGML_OP_OPT_STEP_SGD:
    // Nothing here makes these, so what their kernels write is up to whoever does: recurrent operators may
    // keep their state in a source.
    case GGML_OP_REPEAT_BACK: case GGML_OP_SILU_BACK: case GGML_OP_RMS_NORM_BACK:
    case GGML_OP_GET_ROWS_BACK: case GGML_OP_SOFT_MAX_BACK: case GGML_OP_ROPE_BACK:
    case GGML_OP_IM2COL_BACK: case GGML_OP_POOL_2D_BACK: case GGML_OP_FLASH_ATTN_BACK:
    case GGML_OP_SSM_CONV: case GGML_OP_SSM_SCAN: case GGML_OP_RWKV_WKV6: case GGML_OP_GATED_LINEAR_ATTN:
    case GGML_OP_RWKV_WKV7: case GGML_OP_SOLVE_TRI: case GGML_OP_GATED_DELTA_NET:
    case GGML_OP_LIGHTNING_INDEXER: case GGML_OP_DSV4_HC_COMB: case GGML_OP_DSV4_HC_PRE:
    case GGML_OP_DSV4_HC_POST: case GGML_OP_CROSS_ENTROPY_LOSS: case GGML_OP_CROSS_ENTROPY_LOSS_BACK:
    case GGML_OP_COUNT: return false;
    }
    // clang-format on
    return false; // a number outside the list
}

} // namespace

const ggml_tensor * storage_owner(const ggml_tensor * tensor) noexcept {
    while (tensor->view_src != nullptr) tensor = tensor->view_src;
    return tensor;
}

bool is_placed(const ggml_tensor * tensor) noexcept {
    const ggml_tensor * owner = storage_owner(tensor);
    return owner->data != nullptr || owner->buffer != nullptr;
}

Effects effects_of(const ggml_tensor * node) noexcept {
    Effects effects;
    effects.known = touches_only_its_operands(node);
    effects.runs_code = !op_is_metadata_only(node->op) && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 &&
                        !ggml_is_empty(node);
    effects.writes_view = effects.runs_code && node->view_src != nullptr;
    return effects;
}

bool source_is_destination(const ggml_tensor * node, int j) noexcept {
    switch (node->op) {
    case GGML_OP_CPY: return j == 1;
    case GGML_OP_SET_ROWS: return j == 2;
    default: return false;
    }
}

} // namespace ggml::ext
