#include "backends/cpu/float_rows.h"

namespace ggml::cpu {
namespace {

template <class T>
T load(const char * p) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}

} // namespace

float read_float(ggml_type type, const char * p) {
    switch (type) {
    case GGML_TYPE_F32: return load<float>(p);
    case GGML_TYPE_F16: return half_to_float(load<uint16_t>(p));
    case GGML_TYPE_BF16: return bf16_to_float(load<uint16_t>(p));
    default: GGML_ABORT("elements of type %s are not floats", ggml_type_name(type));
    }
}

void write_float(ggml_type type, char * p, float value) {
    if (type == GGML_TYPE_F32) {
        std::memcpy(p, &value, sizeof(value));
        return;
    }
    GGML_ASSERT(type == GGML_TYPE_F16 || type == GGML_TYPE_BF16);
    const uint16_t bits = type == GGML_TYPE_F16 ? float_to_half(value) : float_to_bf16(value);
    std::memcpy(p, &bits, sizeof(bits));
}

const float * load_row(const ggml_tensor * t, const char * row, int64_t begin, int64_t n, float * buffer) {
    if (is_float_row(t)) return reinterpret_cast<const float *>(row) + begin;
    const size_t unit = ggml_type_size(t->type);
    if (t->nb[0] != unit) {
        for (int64_t i = 0; i < n; ++i) buffer[i] = read_float(t->type, row + size_t(begin + i) * t->nb[0]);
        return buffer;
    }
    const char * p = row + size_t(begin / ggml_blck_size(t->type)) * unit;
    switch (t->type) {
    case GGML_TYPE_F16: half_to_float_row(reinterpret_cast<const uint16_t *>(p), buffer, n); break;
    case GGML_TYPE_BF16: bf16_to_float_row(reinterpret_cast<const uint16_t *>(p), buffer, n); break;
    default: type_info(t->type).to_float(p, buffer, n); break;
    }
    return buffer;
}

void store_row(const ggml_tensor * t, char * row, int64_t begin, int64_t n, const float * values) {
    if (is_float_row(t)) {
        float * out = reinterpret_cast<float *>(row) + begin;
        if (out != values) std::memcpy(out, values, size_t(n) * sizeof(float));
        return;
    }
    const size_t unit = ggml_type_size(t->type);
    if (t->nb[0] != unit) {
        for (int64_t i = 0; i < n; ++i) write_float(t->type, row + size_t(begin + i) * t->nb[0], values[i]);
        return;
    }
    char * p = row + size_t(begin / ggml_blck_size(t->type)) * unit;
    switch (t->type) {
    case GGML_TYPE_F16: float_to_half_row(values, reinterpret_cast<uint16_t *>(p), n); break;
    case GGML_TYPE_BF16: float_to_bf16_row(values, reinterpret_cast<uint16_t *>(p), n); break;
    default: type_info(t->type).from_float(values, p, n); break;
    }
}

bool rows_touch(const ggml_tensor * t) {
    return t->nb[0] == ggml_type_size(t->type) &&
           (t->ne[1] == 1 || t->nb[1] == ggml_row_size(t->type, t->ne[0]));
}

void fold_rows(std::initializer_list<ggml_tensor *> tensors) {
    for (int step = 0; step < 3; ++step) {
        for (const ggml_tensor * t : tensors) {
            if (!rows_touch(t)) return;
        }
        for (ggml_tensor * t : tensors) drop_dim1(t, t->ne[0] * t->ne[1]);
    }
}

} // namespace ggml::cpu
