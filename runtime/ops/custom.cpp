// Operators whose kernel is a function of the caller.
#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <algorithm>

namespace ggml {
namespace {

void check_tasks(const char * name, int n_tasks, const ggml_tensor * a) {
    GGML_SHAPE_CHECK(n_tasks == GGML_N_TASKS_MAX || n_tasks > 0, name, "the number of tasks is not possible",
                     a);
}

template <class Params>
ggml_tensor * map(ggml_context * ctx, const char * name, ggml_op op, const Params & params, bool inplace,
                  std::initializer_list<ggml_tensor *> sources) {
    ggml_tensor * a = *sources.begin();
    check_tasks(name, params.n_tasks, a);
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    set_params(result, params);
    return as_node(result, op, sources);
}

// Appends the caller's operands after the `taken` sources the node already has.
ggml_tensor * custom(ggml_tensor * result, const char * name, int taken, ggml_tensor ** args, int n_args,
                     const CustomParams & params) {
    check_tasks(name, params.n_tasks, result);
    GGML_SHAPE_CHECK(n_args >= 0 && n_args <= GGML_MAX_SRC - taken, name, "there are too many operands",
                     result);
    set_params(result, params);
    result->op = GGML_OP_CUSTOM;
    std::copy(args, args + n_args, result->src + taken);
    return result;
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_map_custom1(ggml_context * ctx, ggml_tensor * a, ggml_custom1_op_t fun, int n_tasks,
                               void * userdata) {
    return ggml::map(ctx, "ggml_map_custom1", GGML_OP_MAP_CUSTOM1,
                     ggml::MapCustom1Params{fun, n_tasks, 0, userdata}, false, {a});
}

ggml_tensor * ggml_map_custom1_inplace(ggml_context * ctx, ggml_tensor * a, ggml_custom1_op_t fun,
                                       int n_tasks, void * userdata) {
    return ggml::map(ctx, "ggml_map_custom1", GGML_OP_MAP_CUSTOM1,
                     ggml::MapCustom1Params{fun, n_tasks, 0, userdata}, true, {a});
}

ggml_tensor * ggml_map_custom2(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_custom2_op_t fun,
                               int n_tasks, void * userdata) {
    return ggml::map(ctx, "ggml_map_custom2", GGML_OP_MAP_CUSTOM2,
                     ggml::MapCustom2Params{fun, n_tasks, 0, userdata}, false, {a, b});
}

ggml_tensor * ggml_map_custom2_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b,
                                       ggml_custom2_op_t fun, int n_tasks, void * userdata) {
    return ggml::map(ctx, "ggml_map_custom2", GGML_OP_MAP_CUSTOM2,
                     ggml::MapCustom2Params{fun, n_tasks, 0, userdata}, true, {a, b});
}

ggml_tensor * ggml_map_custom3(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c,
                               ggml_custom3_op_t fun, int n_tasks, void * userdata) {
    return ggml::map(ctx, "ggml_map_custom3", GGML_OP_MAP_CUSTOM3,
                     ggml::MapCustom3Params{fun, n_tasks, 0, userdata}, false, {a, b, c});
}

ggml_tensor * ggml_map_custom3_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c,
                                       ggml_custom3_op_t fun, int n_tasks, void * userdata) {
    return ggml::map(ctx, "ggml_map_custom3", GGML_OP_MAP_CUSTOM3,
                     ggml::MapCustom3Params{fun, n_tasks, 0, userdata}, true, {a, b, c});
}

ggml_tensor * ggml_custom_4d(ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
                             int64_t ne3, ggml_tensor ** args, int n_args, ggml_custom_op_t fun, int n_tasks,
                             void * userdata) {
    const char * name = "ggml_custom_4d";
    ggml_tensor * result = ggml::new_result(ctx, name, type, {ne0, ne1, ne2, ne3}, {});
    return ggml::custom(result, name, 0, args, n_args, {fun, n_tasks, 0, userdata});
}

ggml_tensor * ggml_custom_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor ** args, int n_args,
                                  ggml_custom_op_t fun, int n_tasks, void * userdata) {
    ggml_tensor * result = ggml_view_tensor(ctx, a);
    result->src[0] = a;
    return ggml::custom(result, "ggml_custom_inplace", 1, args, n_args, {fun, n_tasks, 0, userdata});
}
