#include "ggml-backend.h"
#include "runtime/base/check.h"
#include "runtime/base/text.h"
#include "runtime/tensor/object.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>

namespace {

ggml_tensor * first_tensor_from(const ggml_object * object) {
    while (object != nullptr && object->type != GGML_OBJECT_TYPE_TENSOR) object = object->next;
    if (object == nullptr) return nullptr;
    return reinterpret_cast<ggml_tensor *>(const_cast<ggml_object *>(object) + 1);
}

} // namespace

ggml_tensor * ggml_get_first_tensor(const ggml_context * ctx) { return first_tensor_from(ctx->first); }

ggml_tensor * ggml_get_next_tensor(const ggml_context *, ggml_tensor * tensor) {
    return first_tensor_from((reinterpret_cast<const ggml_object *>(tensor) - 1)->next);
}

ggml_tensor * ggml_get_tensor(ggml_context * ctx, const char * name) {
    ggml_tensor * t = ggml_get_first_tensor(ctx);
    while (t != nullptr && std::strcmp(t->name, name) != 0) t = ggml_get_next_tensor(ctx, t);
    return t;
}

size_t ggml_get_max_tensor_size(const ggml_context * ctx) {
    size_t largest = 0;
    for (ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        largest = std::max(largest, ggml_nbytes(t));
    }
    return largest;
}

const char * ggml_get_name(const ggml_tensor * tensor) { return tensor->name; }

ggml_tensor * ggml_set_name(ggml_tensor * tensor, const char * name) {
    const size_t length = strnlen(name, sizeof(tensor->name) - 1);
    std::memmove(tensor->name, name, length); // the name may be the tensor's own
    tensor->name[length] = '\0';
    return tensor;
}

ggml_tensor * ggml_format_name(ggml_tensor * tensor, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const std::string name = ggml::format_text(fmt, args); // aside: an argument may be the tensor's own name
    va_end(args);
    return ggml_set_name(tensor, name.c_str());
}

void * ggml_get_data(const ggml_tensor * tensor) { return tensor->data; }

float * ggml_get_data_f32(const ggml_tensor * tensor) {
    GGML_SHAPE_CHECK(tensor->type == GGML_TYPE_F32, "ggml_get_data_f32", "the tensor does not hold f32",
                     tensor);
    return static_cast<float *>(tensor->data);
}

void ggml_set_input(ggml_tensor * tensor) { tensor->flags |= GGML_TENSOR_FLAG_INPUT; }

// The storage of an output belongs to its owner, so the owner must outlive the graph as well.
void ggml_set_output(ggml_tensor * tensor) {
    for (ggml_tensor * t = tensor; t != nullptr; t = t->view_src) t->flags |= GGML_TENSOR_FLAG_OUTPUT;
}

void ggml_set_param(ggml_tensor * tensor) {
    GGML_SHAPE_CHECK(tensor->op == GGML_OP_NONE, "ggml_set_param", "the tensor is the result of an operator",
                     tensor);
    tensor->flags |= GGML_TENSOR_FLAG_PARAM;
}

void ggml_set_loss(ggml_tensor * tensor) {
    GGML_SHAPE_CHECK(ggml_is_scalar(tensor) && tensor->type == GGML_TYPE_F32, "ggml_set_loss",
                     "a loss is one f32 number", tensor);
    tensor->flags |= GGML_TENSOR_FLAG_LOSS;
}

ggml_tensor * ggml_set_zero(ggml_tensor * tensor) {
    if (ggml_is_empty(tensor)) return tensor;
    if (tensor->buffer != nullptr) {
        ggml_backend_tensor_memset(tensor, 0, 0, ggml_nbytes(tensor));
        return tensor;
    }
    GGML_SHAPE_CHECK(tensor->data != nullptr, "ggml_set_zero", "the tensor has no memory", tensor);
    std::memset(tensor->data, 0, ggml_nbytes(tensor));
    return tensor;
}
