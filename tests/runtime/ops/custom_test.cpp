#include "tests/runtime/ops/op_graph.h"

#include "runtime/ops/params.h"

namespace ggml::test {
namespace {

void map1(ggml_tensor *, const ggml_tensor *, int, int, void *) {}
void map2(ggml_tensor *, const ggml_tensor *, const ggml_tensor *, int, int, void *) {}
void map3(ggml_tensor *, const ggml_tensor *, const ggml_tensor *, const ggml_tensor *, int, int, void *) {}
void any(ggml_tensor *, int, int, void *) {}

class Custom : public ::testing::Test {
  protected:
    OpGraph g;
    int data = 0;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    ggml_tensor * b = g.input("b", {5, 1, 1, 1});
    ggml_tensor * c = g.input("c", {2, 2, 1, 1}, GGML_TYPE_F16);

    template <class Params, class Fun>
    void expect_call(const ggml_tensor * t, ggml_op op, Fun fun, int n_tasks,
                     std::vector<std::string> sources) {
        EXPECT_STREQ(ggml_op_name(t->op), ggml_op_name(op));
        const auto params = get_params<Params>(t);
        EXPECT_EQ(params.fun, fun);
        EXPECT_EQ(params.n_tasks, n_tasks);
        EXPECT_EQ(params.userdata, &data);
        expect_sources(t, sources);
    }
};

TEST_F(Custom, map_keeps_function_tasks_and_data) {
    expect_call<MapCustom1Params>(ggml_map_custom1(g, a, map1, 1, &data), GGML_OP_MAP_CUSTOM1, map1, 1,
                                  {"a"});
    expect_call<MapCustom2Params>(ggml_map_custom2(g, a, b, map2, 2, &data), GGML_OP_MAP_CUSTOM2, map2, 2,
                                  {"a", "b"});
    expect_call<MapCustom3Params>(ggml_map_custom3(g, a, b, c, map3, GGML_N_TASKS_MAX, &data),
                                  GGML_OP_MAP_CUSTOM3, map3, GGML_N_TASKS_MAX, {"a", "b", "c"});
    expect_in_place(ggml_map_custom1_inplace(g, a, map1, 1, &data), a);
    expect_in_place(ggml_map_custom2_inplace(g, a, b, map2, 1, &data), a);
    expect_in_place(ggml_map_custom3_inplace(g, a, b, c, map3, 1, &data), a);
    expect_stops({"ggml_map_custom1", "f32 [8, 3, 1, 1]"}, [&] { ggml_map_custom1(g, a, map1, 0, &data); });
}

TEST_F(Custom, every_byte_of_the_parameters_is_determined) {
    ggml_tensor * t = ggml_map_custom3(g, a, b, c, map3, 3, &data);
    ggml_tensor * same = ggml_map_custom3(g, a, b, c, map3, 3, &data);
    EXPECT_EQ(std::memcmp(t->op_params, same->op_params, sizeof(t->op_params)), 0);
    EXPECT_EQ(t->op_params[2], 3);
    EXPECT_EQ(t->op_params[3], 0);
}

TEST_F(Custom, free_form_has_any_shape_and_operands) {
    ggml_tensor * args[] = {c, b, a};
    ggml_tensor * t = ggml_custom_4d(g, GGML_TYPE_I32, 2, 3, 4, 5, args, 3, any, 4, &data);
    expect_call<CustomParams>(t, GGML_OP_CUSTOM, any, 4, {"c", "b", "a"});
    EXPECT_EQ(t->type, GGML_TYPE_I32);
    EXPECT_EQ(shape_of(t), (Shape{2, 3, 4, 5}));
    ggml_tensor * in_place = ggml_custom_inplace(g, a, args, 2, any, 4, &data);
    expect_call<CustomParams>(in_place, GGML_OP_CUSTOM, any, 4, {"a", "c", "b"});
    expect_in_place(in_place, a);
    EXPECT_EQ(ggml_custom_4d(g, GGML_TYPE_F32, 1, 1, 1, 1, nullptr, 0, any, 1, nullptr)->src[0], nullptr);
}

TEST_F(Custom, free_form_refuses_more_operands_than_a_node_holds) {
    std::vector<ggml_tensor *> args(GGML_MAX_SRC + 1, a);
    EXPECT_EQ(ggml_custom_4d(g, GGML_TYPE_F32, 1, 1, 1, 1, args.data(), GGML_MAX_SRC, any, 1, nullptr)
                  ->src[GGML_MAX_SRC - 1],
              a);
    expect_stops({"ggml_custom_4d"}, [&] {
        ggml_custom_4d(g, GGML_TYPE_F32, 1, 1, 1, 1, args.data(), GGML_MAX_SRC + 1, any, 1, nullptr);
    });
    expect_stops({"ggml_custom_4d"},
                 [&] { ggml_custom_4d(g, GGML_TYPE_F32, 1, 1, 1, 1, args.data(), -1, any, 1, nullptr); });
    expect_stops({"ggml_custom_4d"},
                 [&] { ggml_custom_4d(g, GGML_TYPE_F32, -1, 1, 1, 1, nullptr, 0, any, 1, nullptr); });
    expect_stops({"ggml_custom_inplace", "f32 [8, 3, 1, 1]"},
                 [&] { ggml_custom_inplace(g, a, args.data(), GGML_MAX_SRC, any, 1, nullptr); });
    expect_stops({"ggml_custom_inplace"},
                 [&] { ggml_custom_inplace(g, a, args.data(), 1, any, -2, nullptr); });
}

} // namespace
} // namespace ggml::test
