// The image engine's operators as nodes of any graph: INT8 and 4-bit ConvRot linear layers, activation
// quantization, rotary embedding, modulation. Registered with a device, they are ordinary operators of
// ggml-ext.h: the scheduler places them, reserves their workspace and falls back to the CPU where a device
// has no kernel.
//
//   sd_ggml_register_extensions(device);   // each device, before it is asked or used
//   q = ggml_quantize_i8_convrot(ctx, x, 256);
//   y = ggml_mul_mat_i8_tensorwise(ctx, w, q, w_scale, bias, 256, NULL);
//
// Shapes are in ggml order, ne[0] first; K input features, N output features. Every builder returns NULL,
// with one error line and ggml_ext_last_message, when types, shapes, groups or scale lengths do not fit;
// nothing is computed with a default instead. Results are F32, contiguous and new.
#pragma once

#include "ggml-ext.h"

// C++ callers may leave out the last argument where it has a default.
#ifdef __cplusplus
#    define SD_DEFAULT(value) = value
extern "C" {
#else
#    define SD_DEFAULT(value)
#endif

// As stable-diffusion.h has it.
#ifndef SD_API
#    if defined(_WIN32) && defined(SD_SHARED)
#        ifdef SD_BUILD
#            define SD_API __declspec(dllexport)
#        else
#            define SD_API __declspec(dllimport)
#        endif
#    elif defined(__GNUC__)
#        define SD_API __attribute__((visibility("default")))
#    else
#        define SD_API
#    endif
#endif

// Registers every operator, and what this build has for the device: kernels and fusion rules. Calling it
// again for the same device changes nothing and succeeds. A device of a family without kernels succeeds too:
// its nodes fall back.
SD_API enum ggml_ext_status sd_ggml_register_extensions(ggml_backend_dev_t device);

// "sd.modulate.v1": (x + x * scale) + shift, each operation rounded to F32. x: F32 [n0, n1, n2, n3], rows may
// be strided. scale, shift: F32, each repeated over x dimension by dimension. shift may be NULL.
SD_API struct ggml_tensor * ggml_ext_modulate(struct ggml_context * ctx, struct ggml_tensor * x,
                                              struct ggml_tensor * shift, struct ggml_tensor * scale);

// "sd.channel_rms_norm.v1": z = x / sqrt(mean over channels of x^2 + eps) * gamma at each pixel; with silu,
// z / (1 + e^-z). x: contiguous F32 [width, height, channels, batch]. gamma: F32, one element per channel.
// eps is finite and not negative.
SD_API struct ggml_tensor * ggml_ext_channel_rms_norm(struct ggml_context * ctx, struct ggml_tensor * x,
                                                      struct ggml_tensor * gamma, float eps, bool silu);

// "sd.rope_apply.v1": rotates pairs of the first 2 * pe->ne[2] elements of each row by tabled angles; the
// others are copied. x: F32 [head, heads, tokens, batch], rows may be strided. pe: F32 [2, 2, pairs, tokens],
// for each pair and token the matrix (cos, -sin; sin, cos) row by row. interleaved: pairs are (2i, 2i + 1),
// otherwise (i, i + pairs).
SD_API struct ggml_tensor * ggml_ext_rope_apply(struct ggml_context * ctx, struct ggml_tensor * x,
                                                struct ggml_tensor * pe, bool interleaved);

// "sd.quantize_i8_convrot.v1": rotates each row of x in runs of `group` (regular Hadamard matrix, a power of
// four that divides K; 1: no rotation) and quantizes it with one scale, max|.| / 127, ties to even. x: F32
// [K, rows...]. Result: I8 [K, R + ceil(4 * R / K)] with R the number of rows rounded up to a multiple of 4:
// R rows of codes (padding rows are zero), then R F32 scales.
SD_API struct ggml_tensor * ggml_quantize_i8_convrot(struct ggml_context * ctx, struct ggml_tensor * x,
                                                     int group);

// "sd.linear_i8.v1": y = float(sum_k x[k] * w[n][k]) * x_scale * w_scale[n] + bias[n], sums exact, in that
// order.
//   weight        I8 [K, N]
//   input         F32 [K, rows...]: rotated by convrot_group and quantized in scratch memory;
//                 I8 [K, rows...]: codes, with input_scale F32 [rows] or 1;
//                 or the result of ggml_quantize_i8_convrot with the same group
//   weight_scale  F32 with N elements, or NULL: 1;  bias  F32 with N elements, or NULL: none
//   convrot_group 0 or 1: not rotated
// Result: F32 [N, rows...] with the rows of the activations as they were before packing.
SD_API struct ggml_tensor * ggml_mul_mat_i8_tensorwise(struct ggml_context * ctx, struct ggml_tensor * weight,
                                                       struct ggml_tensor * input,
                                                       struct ggml_tensor * weight_scale,
                                                       struct ggml_tensor * bias, int convrot_group,
                                                       struct ggml_tensor * input_scale SD_DEFAULT(NULL));

// The layer as models use it: with a constant input scale c other than 1, x * c is quantized and the product
// is multiplied by 1 / c before the bias is added. x: F32, or packed when c is 1.
SD_API struct ggml_tensor * ggml_ext_linear_i8_tensorwise(struct ggml_context * ctx, struct ggml_tensor * x,
                                                          struct ggml_tensor * weight,
                                                          struct ggml_tensor * weight_scale,
                                                          struct ggml_tensor * bias, int convrot_group,
                                                          float scale SD_DEFAULT(1.0f));

// How "sd.sage_attn.v1" multiplies. Queries and keys are INT8 in every mode, after the mean of a head's keys
// was subtracted from them. A device that cannot run a mode does not support its nodes.
enum ggml_sage_attn_mode {
    // The best of these that the device has, or the one that all have: scales per warp of 32 queries and per
    // block of 64 keys, probabilities and values in F16.
    GGML_SAGE_ATTN_AUTO = 0,
    // SageAttention2: scales per thread, probabilities and values in FP8, sums in F32.
    GGML_SAGE_ATTN_2 = 1,
    // SageAttention2++: the same, but a block's sums in F16.
    GGML_SAGE_ATTN_2_PLUS_PLUS = 2,
};

// "sd.sage_attn.v1": approximately softmax(scale * q.k) v over all kv_tokens. q: F32 [head, tokens, heads,
// batch]; k, v: F32 or F16 [head, kv_tokens, kv_heads, batch], kv_heads divides heads; rows may be strided.
// head: 64 or 128. scale: positive, finite. mode: ggml_sage_attn_mode. Result: F32 [head, heads, tokens,
// batch]. The CPU does not run it: ask the device with ggml_backend_dev_supports_op before using the node.
SD_API struct ggml_tensor * ggml_sage_attn(struct ggml_context * ctx, struct ggml_tensor * q,
                                           struct ggml_tensor * k, struct ggml_tensor * v, float scale,
                                           int mode);

// "sd.sol_attn.v1": approximately softmax(scale * q.k) v, with keys summarized in blocks of 64 where the
// proxy score of a block is at most tau standard deviations above the mean. q, k, v: contiguous F32 [128,
// tokens, heads, batch]. scale: positive, finite. tau: finite. Result: F32 [128, heads, tokens, batch]. The
// CPU does not run it.
SD_API struct ggml_tensor * ggml_sol_attn(struct ggml_context * ctx, struct ggml_tensor * q,
                                          struct ggml_tensor * k, struct ggml_tensor * v, float scale,
                                          float tau);

// "sd.linear_w4_convrot.v1": a layer with packed 4-bit weights, which stay packed.
//   weight        I8 [K/2, N]: columns 2j and 2j + 1 in byte j, the even one in the low nibble
//   input         F32 [K, rows...]: a ggml_quantize_i8_convrot node is made for it; or the result of one with
//                 the same group, which any number of layers share, INT8 ones too
//   bias          F32 with N elements, or NULL: none
//   convrot_group a power of four that divides K; 1: not rotated
// convrot_w4a4: nibbles are signed. y = float(sum_k x[k] * w[n][k]) * x_scale * weight_scale[n] + bias[n],
// sums exact, in that order.
//   weight_scale  F32 with N elements; the next three are NULL
// asym_w4a8_int8: nibbles are indices. y = sum_g(relative[n][g] * sum_k codebook[w[n][k]] * x[k]) * x_scale *
// channel[n] + bias[n] with groups of 16 columns, K a multiple of 16.
//   weight_scale  NULL
//   codebook      F32 with 16 elements;  channel_scale  F32 with N elements
//   relative_scale  I8 [K/16, N], E4M3FN bytes; a NaN makes the results of its weight row NaN
// Result: F32 [N, rows...] with the rows of the activations as they were before packing.
SD_API struct ggml_tensor *
ggml_mul_mat_w4_convrot(struct ggml_context * ctx, struct ggml_tensor * weight, struct ggml_tensor * input,
                        struct ggml_tensor * weight_scale, struct ggml_tensor * codebook,
                        struct ggml_tensor * channel_scale, struct ggml_tensor * relative_scale,
                        struct ggml_tensor * bias, int convrot_group);

#ifdef __cplusplus
}
#endif
