#include "runtime/ext/effects/effects.h"

#include "runtime/graph/graph.h"
#include "runtime/ops/extension_node.h"
#include "tests/runtime/graph/graph_maker.h"

#include <gtest/gtest.h>

namespace ggml::ext {
namespace {

using test::GraphMaker;

ggml_tensor * computed(ggml_tensor * node) {
    node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    return node;
}

ggml_tensor * f32(GraphMaker & m) { return ggml_new_tensor_2d(m.ctx(), GGML_TYPE_F32, 8, 8); }

TEST(ext_effects, of_numeric_operators_are_their_results) {
    GraphMaker m;
    ggml_tensor *a = f32(m), *b = f32(m);
    for (ggml_tensor * node : {ggml_add(m.ctx(), a, b), ggml_mul_mat(m.ctx(), a, b), ggml_silu(m.ctx(), a),
                               ggml_cast(m.ctx(), a, GGML_TYPE_F16), ggml_soft_max(m.ctx(), a)}) {
        const Effects effects = effects_of(computed(node));
        EXPECT_TRUE(effects.known && effects.runs_code && !effects.writes_view) << ggml_op_desc(node);
    }
}

TEST(ext_effects, of_in_place_forms_and_copies_lie_in_storage_of_others) {
    GraphMaker m;
    ggml_tensor *a = f32(m), *b = f32(m);
    ggml_tensor * rows = ggml_new_tensor_1d(m.ctx(), GGML_TYPE_I64, 8);
    for (ggml_tensor * node :
         {ggml_add_inplace(m.ctx(), a, b), ggml_cpy(m.ctx(), a, b), ggml_set_rows(m.ctx(), a, b, rows),
          ggml_set_2d_inplace(m.ctx(), a, b, a->nb[1], 0)}) {
        const Effects effects = effects_of(computed(node));
        EXPECT_TRUE(effects.known && effects.runs_code && effects.writes_view) << ggml_op_desc(node);
    }
}

TEST(ext_effects, views_and_what_is_not_computed_run_no_code) {
    GraphMaker m;
    ggml_tensor *a = f32(m), *b = f32(m);
    const auto runs = [](ggml_tensor * node) { return effects_of(node).runs_code; };
    EXPECT_FALSE(runs(computed(ggml_transpose(m.ctx(), a))));
    EXPECT_FALSE(runs(computed(ggml_reshape_1d(m.ctx(), a, 64))));
    EXPECT_FALSE(runs(a));
    EXPECT_FALSE(runs(ggml_add(m.ctx(), a, b))) << "no flag";
    EXPECT_TRUE(runs(computed(ggml_add(m.ctx(), a, b))));
    ggml_tensor * empty = ggml_view_2d(m.ctx(), a, 8, 0, a->nb[1], 0);
    EXPECT_FALSE(runs(computed(ggml_scale(m.ctx(), empty, 2.0f)))) << "no elements";
    EXPECT_FALSE(effects_of(ggml_add_inplace(m.ctx(), a, b)).writes_view) << "no flag";
}

TEST(ext_effects, functions_of_the_caller_may_do_anything) {
    GraphMaker m;
    ggml_tensor * a = f32(m);
    for (const ggml_op op : {GGML_OP_MAP_CUSTOM1, GGML_OP_MAP_CUSTOM2, GGML_OP_MAP_CUSTOM3, GGML_OP_CUSTOM,
                             GGML_OP_OPT_STEP_ADAMW, GGML_OP_SSM_SCAN, GGML_OP_RWKV_WKV7}) {
        EXPECT_FALSE(effects_of(computed(m.node(op, {a}))).known) << ggml_op_name(op);
    }
}

TEST(ext_effects, registered_operators_have_only_their_results) {
    GraphMaker m;
    static const ExtensionOpHead op{"test.op.v1"};
    ggml_tensor * node = m.node(GGML_OP_CUSTOM, {f32(m)});
    set_extension_op(node, &op, nullptr, 0);
    EXPECT_TRUE(effects_of(computed(node)).known);
}

TEST(ext_effects, name_the_sources_that_are_written) {
    GraphMaker m;
    ggml_tensor *a = f32(m), *b = f32(m);
    ggml_tensor * rows = ggml_new_tensor_1d(m.ctx(), GGML_TYPE_I64, 8);
    const auto written = [](const ggml_tensor * node) {
        std::vector<const ggml_tensor *> sources;
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (source_is_destination(node, j)) sources.push_back(node->src[j]);
        }
        return sources;
    };
    EXPECT_EQ(written(ggml_cpy(m.ctx(), a, b)), std::vector<const ggml_tensor *>{b});
    EXPECT_EQ(written(ggml_set_rows(m.ctx(), a, b, rows)), std::vector<const ggml_tensor *>{a});
    ggml_tensor * cast = ggml_cast(m.ctx(), a, GGML_TYPE_F16);
    EXPECT_EQ(written(cast), std::vector<const ggml_tensor *>{cast});
    EXPECT_TRUE(written(ggml_add_inplace(m.ctx(), a, b)).empty());
}

TEST(ext_effects, an_owner_with_an_address_or_a_buffer_is_placed) {
    GraphMaker m;
    ggml_tensor * a = f32(m);
    ggml_tensor * view = ggml_transpose(m.ctx(), a);
    EXPECT_FALSE(is_placed(view));
    a->data = a; // any address
    EXPECT_TRUE(is_placed(a) && is_placed(view));
    a->data = nullptr;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64);
    a->buffer = buffer;
    EXPECT_TRUE(is_placed(a) && is_placed(view));
    ggml_backend_buffer_free(buffer);
}

} // namespace
} // namespace ggml::ext
