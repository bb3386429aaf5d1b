// Names and symbols of operators. Names are the enumerators without their prefix, so they are made from them;
// the symbols appear in drawings of graphs and equal ggml's.
#include "runtime/ops/build.h"

namespace ggml {
namespace {

struct OpNames {
    const char * name;
    const char * symbol;
};

OpNames op_names(ggml_op op) {
#define OP(id, symbol)                                                                                       \
    case GGML_OP_##id: return {#id, symbol};
    // clang-format off
    switch (op) {
    OP(NONE, "none")
    OP(DUP, "x")
    OP(ADD, "x+y")
    OP(ADD_ID, "x[i]+y")
    OP(ADD1, "x+y")
    OP(ACC, "view(x,nb,offset)+=y->x")
    OP(SUB, "x-y")
    OP(MUL, "x*y")
    OP(DIV, "x/y")
    OP(SQR, "x^2")
    OP(SQRT, "√x")
    OP(LOG, "log(x)")
    OP(SIN, "sin(x)")
    OP(COS, "cos(x)")
    OP(SUM, "Σx")
    OP(SUM_ROWS, "Σx_k")
    OP(CUMSUM, "cumsum(x)")
    OP(MEAN, "Σx/n")
    OP(ARGMAX, "argmax(x)")
    OP(COUNT_EQUAL, "count_equal(x)")
    OP(REPEAT, "repeat(x)")
    OP(REPEAT_BACK, "repeat_back(x)")
    OP(CONCAT, "concat(x, y)")
    OP(SILU_BACK, "silu_back(x)")
    OP(NORM, "norm(x)")
    OP(RMS_NORM, "rms_norm(x)")
    OP(RMS_NORM_BACK, "rms_norm_back(x)")
    OP(GROUP_NORM, "group_norm(x)")
    OP(L2_NORM, "l2_norm(x)")
    OP(MUL_MAT, "X*Y")
    OP(MUL_MAT_ID, "X[i]*Y")
    OP(OUT_PROD, "X*Y")
    OP(SCALE, "x*v")
    OP(SET, "y-\\>view(x)")
    OP(CPY, "x-\\>y")
    OP(CONT, "cont(x)")
    OP(RESHAPE, "reshape(x)")
    OP(VIEW, "view(x)")
    OP(PERMUTE, "permute(x)")
    OP(TRANSPOSE, "transpose(x)")
    OP(GET_ROWS, "get_rows(x)")
    OP(GET_ROWS_BACK, "get_rows_back(x)")
    OP(SET_ROWS, "set_rows(x)")
    OP(DIAG, "diag(x)")
    OP(DIAG_MASK_INF, "diag_mask_inf(x)")
    OP(DIAG_MASK_ZERO, "diag_mask_zero(x)")
    OP(SOFT_MAX, "soft_max(x)")
    OP(SOFT_MAX_BACK, "soft_max_back(x)")
    OP(ROPE, "rope(x)")
    OP(ROPE_BACK, "rope_back(x)")
    OP(CLAMP, "clamp(x)")
    OP(CONV_TRANSPOSE_1D, "conv_transpose_1d(x)")
    OP(IM2COL, "im2col(x)")
    OP(IM2COL_BACK, "im2col_back(x)")
    OP(IM2COL_3D, "im2col_3d(x)")
    OP(COL2IM_1D, "col2im_1d(x)")
    OP(CONV_2D, "conv_2d(x)")
    OP(CONV_3D, "conv_3d(x)")
    OP(CONV_2D_DW, "conv_2d_dw(x)")
    OP(CONV_TRANSPOSE_2D, "conv_transpose_2d(x)")
    OP(POOL_1D, "pool_1d(x)")
    OP(POOL_2D, "pool_2d(x)")
    OP(POOL_2D_BACK, "pool_2d_back(x)")
    OP(UPSCALE, "upscale(x)")
    OP(PAD, "pad(x)")
    OP(PAD_REFLECT_1D, "pad_reflect_1d(x)")
    OP(ROLL, "roll(x)")
    OP(ARANGE, "arange(start, stop, step)")
    OP(TIMESTEP_EMBEDDING, "timestep_embedding(timesteps, dim, max_period)")
    OP(ARGSORT, "argsort(x)")
    OP(TOP_K, "top_k(x)")
    OP(LEAKY_RELU, "leaky_relu(x)")
    OP(TRI, "tri(x)")
    OP(FILL, "fill(x, c)")
    OP(FLASH_ATTN_EXT, "flash_attn_ext(x)")
    OP(FLASH_ATTN_BACK, "flash_attn_back(x)")
    OP(SSM_CONV, "ssm_conv(x)")
    OP(SSM_SCAN, "ssm_scan(x)")
    OP(WIN_PART, "win_part(x)")
    OP(WIN_UNPART, "win_unpart(x)")
    OP(GET_REL_POS, "get_rel_pos(x)")
    OP(ADD_REL_POS, "add_rel_pos(x)")
    OP(RWKV_WKV6, "rwkv_wkv6(k, v, r, tf, td, s)")
    OP(GATED_LINEAR_ATTN, "gated_linear_attn(k, v, q, gate, s)")
    OP(RWKV_WKV7, "rwkv_wkv7(r, w, k, v, a, b, s)")
    OP(SOLVE_TRI, "A X = B, A triangular, solve X")
    OP(GATED_DELTA_NET, "gated_delta_net(q, k, v, g, beta, s)")
    OP(LIGHTNING_INDEXER, "lightning_indexer(q, k, weights, mask)")
    OP(DSV4_HC_COMB, "dsv4_hc_comb(mixes, scale, base)")
    OP(DSV4_HC_PRE, "dsv4_hc_pre(x, weights)")
    OP(DSV4_HC_POST, "dsv4_hc_post(x, residual, post, comb)")
    OP(UNARY, "unary(x)")
    OP(MAP_CUSTOM1, "map_custom(x)")
    OP(MAP_CUSTOM2, "map_custom(x,y)")
    OP(MAP_CUSTOM3, "map_custom(x,y,z)")
    OP(CUSTOM, "custom(x)")
    OP(CROSS_ENTROPY_LOSS, "cross_entropy_loss(x,y)")
    OP(CROSS_ENTROPY_LOSS_BACK, "cross_entropy_loss_back(x,y)")
    OP(OPT_STEP_ADAMW, "adamw(x)")
    OP(OPT_STEP_SGD, "sgd(x)")
    OP(GLU, "glu(x)")
    case GGML_OP_COUNT: break;
    }
    // clang-format on
#undef OP
    return {"UNKNOWN", "?"};
}

} // namespace
} // namespace ggml

const char * ggml_op_name(ggml_op op) { return ggml::op_names(op).name; }

const char * ggml_op_symbol(ggml_op op) { return ggml::op_names(op).symbol; }

const char * ggml_unary_op_name(ggml_unary_op op) {
#define OP(id)                                                                                               \
    case GGML_UNARY_OP_##id: return #id;
    switch (op) {
        // clang-format off
        OP(ABS)
        OP(SGN)
        OP(NEG)
        OP(STEP)
        OP(TANH)
        OP(ELU)
        OP(RELU)
        OP(SIGMOID)
        OP(GELU)
        OP(GELU_QUICK)
        OP(SILU)
        OP(HARDSWISH)
        OP(HARDSIGMOID)
        OP(EXP)
        OP(EXPM1)
        OP(SOFTPLUS)
        OP(GELU_ERF)
        OP(XIELU)
        OP(FLOOR)
        OP(CEIL)
        OP(ROUND)
        OP(TRUNC)
        // clang-format on
    case GGML_UNARY_OP_COUNT: break;
    }
#undef OP
    return "UNKNOWN";
}

const char * ggml_glu_op_name(ggml_glu_op op) {
#define OP(id)                                                                                               \
    case GGML_GLU_OP_##id: return #id;
    switch (op) {
        // clang-format off
        OP(REGLU)
        OP(GEGLU)
        OP(SWIGLU)
        OP(SWIGLU_OAI)
        OP(GEGLU_ERF)
        OP(GEGLU_QUICK)
        // clang-format on
    case GGML_GLU_OP_COUNT: break;
    }
#undef OP
    return "UNKNOWN";
}

const char * ggml_op_desc(const ggml_tensor * t) {
    if (t->op == GGML_OP_UNARY) return ggml_unary_op_name(ggml_get_unary_op(t));
    if (t->op == GGML_OP_GLU) return ggml_glu_op_name(ggml_get_glu_op(t));
    return ggml_op_name(t->op);
}
