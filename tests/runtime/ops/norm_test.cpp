#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(norm, keeps_the_shape_and_stores_epsilon) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 2});
    const float eps = 1e-5f;
    const struct {
        ggml_tensor * (*make)(ggml_context *, ggml_tensor *, float);
        ggml_tensor * (*make_inplace)(ggml_context *, ggml_tensor *, float);
        ggml_op op;
    } cases[] = {
        {ggml_norm, ggml_norm_inplace, GGML_OP_NORM},
        {ggml_rms_norm, ggml_rms_norm_inplace, GGML_OP_RMS_NORM},
        {ggml_l2_norm, ggml_l2_norm_inplace, GGML_OP_L2_NORM},
    };
    for (const auto & c : cases) {
        expect_node(c.make(g, a, eps), {c.op, GGML_TYPE_F32, {8, 3, 2, 2}, {"a"}, {bits(eps)}});
        expect_in_place(c.make_inplace(g, a, eps), a);
        expect_described(c.make_inplace(g, a, eps), {c.op, GGML_TYPE_F32, {8, 3, 2, 2}, {"a"}, {bits(eps)}});
    }
}

TEST(group_norm, stores_groups_before_epsilon) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 32, 2});
    expect_node(ggml_group_norm(g, a, 4, 1e-6f),
                {GGML_OP_GROUP_NORM, GGML_TYPE_F32, {8, 3, 32, 2}, {"a"}, {4, bits(1e-6f)}});
    expect_in_place(ggml_group_norm_inplace(g, a, 4, 1e-6f), a);
    expect_stops({"ggml_group_norm", "f32 [8, 3, 32, 2]"}, [&] { ggml_group_norm(g, a, 0, 1e-6f); });
}

} // namespace
} // namespace ggml::test
