#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(interpolate, takes_any_size_and_stores_mode_with_flags) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 3, 2});
    const uint32_t mode =
        uint32_t(GGML_SCALE_MODE_BILINEAR) | GGML_SCALE_FLAG_ALIGN_CORNERS | GGML_SCALE_FLAG_ANTIALIAS;
    expect_node(ggml_interpolate(g, a, 5, 9, 3, 2, mode),
                {GGML_OP_UPSCALE, GGML_TYPE_F32, {5, 9, 3, 2}, {"a"}, {0x301}});
}

TEST(upscale, multiplies_width_and_height) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 3, 2});
    expect_node(ggml_upscale(g, a, 3, GGML_SCALE_MODE_BICUBIC),
                {GGML_OP_UPSCALE, GGML_TYPE_F32, {24, 18, 3, 2}, {"a"}, {2}});
    expect_stops({"ggml_upscale", "f32 [8, 6, 3, 2]"},
                 [&] { ggml_upscale(g, a, 1, GGML_SCALE_MODE_NEAREST); });
    expect_stops({"ggml_upscale"}, [&] {
        ggml_upscale(g, g.input("b", {int64_t(1) << 60, 1, 1, 1}), 4, GGML_SCALE_MODE_NEAREST);
    });
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    expect_node(ggml_upscale_ext(g, a, 4, 5, 3, 2, GGML_SCALE_MODE_NEAREST),
                {GGML_OP_UPSCALE, GGML_TYPE_F32, {4, 5, 3, 2}, {"a"}, {0}});
#pragma GCC diagnostic pop
}

TEST(interpolate, refuses_modes_types_and_sizes_that_do_not_exist) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 3, 2});
    for (const uint32_t mode : {uint32_t(GGML_SCALE_MODE_COUNT),
                                uint32_t(GGML_SCALE_MODE_BICUBIC) | GGML_SCALE_FLAG_ANTIALIAS, 1u << 10}) {
        expect_stops({"ggml_interpolate", "f32 [8, 6, 3, 2]"},
                     [&] { ggml_interpolate(g, a, 4, 4, 3, 2, mode); });
    }
    expect_stops({"ggml_interpolate"}, [&] { ggml_interpolate(g, a, -4, 4, 3, 2, 0); });
    expect_stops({"ggml_interpolate"}, [&] {
        ggml_interpolate(g, g.input("b", {8, 6, 1, 1}, GGML_TYPE_F16), 4, 4, 1, 1, 0);
    });
    expect_stops({"ggml_interpolate"}, [&] {
        ggml_interpolate(g, g.input("b", {0, 6, 1, 1}), 4, 4, 1, 1, 0);
    });
}

} // namespace
} // namespace ggml::test
