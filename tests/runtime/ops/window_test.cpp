#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(win_part, pads_to_whole_windows) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {768, 64, 50, 1});
    expect_node(ggml_win_part(g, a, 14),
                {GGML_OP_WIN_PART, GGML_TYPE_F32, {768, 14, 14, 20}, {"a"}, {5, 4, 14}});
    expect_stops({"ggml_win_part", "f32 [768, 64, 50, 1]"}, [&] { ggml_win_part(g, a, 0); });
    expect_stops({"ggml_win_part"}, [&] { ggml_win_part(g, g.input("b", {8, 8, 8, 2}), 4); });
    expect_stops({"ggml_win_part"}, [&] { ggml_win_part(g, g.input("b", {8, 8, 8, 1}, GGML_TYPE_F16), 4); });
}

TEST(win_unpart, needs_the_windows_of_that_image) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {768, 14, 14, 20});
    expect_node(ggml_win_unpart(g, a, 64, 50, 14),
                {GGML_OP_WIN_UNPART, GGML_TYPE_F32, {768, 64, 50, 1}, {"a"}, {14}});
    expect_stops({"ggml_win_unpart", "f32 [768, 14, 14, 20]"}, [&] { ggml_win_unpart(g, a, 64, 64, 14); });
    expect_stops({"ggml_win_unpart"}, [&] { ggml_win_unpart(g, a, 64, 50, 7); });
    expect_stops({"ggml_win_unpart"}, [&] { ggml_win_unpart(g, a, 64, 50, 0); });
}

TEST(get_rel_pos, looks_up_one_row_per_query_and_key) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {64, 27, 1, 1}, GGML_TYPE_F16);
    expect_node(ggml_get_rel_pos(g, a, 14, 14), {GGML_OP_GET_REL_POS, GGML_TYPE_F16, {64, 14, 14, 1}, {"a"}});
    expect_stops({"ggml_get_rel_pos", "f16 [64, 27, 1, 1]"}, [&] { ggml_get_rel_pos(g, a, 13, 13); });
    expect_stops({"ggml_get_rel_pos"}, [&] { ggml_get_rel_pos(g, a, 14, 13); });
}

TEST(add_rel_pos, matches_terms_to_the_attention_of_square_windows) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {196, 196, 12, 1});
    ggml_tensor * pw = g.input("pw", {14, 14, 14, 12});
    ggml_tensor * ph = g.input("ph", {14, 14, 14, 12});
    expect_node(ggml_add_rel_pos(g, a, pw, ph),
                {GGML_OP_ADD_REL_POS, GGML_TYPE_F32, {196, 196, 12, 1}, {"a", "pw", "ph"}, {0}});
    ggml_tensor * t = ggml_add_rel_pos_inplace(g, a, pw, ph);
    expect_in_place(t, a);
    expect_op_params(t, {1});
    expect_stops({"ggml_add_rel_pos", "f32 [196, 196, 11, 1]"}, [&] {
        ggml_add_rel_pos(g, g.input("b", {196, 196, 11, 1}), pw, ph);
    });
    expect_stops({"ggml_add_rel_pos"}, [&] { ggml_add_rel_pos(g, a, pw, g.input("b", {14, 14, 7, 12})); });
    expect_stops({"ggml_add_rel_pos"}, [&] { ggml_add_rel_pos(g, ggml_transpose(g, a), pw, ph); });
}

} // namespace
} // namespace ggml::test
