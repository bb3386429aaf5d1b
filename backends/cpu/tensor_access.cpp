// ggml_get/set_{i32,f32}_*: reading and writing single elements of host tensors. For tests and small inputs.
#include "ggml-cpu.h"
#include "runtime/base/half.h"
#include "runtime/tensor/layout.h"

#include <cstring>

namespace ggml::cpu {
namespace {

template <class T>
T load(const void * p) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}

template <class T>
void store(void * p, T value) {
    std::memcpy(p, &value, sizeof(T));
}

// Element types that hold one value each; V is int32_t or float. Integer results truncate as ggml's do.
template <class V>
V get_element(ggml_type type, const void * p) {
    switch (type) {
    case GGML_TYPE_I8: return V(load<int8_t>(p));
    case GGML_TYPE_I16: return V(load<int16_t>(p));
    case GGML_TYPE_I32: return V(load<int32_t>(p));
    case GGML_TYPE_I64: return V(load<int64_t>(p));
    case GGML_TYPE_F16: return V(half_to_float(load<uint16_t>(p)));
    case GGML_TYPE_BF16: return V(bf16_to_float(load<uint16_t>(p)));
    case GGML_TYPE_F32: return V(load<float>(p));
    case GGML_TYPE_F64: return V(load<double>(p));
    default: GGML_ABORT("elements of type %s cannot be read one by one", ggml_type_name(type));
    }
}

template <class V>
void set_element(ggml_type type, void * p, V value) {
    switch (type) {
    case GGML_TYPE_I8: return store(p, int8_t(value));
    case GGML_TYPE_I16: return store(p, int16_t(value));
    case GGML_TYPE_I32: return store(p, int32_t(value));
    case GGML_TYPE_I64: return store(p, int64_t(value));
    case GGML_TYPE_F16: return store(p, float_to_half(float(value)));
    case GGML_TYPE_BF16: return store(p, float_to_bf16(float(value)));
    case GGML_TYPE_F32: return store(p, float(value));
    case GGML_TYPE_F64: return store(p, double(value));
    default: GGML_ABORT("elements of type %s cannot be written one by one", ggml_type_name(type));
    }
}

// Indices are checked: a bad one would silently read or damage a neighbour.
char * element(const ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    GGML_ASSERT(t->data != nullptr);
    GGML_ASSERT(i0 >= 0 && i0 < t->ne[0] && i1 >= 0 && i1 < t->ne[1] && i2 >= 0 && i2 < t->ne[2] && i3 >= 0 &&
                i3 < t->ne[3]);
    return static_cast<char *>(t->data) + size_t(i0) * t->nb[0] + row_offset(t, {i1, i2, i3});
}

char * flat_element(const ggml_tensor * t, int i) {
    GGML_ASSERT(i >= 0 && i < ggml_nelements(t));
    int64_t i0, i1, i2, i3;
    ggml_unravel_index(t, i, &i0, &i1, &i2, &i3);
    return element(t, i0, i1, i2, i3);
}

template <class V>
void fill(ggml_tensor * t, V value) {
    if (ggml_is_empty(t)) return;
    for (int64_t row = 0; row < ggml_nrows(t); ++row) {
        char * p = row_at<char>(t, row_offset(t, row_index(t, row)));
        for (int64_t i = 0; i < t->ne[0]; ++i) set_element<V>(t->type, p + size_t(i) * t->nb[0], value);
    }
}

template <class V>
ggml_tensor * new_scalar(ggml_context * ctx, ggml_type type, V value) {
    GGML_ASSERT(!ggml_get_no_alloc(ctx));
    ggml_tensor * t = ggml_new_tensor_1d(ctx, type, 1);
    fill(t, value);
    return t;
}

} // namespace
} // namespace ggml::cpu

extern "C" {

ggml_tensor * ggml_new_i32(ggml_context * ctx, int32_t value) {
    return ggml::cpu::new_scalar<int32_t>(ctx, GGML_TYPE_I32, value);
}
ggml_tensor * ggml_new_f32(ggml_context * ctx, float value) {
    return ggml::cpu::new_scalar<float>(ctx, GGML_TYPE_F32, value);
}
ggml_tensor * ggml_set_i32(ggml_tensor * tensor, int32_t value) {
    ggml::cpu::fill<int32_t>(tensor, value);
    return tensor;
}
ggml_tensor * ggml_set_f32(ggml_tensor * tensor, float value) {
    ggml::cpu::fill<float>(tensor, value);
    return tensor;
}

int32_t ggml_get_i32_1d(const ggml_tensor * tensor, int i) {
    return ggml::cpu::get_element<int32_t>(tensor->type, ggml::cpu::flat_element(tensor, i));
}
void ggml_set_i32_1d(const ggml_tensor * tensor, int i, int32_t value) {
    ggml::cpu::set_element<int32_t>(tensor->type, ggml::cpu::flat_element(tensor, i), value);
}
int32_t ggml_get_i32_nd(const ggml_tensor * tensor, int i0, int i1, int i2, int i3) {
    return ggml::cpu::get_element<int32_t>(tensor->type, ggml::cpu::element(tensor, i0, i1, i2, i3));
}
void ggml_set_i32_nd(const ggml_tensor * tensor, int i0, int i1, int i2, int i3, int32_t value) {
    ggml::cpu::set_element<int32_t>(tensor->type, ggml::cpu::element(tensor, i0, i1, i2, i3), value);
}

float ggml_get_f32_1d(const ggml_tensor * tensor, int i) {
    return ggml::cpu::get_element<float>(tensor->type, ggml::cpu::flat_element(tensor, i));
}
void ggml_set_f32_1d(const ggml_tensor * tensor, int i, float value) {
    ggml::cpu::set_element<float>(tensor->type, ggml::cpu::flat_element(tensor, i), value);
}
float ggml_get_f32_nd(const ggml_tensor * tensor, int i0, int i1, int i2, int i3) {
    return ggml::cpu::get_element<float>(tensor->type, ggml::cpu::element(tensor, i0, i1, i2, i3));
}
void ggml_set_f32_nd(const ggml_tensor * tensor, int i0, int i1, int i2, int i3, float value) {
    ggml::cpu::set_element<float>(tensor->type, ggml::cpu::element(tensor, i0, i1, i2, i3), value);
}

} // extern "C"
