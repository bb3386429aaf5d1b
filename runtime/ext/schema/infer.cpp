#include "runtime/ext/schema/infer.h"

#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstring>

namespace ggml::ext {
namespace {

// A callback of C++ may throw where its type cannot say that it does not.
bool call(const ggml_ext_op & op, ggml_tensor * const * inputs, int n_inputs, const void * attrs,
          ggml_ext_output & output, Verdict & why) {
    try {
        return op.infer(inputs, n_inputs, attrs, &output, &why, op.user_data);
    } catch (...) {
        return refuse(&why, GGML_EXT_REASON_CALLBACK, -1, "infer threw an exception");
    }
}

bool check_type(const ggml_ext_op & op, const ggml_ext_output & output, Verdict & why) {
    int id; // as bytes, because an enum outside its range is no value
    static_assert(sizeof(id) == sizeof(output.type));
    std::memcpy(&id, &output.type, sizeof(id));
    if (id >= 0 && id < GGML_TYPE_COUNT && type_info(output.type).block > 0) return true;
    return refuse(&why, GGML_EXT_REASON_INFER_TYPE, -1, "operator %s: inference gave type id %d", op.name,
                  id);
}

bool check_shape(const ggml_ext_op & op, const Inferred & result, Verdict & why) {
    Strides strides;
    if (contiguous_strides(result.type, result.ne, strides)) return true;
    const TypeInfo & type = type_info(result.type);
    return refuse(&why, GGML_EXT_REASON_INFER_SHAPE, -1,
                  "operator %s: inference gave %s [%lld, %lld, %lld, %lld], with %lld elements to a block",
                  op.name, type.name, (long long)result.ne[0], (long long)result.ne[1],
                  (long long)result.ne[2], (long long)result.ne[3], (long long)type.block);
}

} // namespace

bool infer(const ggml_ext_op & op, ggml_tensor * const * inputs, int n_inputs, const void * attrs,
           Inferred & result, Verdict & why) {
    ggml_ext_output output = {GGML_TYPE_F32, {1, 1, 1, 1}};
    Verdict said;
    if (!call(op, inputs, n_inputs, attrs, output, said)) {
        return refuse(&why, GGML_EXT_REASON_INFER_FAILED, -1, "operator %s refuses its inputs: %s", op.name,
                      said.refused() ? said.words.c_str() : "it gave no reason");
    }
    if (!check_type(op, output, why)) return false;
    result.type = output.type;
    std::copy(output.ne, output.ne + GGML_MAX_DIMS, result.ne.begin());
    return check_shape(op, result, why);
}

} // namespace ggml::ext
