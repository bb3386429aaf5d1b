// The op_params of every builtin operator, as plain structs. Layouts equal ggml's, because programs written
// for ggml read and write op_params directly. Constructors write them with set_params, kernels read them with
// get_params; nobody indexes op_params by number.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ggml {

template <class P>
P get_params(const ggml_tensor * t) {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= GGML_MAX_OP_PARAMS);
    P params;
    std::memcpy(&params, t->op_params, sizeof(P));
    return params;
}

template <class P>
void set_params(ggml_tensor * t, const P & params) {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= GGML_MAX_OP_PARAMS);
    std::memcpy(t->op_params, &params, sizeof(P));
}

// ACC, SET: strides and byte offset of the written region of the destination.
struct RegionParams {
    int32_t nb1, nb2, nb3, offset, inplace;
};

struct ConcatParams {
    int32_t dim;
};
struct LeakyReluParams {
    float negative_slope;
};
struct UnaryParams {
    int32_t op;
}; // ggml_unary_op
struct XieluParams {
    int32_t op;
    float alpha_n, alpha_p, beta, eps;
}; // alphas after the softplus transform
// alpha and limit: SWIGLU_OAI only.
struct GluParams {
    int32_t op, swapped;
    float alpha, limit;
};
struct NormParams {
    float eps;
}; // NORM, RMS_NORM, L2_NORM
struct GroupNormParams {
    int32_t n_groups;
    float eps;
};
struct MulMatParams {
    int32_t prec, hint;
}; // ggml_prec, ggml_op_hint; MUL_MAT and MUL_MAT_ID
struct ScaleParams {
    float scale, bias;
};
struct ViewParams {
    size_t offset;
};
struct PermuteParams {
    int32_t axis[4];
};
struct DiagMaskParams {
    int32_t n_past;
};
struct SoftMaxParams {
    float scale, max_bias;
};

struct RopeParams {
    int32_t n_past; // always 0
    int32_t n_dims, mode;
    int32_t n_ctx; // always 0
    int32_t n_ctx_orig;
    float freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    int32_t sections[4];
    int32_t n_offs; // first rotated element, see ggml_rope_set_offset
};

struct ClampParams {
    float min, max;
};
struct Im2colParams {
    int32_t s0, s1, p0, p1, d0, d1, is_2d;
};
struct Im2col3dParams {
    int32_t s0, s1, s2, p0, p1, p2, d0, d1, d2, ic;
};
struct Col2im1dParams {
    int32_t s0, oc, p0;
};
struct ConvTranspose1dParams {
    int32_t s0, p0, d0;
};
struct ConvTranspose2dParams {
    int32_t stride;
};
struct Conv2dParams {
    int32_t s0, s1, p0, p1, d0, d1;
}; // CONV_2D, CONV_2D_DW
struct Conv3dParams {
    int32_t s0, s1, s2, p0, p1, p2, d0, d1, d2, ic, n, oc;
};
struct Pool1dParams {
    int32_t op, k0, s0, p0;
}; // ggml_op_pool
struct Pool2dParams {
    int32_t op, k0, k1, s0, s1, p0, p1;
};
struct UpscaleParams {
    int32_t mode;
}; // ggml_scale_mode | ggml_scale_flag
struct PadParams {
    int32_t lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3, circular;
};
struct PadReflect1dParams {
    int32_t p0, p1;
};
struct RollParams {
    int32_t shift[4];
};
struct TimestepEmbeddingParams {
    int32_t dim, max_period;
};
struct TriParams {
    int32_t type;
}; // ggml_tri_type
struct FillParams {
    float value;
};
struct ArgsortParams {
    int32_t order;
}; // ggml_sort_order
struct ArangeParams {
    float start, stop, step;
};
struct FlashAttnParams {
    float scale, max_bias, logit_softcap;
    int32_t prec;
};
struct WinPartParams {
    int32_t npx, npy, w;
};
struct WinUnpartParams {
    int32_t w;
};
struct AddRelPosParams {
    int32_t inplace;
};

// The gap before userdata is a member, so that every byte of op_params is determined and equal nodes compare
// equal.
template <class Fun>
struct CallParams {
    Fun fun;
    int32_t n_tasks;
    int32_t unused; // always 0
    void * userdata;
};
using MapCustom1Params = CallParams<ggml_custom1_op_t>;
using MapCustom2Params = CallParams<ggml_custom2_op_t>;
using MapCustom3Params = CallParams<ggml_custom3_op_t>;
using CustomParams = CallParams<ggml_custom_op_t>;
static_assert(sizeof(CustomParams) == 2 * sizeof(void *) + 2 * sizeof(int32_t), "no other gaps");

} // namespace ggml
