#include "runtime/ops/inplace.h"

namespace ggml {

// Kernels of these read an element, or a whole row, of every source before they write it. SCALE..FILL write
// each element once; RMS_NORM and SOFT_MAX work row by row; ROPE rotates pair by pair.
bool op_can_inplace(ggml_op op) {
    switch (op) {
    case GGML_OP_ADD:
    case GGML_OP_ADD_ID:
    case GGML_OP_ADD1:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_LOG:
    case GGML_OP_UNARY:
    case GGML_OP_SCALE:
    case GGML_OP_DIAG_MASK_INF:
    case GGML_OP_DIAG_MASK_ZERO:
    case GGML_OP_FILL:
    case GGML_OP_RMS_NORM:
    case GGML_OP_SOFT_MAX:
    case GGML_OP_ROPE: return true;
    default: return false;
    }
}

} // namespace ggml
