#include "tests/runtime/tensor/fixture.h"

#include <algorithm>
#include <array>

namespace {

class Predicates : public ggml::test::TensorTest {};

ggml_tensor shaped(std::array<int64_t, 4> ne, std::array<size_t, 4> nb, ggml_type type = GGML_TYPE_F32) {
    ggml_tensor t = {};
    t.type = type;
    std::copy(ne.begin(), ne.end(), t.ne);
    std::copy(nb.begin(), nb.end(), t.nb);
    return t;
}

// Columns: contiguous_0, _1, _2, to_1, to_2, to_3, contiguous rows, allocated without gaps, transposed,
// permuted, channels innermost.
struct Case {
    const char * what;
    ggml_tensor t;
    const char * expected;
};

std::string facts(const ggml_tensor * t) {
    std::string text;
    for (const bool fact :
         {ggml_is_contiguous_0(t), ggml_is_contiguous_1(t), ggml_is_contiguous_2(t),
          ggml_is_contiguous_to_1(t), ggml_is_contiguous_to_2(t), ggml_is_contiguous_to_3(t),
          ggml_is_contiguous_rows(t), ggml_is_contiguously_allocated(t), ggml_is_transposed(t),
          ggml_is_permuted(t), ggml_is_contiguous_channels(t)}) {
        text += fact ? '1' : '0';
    }
    return text;
}

TEST(predicates, of_layout_follow_the_table) {
    const Case cases[] = {
        {"contiguous", shaped({4, 3, 2, 5}, {4, 16, 48, 96}), "11111111000"},
        {"gap after dim 0", shaped({4, 3, 2, 5}, {4, 32, 96, 192}), "01110010000"},
        {"gap after dim 1", shaped({4, 3, 2, 5}, {4, 16, 64, 128}), "00111010000"},
        {"gap after dim 2", shaped({4, 3, 2, 5}, {4, 16, 48, 128}), "00011110000"},
        {"stride in dim 0", shaped({4, 3, 2, 5}, {8, 32, 96, 192}), "00000000000"},
        {"stride in dim 0 of length 1", shaped({1, 3, 2, 5}, {8, 4, 12, 24}), "11111111110"},
        {"strange strides of ones", shaped({4, 1, 1, 1}, {4, 999, 7, 3}), "11111111010"},
        {"transposed", shaped({3, 4, 2, 5}, {16, 4, 48, 96}), "00000001110"},
        {"planes swapped", shaped({4, 3, 5, 2}, {4, 16, 96, 48}), "00011011010"},
        {"channels innermost", shaped({4, 3, 5, 2}, {20, 80, 4, 240}), "00000001011"},
        {"quantized", shaped({64, 3, 2, 1}, {34, 68, 204, 408}, GGML_TYPE_Q8_0), "11111111000"},
        {"quantized, one block", shaped({32, 3, 2, 1}, {99, 34, 102, 204}, GGML_TYPE_Q8_0), "11111110110"},
    };
    for (const Case & c : cases) {
        EXPECT_EQ(facts(&c.t), c.expected) << c.what;
        EXPECT_EQ(ggml_is_contiguous(&c.t), ggml_is_contiguous_0(&c.t)) << c.what;
    }
}

TEST(predicates, of_shape_follow_the_table) {
    struct {
        std::array<int64_t, 4> ne;
        bool empty, scalar, vector, matrix, volume;
    } const cases[] = {
        {{1, 1, 1, 1}, false, true, true, true, true},    {{5, 1, 1, 1}, false, false, true, true, true},
        {{1, 5, 1, 1}, false, false, false, true, true},  {{5, 5, 1, 1}, false, false, false, true, true},
        {{1, 1, 5, 1}, false, false, false, false, true}, {{1, 1, 1, 5}, false, false, false, false, false},
        {{0, 1, 1, 1}, true, false, true, true, true},    {{5, 5, 5, 0}, true, false, false, false, false},
    };
    for (const auto & c : cases) {
        const ggml_tensor t = shaped(c.ne, {4, 4, 4, 4});
        EXPECT_EQ(ggml_is_empty(&t), c.empty);
        EXPECT_EQ(ggml_is_scalar(&t), c.scalar);
        EXPECT_EQ(ggml_is_vector(&t), c.vector);
        EXPECT_EQ(ggml_is_matrix(&t), c.matrix);
        EXPECT_EQ(ggml_is_3d(&t), c.volume);
    }
}

TEST(predicates, repetition_needs_whole_multiples_in_every_dimension) {
    struct {
        std::array<int64_t, 4> from, to;
        bool repeats;
    } const cases[] = {
        {{1, 1, 1, 1}, {7, 5, 3, 2}, true},  {{7, 1, 3, 1}, {7, 5, 3, 2}, true},
        {{2, 3, 1, 1}, {4, 9, 1, 1}, true},  {{2, 1, 1, 1}, {7, 5, 3, 2}, false},
        {{7, 5, 3, 2}, {7, 5, 3, 1}, false}, {{0, 1, 1, 1}, {0, 5, 1, 1}, true},
        {{0, 1, 1, 1}, {4, 5, 1, 1}, false}, {{4, 1, 1, 1}, {0, 5, 1, 1}, true},
    };
    for (const auto & c : cases) {
        const ggml_tensor from = shaped(c.from, {4, 4, 4, 4});
        const ggml_tensor to = shaped(c.to, {4, 4, 4, 4});
        EXPECT_EQ(ggml_can_repeat(&from, &to), c.repeats) << c.from[0] << " into " << c.to[0];
    }
}

TEST(predicates, same_shape_and_same_stride_look_at_all_four_dimensions) {
    const ggml_tensor base = shaped({2, 3, 4, 5}, {4, 8, 24, 96});
    for (int i = 0; i < 4; ++i) {
        ggml_tensor other = base;
        EXPECT_TRUE(ggml_are_same_shape(&base, &other));
        EXPECT_TRUE(ggml_are_same_stride(&base, &other));
        other.ne[i] += 1;
        EXPECT_FALSE(ggml_are_same_shape(&base, &other));
        other.nb[i] += 4;
        EXPECT_FALSE(ggml_are_same_stride(&base, &other));
    }
}

TEST_F(Predicates, view_is_a_tensor_with_a_source) {
    ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    EXPECT_FALSE(ggml_is_view(a));
    EXPECT_TRUE(ggml_is_view(ggml_view_tensor(ctx, a)));
}

} // namespace
