#include "ggml.h"

#include "runtime/base/math.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/types.h"

namespace {

using Weighted = void (*)(const float * src, void * dst, int64_t n, const float * importance);

// Null: the type's best codes do not depend on importance (8 bits, or plain numbers).
Weighted weighted_codec(ggml_type type) {
    switch (type) {
    case GGML_TYPE_Q4_0: return ggml::float_to_q4_0_weighted;
    case GGML_TYPE_Q4_1: return ggml::float_to_q4_1_weighted;
    case GGML_TYPE_Q5_0: return ggml::float_to_q5_0_weighted;
    case GGML_TYPE_Q5_1: return ggml::float_to_q5_1_weighted;
    case GGML_TYPE_Q2_K: return ggml::float_to_q2_k_weighted;
    case GGML_TYPE_Q3_K: return ggml::float_to_q3_k_weighted;
    case GGML_TYPE_Q4_K: return ggml::float_to_q4_k_weighted;
    case GGML_TYPE_Q5_K: return ggml::float_to_q5_k_weighted;
    case GGML_TYPE_Q6_K: return ggml::float_to_q6_k_weighted;
    default: return nullptr;
    }
}

} // namespace

// No codec here needs tables, so there is nothing to prepare or to give back.
void ggml_quantize_init(ggml_type) {}
void ggml_quantize_free() {}

// Only types whose codebooks need an importance matrix would; they have no codec here.
bool ggml_quantize_requires_imatrix(ggml_type type) {
    return type == GGML_TYPE_IQ2_XXS || type == GGML_TYPE_IQ2_XS || type == GGML_TYPE_IQ1_S;
}

size_t ggml_quantize_chunk(ggml_type type, const float * src, void * dst, int64_t start, int64_t nrows,
                           int64_t n_per_row, const float * imatrix) {
    const ggml::TypeInfo & info = ggml::type_info(type);
    if (info.from_float == nullptr) GGML_ABORT("ggml_quantize_chunk: type %s cannot be written", info.name);
    if (start < 0 || nrows < 0 || n_per_row < 0 || (n_per_row > 0 && start % n_per_row != 0)) {
        GGML_ABORT("ggml_quantize_chunk: start %lld is not the start of a row of %lld (%lld rows)",
                   (long long)start, (long long)n_per_row, (long long)nrows);
    }
    const size_t row_bytes = ggml_row_size(type, n_per_row);
    if (nrows == 0 || n_per_row == 0) return 0;

    const Weighted weighted = imatrix ? weighted_codec(type) : nullptr;
    src += start;
    char * row = static_cast<char *>(dst) + size_t(start / n_per_row) * row_bytes;
    for (int64_t r = 0; r < nrows; ++r, src += n_per_row, row += row_bytes) {
        if (weighted) {
            weighted(src, row, n_per_row, imatrix);
        } else {
            info.from_float(src, row, n_per_row);
        }
    }
    return size_t(nrows) * row_bytes;
}
