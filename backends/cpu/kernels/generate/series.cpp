// ARANGE, TIMESTEP_EMBEDDING, FILL: kernels differ from the references in threading and in hoisting what does
// not change, not in arithmetic, so results are equal bit for bit.
#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/kernels/generate/generate.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cmath>

namespace ggml::cpu {
namespace {

float arange_value(const ArangeParams & p, int64_t i) { return p.start + p.step * float(i); }

float frequency(const TimestepEmbeddingParams & p, int64_t j) {
    const int half = p.dim / 2;
    return std::exp(-std::log(float(p.max_period)) * float(j) / float(half));
}

float timestep(const ggml_tensor * dst, int64_t i) {
    return load_element<float>(row_at<char>(dst->src[0], size_t(i) * dst->src[0]->nb[0]));
}

float * at(ggml_tensor * dst, int64_t i0, int64_t i1) {
    return row_at<float>(dst, size_t(i0) * dst->nb[0] + size_t(i1) * dst->nb[1]);
}

} // namespace

bool arange_supports(const ggml_tensor * dst) { return dst->type == GGML_TYPE_F32 && ggml_nrows(dst) == 1; }

ggml_status arange_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const auto p = get_params<ArangeParams>(dst);
    ctx.team.parallel_for(dst->ne[0], kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) *at(dst, i, 0) = arange_value(p, i);
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status arange_reference(const KernelContext &, ggml_tensor * dst) {
    const auto p = get_params<ArangeParams>(dst);
    for (int64_t i = 0; i < dst->ne[0]; ++i) *at(dst, i, 0) = arange_value(p, i);
    return GGML_STATUS_SUCCESS;
}

bool timestep_embedding_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<TimestepEmbeddingParams>(dst);
    return a != nullptr && a->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_F32 && dst->ne[0] == p.dim &&
           p.max_period > 0 && dst->ne[1] == a->ne[0] && dst->ne[2] == 1 && dst->ne[3] == 1;
}

size_t timestep_embedding_scratch(const ggml_tensor * dst, int) {
    return size_t(dst->ne[0] / 2) * sizeof(float);
}

ggml_status timestep_embedding_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const auto p = get_params<TimestepEmbeddingParams>(dst);
    const int64_t half = p.dim / 2;
    float * frequencies = reinterpret_cast<float *>(ctx.scratch.data());
    for (int64_t j = 0; j < half; ++j) frequencies[j] = frequency(p, j);
    // A sine and a cosine weigh as much as a hundred simple elements.
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / 100 / p.dim);
    ctx.team.parallel_for(dst->ne[1], grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const float t = timestep(dst, i);
            for (int64_t j = 0; j < half; ++j) {
                *at(dst, j, i) = std::cos(t * frequencies[j]);
                *at(dst, j + half, i) = std::sin(t * frequencies[j]);
            }
            if (p.dim % 2 != 0) *at(dst, 2 * half, i) = 0.0f;
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status timestep_embedding_reference(const KernelContext &, ggml_tensor * dst) {
    const auto p = get_params<TimestepEmbeddingParams>(dst);
    const int64_t half = p.dim / 2;
    for (int64_t i = 0; i < dst->ne[1]; ++i) {
        for (int64_t j = 0; j < half; ++j) {
            const float angle = timestep(dst, i) * frequency(p, j);
            *at(dst, j, i) = std::cos(angle);
            *at(dst, j + half, i) = std::sin(angle);
        }
        if (p.dim % 2 != 0) *at(dst, 2 * half, i) = 0.0f;
    }
    return GGML_STATUS_SUCCESS;
}

bool fill_supports(const ggml_tensor * dst) { return type_info(dst->type).block == 1; }

ggml_status fill_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const float value = get_params<FillParams>(dst).value;
    alignas(8) char unit[8];
    element_converter(GGML_TYPE_F32, dst->type)(&value, unit);
    const size_t size = type_info(dst->type).bytes;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    // A source stride of 0 repeats the value.
    if (ggml_is_contiguous(dst)) {
        ctx.team.parallel_for(ggml_nelements(dst), kParallelGrain, [&](int64_t begin, int64_t end) {
            move_units(unit, 0, row_at<char>(dst, size_t(begin) * size), size, end - begin, size);
        });
    } else {
        ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                move_units(unit, 0, row_at<char>(dst, row_offset(dst, row_index(dst, row))), dst->nb[0],
                           dst->ne[0], size);
            }
        });
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status fill_reference(const KernelContext &, ggml_tensor * dst) {
    const float value = get_params<FillParams>(dst).value;
    const ElementConvert convert = element_converter(GGML_TYPE_F32, dst->type);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        char * p = row_at<char>(dst, row_offset(dst, row_index(dst, row)));
        for (int64_t i = 0; i < dst->ne[0]; ++i) convert(&value, p + size_t(i) * dst->nb[0]);
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
