#include "ops/rope_apply/schema.h"

#include "ops/common/test_graph.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sd::test {
namespace {

const std::vector<std::string> kNames = {
#define X(name, load, rotate, steps) name,
#include "ops/rope_apply/kernels.inc"
#undef X
};

// Every kernel that takes x, both pairings, at every instruction set, on one to three threads.
void check(ggml_tensor * x, ggml_tensor * pe, const std::string & what) {
    for (const bool interleaved : {false, true}) {
        const Build build = [&](ggml_context * ctx) { return ggml_ext_rope_apply(ctx, x, pe, interleaved); };
        const Outcome expected = reference(build, rope_apply_reference);
        for (const std::string & name : kNames) {
            if (name == "sd.rope_apply.simd" && x->nb[0] != 4) continue;
            ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
                for (int n_threads = 1; n_threads <= 3; ++n_threads) {
                    const RunOptions options = {.n_threads = n_threads, .disabled = all_but(kNames, name)};
                    expect_same_floats(run(build, options), expected,
                                       what + (interleaved ? ", interleaved, " : ", halves, ") + name + ", " +
                                           ggml::cpu::isa_name(isa));
                }
            });
        }
    }
}

TEST(rope_apply, gives_the_bits_of_the_reference_for_whole_and_partial_rotations) {
    for (const int64_t head : {1, 2, 3, 5, 8, 15, 30, 32, 33, 64, 100, 128, 257}) {
        for (const int64_t pairs : {head / 2, head / 3, head / 7, int64_t(1), int64_t(0)}) {
            if (2 * pairs > head) continue;
            Inputs in{uint32_t(head)};
            check(in.floats({head, 3, 4, 2}), in.floats({2, 2, pairs, 4}),
                  "head " + std::to_string(head) + ", pairs " + std::to_string(pairs));
        }
    }
}

TEST(rope_apply, shares_tokens_between_threads) {
    Inputs in;
    check(in.floats({128, 6, 101, 2}), in.floats({2, 2, 64, 101}), "many tokens");
    check(in.floats({40, 1500, 1, 1}), in.floats({2, 2, 17, 1}), "one token");
    check(in.floats({2300, 3, 5, 2}), in.floats({2, 2, 1150, 5}), "long rows");
}

TEST(rope_apply, reads_strided_rows_and_tables) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted, Rows::sparse}) {
        for (const Rows table : {Rows::contiguous, Rows::padded, Rows::permuted, Rows::sparse}) {
            check(in.floats({70, 3, 5, 2}, rows), in.floats({2, 2, 33, 5}, table), "strides");
        }
    }
}

TEST(rope_apply, turns_a_pair_by_the_angle_of_its_matrix) {
    Inputs in;
    ggml_tensor *x = in.tensor(GGML_TYPE_F32, {4, 1, 1, 1}), *pe = in.tensor(GGML_TYPE_F32, {2, 2, 2, 1});
    for (int i = 0; i < 2; ++i) { // a quarter turn, then an eighth
        const float angle = i == 0 ? 1.57079633f : 0.785398163f;
        at(pe, 0, 0, i) = std::cos(angle);
        at(pe, 1, 0, i) = -std::sin(angle);
        at(pe, 0, 1, i) = std::sin(angle);
        at(pe, 1, 1, i) = std::cos(angle);
    }
    for (int i = 0; i < 4; ++i) at(x, i) = float(i + 1);
    const auto result = [&](bool interleaved) {
        return run([&](ggml_context * ctx) { return ggml_ext_rope_apply(ctx, x, pe, interleaved); }).floats();
    };
    const float r = std::sqrt(0.5f);
    const std::vector<float> neighbours = {-2, 1, -1 * r, 7 * r}, halves = {-3, -2 * r, 1, 6 * r};
    const std::vector<float> by_neighbours = result(true), by_halves = result(false);
    ASSERT_EQ(by_neighbours.size(), 4u);
    ASSERT_EQ(by_halves.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(by_neighbours[i], neighbours[i], 1e-6) << i;
        EXPECT_NEAR(by_halves[i], halves[i], 1e-6) << i;
    }
}

TEST(rope_apply, keeps_nan_and_infinity_to_their_pairs) {
    Inputs in;
    ggml_tensor *x = in.floats({48, 2, 3, 1}), *pe = in.floats({2, 2, 20, 3});
    at(x, 5, 1, 0) = std::numeric_limits<float>::quiet_NaN();
    at(x, 9, 0, 1) = std::numeric_limits<float>::infinity();
    at(x, 45, 1, 2) = -std::numeric_limits<float>::infinity();
    at(x, 2, 0, 2) = std::numeric_limits<float>::denorm_min();
    at(pe, 1, 0, 4, 2) = std::numeric_limits<float>::quiet_NaN();
    check(x, pe, "special values");
    const Outcome got = run([&](ggml_context * ctx) { return ggml_ext_rope_apply(ctx, x, pe, true); });
    int n_bad = 0;
    for (const float y : got.floats()) n_bad += !std::isfinite(y);
    EXPECT_EQ(n_bad, 2 + 2 + 1 + 2) << "of the last, element 8 in both heads of a token";
}

TEST(rope_apply, of_nothing_is_nothing) {
    Inputs in;
    for (const Sizes & ne : {Sizes{0, 2, 3, 1}, {8, 0, 3, 1}, {8, 2, 0, 1}, {8, 2, 3, 0}}) {
        ggml_tensor *x = in.floats(ne), *pe = in.floats({2, 2, ne[0] / 2, ne[2]});
        const Outcome got = run([&](ggml_context * ctx) { return ggml_ext_rope_apply(ctx, x, pe, true); });
        EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
        EXPECT_EQ(got.ne, ne);
        EXPECT_TRUE(got.bytes.empty());
    }
}

TEST(rope_apply, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *x = in.floats({32, 3, 8, 2}), *pe = in.floats({2, 2, 14, 120});
    const Build build = [&](ggml_context * ctx) {
        ggml_tensor * rows = ggml_view_4d(ctx, x, 32, 3, 8, 1, x->nb[1], x->nb[2], x->nb[3], 2 * x->nb[1]);
        ggml_tensor * table = ggml_view_4d(ctx, pe, 2, 2, 14, 8, pe->nb[1], pe->nb[2], pe->nb[3], pe->nb[3]);
        return ggml_ext_rope_apply(ctx, rows, table, true);
    };
    const Outcome expected = reference(build, rope_apply_reference);
    for (const std::string & name : kNames) {
        for (const int n_threads : {1, 2, 3}) {
            RunOptions options = {.n_threads = n_threads, .disabled = all_but(kNames, name)};
            for (const size_t offset : {size_t(0), x->nb[1], 2 * x->nb[1], 3 * x->nb[1]}) {
                options.result_offset = offset;
                for (ggml_tensor * over : {x, pe}) {
                    options.result_in = over;
                    expect_same_floats(run(build, options), expected, name + " over an input");
                }
            }
        }
    }
}

TEST(rope_apply, stops_when_the_caller_says_so) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 4, 8, 1}), *pe = in.floats({2, 2, 32, 8});
    const Build build = [&](ggml_context * ctx) { return ggml_ext_rope_apply(ctx, x, pe, false); };
    EXPECT_EQ(run(build, {.abort = [](void *) { return true; }}).status, GGML_STATUS_ABORTED);
}

TEST(rope_apply, refuses_what_does_not_fit_with_the_shapes) {
    ggml::test::LogCapture log;
    Inputs in;
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor *x = in.floats({8, 2, 4, 1}), *pe = in.floats({2, 2, 4, 4});
    const auto refused = [&](ggml_tensor * a, ggml_tensor * table, const char * words) {
        EXPECT_EQ(ggml_ext_rope_apply(ctx.get(), a, table, true), nullptr);
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        const std::string text = ggml_ext_last_message();
        EXPECT_NE(text.find(words), std::string::npos) << text;
        EXPECT_NE(text.find("x is "), std::string::npos) << text;
    };
    refused(nullptr, pe, "must be F32");
    refused(x, nullptr, "pe is none");
    refused(in.tensor(GGML_TYPE_F16, {8, 2, 4, 1}), pe, "f16 [8, 2, 4, 1]");
    refused(x, in.tensor(GGML_TYPE_F16, {2, 2, 4, 4}), "must be F32");
    refused(x, in.floats({2, 2, 5, 4}),
            "more pairs than the rows of x: x is f32 [8, 2, 4, 1], pe is f32 [2, 2, 5, 4]");
    refused(x, in.floats({2, 2, 4, 1}), "differ in tokens");
    refused(x, in.floats({4, 1, 4, 4}), "2 x 2");
    refused(ggml_view_4d(ctx.get(), x, 4, 1, 4, 1, x->nb[1], x->nb[2], x->nb[3], 2), pe, "between floats");
}

} // namespace
} // namespace sd::test
