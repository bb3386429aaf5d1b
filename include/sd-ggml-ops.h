// The image engine's operators as nodes of any graph: INT8 ConvRot linear layers, activation quantization,
// rotary embedding, modulation. Registered with a device, they are ordinary operators of ggml-ext.h: the
// scheduler places them, reserves their workspace and falls back to the CPU where a device has no kernel.
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

#ifndef SD_API
#    define SD_API GGML_API
#endif

// Registers every operator, and what this build has for the device: kernels and fusion rules. Calling it
// again for the same device changes nothing and succeeds. A device of a family without kernels succeeds too:
// its nodes fall back.
SD_API enum ggml_ext_status sd_ggml_register_extensions(ggml_backend_dev_t device);

// "sd.modulate.v1": (x + x * scale) + shift, each operation rounded to F32. x: F32 [n0, n1, n2, n3], rows may
// be strided. scale, shift: F32, each repeated over x dimension by dimension. shift may be NULL.
SD_API struct ggml_tensor * ggml_ext_modulate(struct ggml_context * ctx, struct ggml_tensor * x,
                                              struct ggml_tensor * shift, struct ggml_tensor * scale);

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

#ifdef __cplusplus
}
#endif
