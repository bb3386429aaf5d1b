#include "runtime/ops/build.h"

#include "runtime/tensor/types.h"

#include <algorithm>
#include <string>

namespace ggml {
namespace {

std::string describe_shape(ggml_type type, const Extents & ne) {
    std::string text = "no result of shape ";
    text += ggml_type_name(type);
    const char * separator = " [";
    for (const Extent & n : ne) {
        text += separator;
        text += n.valid() ? std::to_string(n.value()) : "too large";
        separator = ", ";
    }
    return text + "] is possible";
}

} // namespace

bool has_padded_rows(const ggml_tensor * t) {
    return t->nb[0] == ggml_type_size(t->type) && t->nb[2] == t->nb[1] * size_t(t->ne[1]) &&
           t->nb[3] == t->nb[2] * size_t(t->ne[2]);
}

ggml_tensor * new_result(ggml_context * ctx, const char * op, ggml_type type, const Extents & ne,
                         Operands operands) {
    bool possible = type_info(type).block > 0;
    Shape shape{};
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        possible = possible && ne[i].valid();
        shape[i] = ne[i].value();
    }
    Strides strides;
    if (!possible || !contiguous_strides(type, shape, strides)) {
        shape_failure(__FILE__, __LINE__, op, describe_shape(type, ne).c_str(), operands);
    }
    return ggml_new_tensor(ctx, type, GGML_MAX_DIMS, shape.data());
}

ggml_tensor * result_like(ggml_context * ctx, const char * op, ggml_tensor * a, bool inplace) {
    return inplace ? ggml_view_tensor(ctx, a) : new_result(ctx, op, a->type, extents_of(a), {a});
}

ggml_tensor * as_node(ggml_tensor * t, ggml_op op, std::initializer_list<ggml_tensor *> sources) {
    t->op = op;
    std::copy(sources.begin(), sources.end(), t->src);
    return t;
}

} // namespace ggml
