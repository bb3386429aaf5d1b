#include "ggml-ext-tools.h"
#include "ops/common/test_graph.h"
#include "sd-ggml-ops.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.rms_norm_mul_rope.cpu";

// A chain to fuse and the ways to spoil it.
struct Chain {
    ggml_tensor *x, *weight, *pe;
    bool interleaved = true;
    float eps = 1e-5f;
    bool mul_inplace = false, norm_inplace = false;
    // After the chain: called with norm, product and rotation; gives the graph's result.
    std::function<ggml_tensor *(ggml_context *, ggml_tensor *, ggml_tensor *, ggml_tensor *)> then = {};

    ggml_tensor * operator()(ggml_context * ctx) const {
        ggml_tensor * norm = norm_inplace ? ggml_rms_norm_inplace(ctx, x, eps) : ggml_rms_norm(ctx, x, eps);
        ggml_tensor * mul = mul_inplace ? ggml_mul_inplace(ctx, norm, weight) : ggml_mul(ctx, norm, weight);
        ggml_tensor * rope = ggml_ext_rope_apply(ctx, mul, pe, interleaved);
        return then ? then(ctx, norm, mul, rope) : rope;
    }
};

// The rule fires, and the bits are those of the three nodes, at every instruction set.
void check(const Build & build, const std::string & what) {
    EXPECT_EQ(fused_away(build), 2) << what;
    ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
        const Outcome expected = run(build, {.fusion = false});
        for (int n_threads = 1; n_threads <= 3; ++n_threads)
            expect_same_floats(run(build, {.n_threads = n_threads}), expected,
                               what + ", " + ggml::cpu::isa_name(isa));
    });
}

// The rule does not fire, and the result is that of the three nodes.
void check_refused(const Build & build, const std::string & what, const RunOptions & options = {}) {
    RunOptions plain = options;
    plain.fusion = false;
    EXPECT_EQ(fused_away(build, options), 0) << what;
    expect_same_floats(run(build, options), run(build, plain), what);
}

TEST(rms_norm_mul_rope, gives_the_bits_of_the_three_nodes) {
    for (const int64_t head : {1, 2, 7, 16, 33, 64, 100, 128, 1024, 1025, 2500}) {
        for (const int64_t pairs : {head / 2, head / 3}) {
            Inputs in{uint32_t(head)};
            Chain chain = {in.floats({head, 3, 4, 2}), in.floats({head, 1, 1, 1}),
                           in.floats({2, 2, pairs, 4})};
            const std::string what = "head " + std::to_string(head) + ", pairs " + std::to_string(pairs);
            check(chain, what);
            chain.interleaved = false;
            check(chain, what + ", halves");
        }
    }
}

TEST(rms_norm_mul_rope, shares_tokens_between_threads) {
    Inputs in;
    check(Chain{in.floats({128, 12, 70, 1}), in.floats({128, 1, 1, 1}), in.floats({2, 2, 64, 70})}, "tokens");
}

TEST(rms_norm_mul_rope, reads_strided_rows_and_tables) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const Rows table : {Rows::contiguous, Rows::padded, Rows::permuted, Rows::sparse}) {
            check(Chain{in.floats({70, 3, 5, 2}, rows), in.floats({70, 1, 1, 1}),
                        in.floats({2, 2, 33, 5}, table)},
                  "strides");
        }
    }
}

TEST(rms_norm_mul_rope, uses_the_epsilon_of_the_norm) {
    Inputs in;
    Chain chain = {in.floats({64, 2, 3, 1}, Rows::contiguous, -1e-3f, 1e-3f), in.floats({64, 1, 1, 1}),
                   in.floats({2, 2, 32, 3})};
    for (const float eps : {0.0f, 1e-12f, 1e-6f, 0.5f}) {
        chain.eps = eps;
        check(chain, "eps " + std::to_string(eps));
    }
}

TEST(rms_norm_mul_rope, keeps_nan_infinity_and_zero_rows_to_themselves) {
    Inputs in;
    Chain chain = {in.floats({64, 4, 3, 1}), in.floats({64, 1, 1, 1}), in.floats({2, 2, 32, 3})};
    at(chain.x, 7, 1, 0) = std::numeric_limits<float>::quiet_NaN();
    at(chain.x, 8, 2, 0) = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 64; ++i) {
        at(chain.x, i, 0, 1) = 0.0f;
        at(chain.x, i, 1, 1) *= 1e38f;
        at(chain.x, i, 2, 1) *= 1e-42f;
    }
    check(chain, "special rows");
    const std::vector<float> y = run(chain).floats();
    for (size_t i = 0; i < y.size(); ++i)
        EXPECT_TRUE(std::isfinite(y[i]) || i / 64 == 1 || i / 64 == 2) << "row " << i / 64;
}

TEST(rms_norm_mul_rope, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *x = in.floats({32, 3, 8, 2}), *pe = in.floats({2, 2, 16, 120}),
                *w = in.floats({1600, 1, 1, 1});
    const Build build = [&](ggml_context * ctx) {
        ggml_tensor * rows = ggml_view_4d(ctx, x, 32, 3, 8, 1, x->nb[1], x->nb[2], x->nb[3], 2 * x->nb[1]);
        ggml_tensor * table = ggml_view_4d(ctx, pe, 2, 2, 16, 8, pe->nb[1], pe->nb[2], pe->nb[3], pe->nb[3]);
        return Chain{rows, ggml_view_1d(ctx, w, 32, 64), table}(ctx);
    };
    const Outcome expected = run(build, {.fusion = false});
    for (const int n_threads : {1, 2, 3}) {
        for (const size_t offset : {size_t(0), x->nb[1], 2 * x->nb[1], 3 * x->nb[1]}) {
            for (ggml_tensor * over : {x, pe, w}) {
                const RunOptions options = {
                    .n_threads = n_threads, .result_in = over, .result_offset = offset};
                EXPECT_EQ(fused_away(build, options), 2);
                expect_same_floats(run(build, options), expected, "over an input");
            }
        }
    }
}

TEST(rms_norm_mul_rope, fires_when_the_product_is_written_over_the_norm) {
    Inputs in;
    Chain chain = {in.floats({64, 2, 3, 1}), in.floats({64, 1, 1, 1}), in.floats({2, 2, 32, 3})};
    chain.mul_inplace = true;
    check(chain, "product in place");
}

TEST(rms_norm_mul_rope, fires_when_weight_and_table_are_computed_in_between) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 5, 6, 1}), *scale = in.floats({64, 1, 1, 1});
    ggml_tensor *one = in.floats({1, 1, 1, 1}), *angles = in.floats({2, 2, 32, 6});
    for (const bool inplace : {false, true}) {
        const Build build = [&](ggml_context * ctx) {
            Chain chain = {x, ggml_add(ctx, scale, one), ggml_sin(ctx, ggml_scale(ctx, angles, 3.0f))};
            chain.mul_inplace = inplace;
            return chain(ctx);
        };
        check(build, inplace ? "product in place" : "product apart");
    }
}

TEST(rms_norm_mul_rope, fires_for_each_of_several_chains) {
    Inputs in;
    ggml_tensor *q = in.floats({64, 8, 6, 1}), *k = in.floats({64, 2, 6, 1}), *pe = in.floats({2, 2, 32, 6});
    ggml_tensor *wq = in.floats({64, 1, 1, 1}), *wk = in.floats({64, 1, 1, 1});
    const Build build = [&](ggml_context * ctx) {
        ggml_tensor * table = ggml_neg(ctx, pe);
        return ggml_concat(ctx, Chain{q, wq, table}(ctx), Chain{k, wk, table, false}(ctx), 1);
    };
    EXPECT_EQ(fused_away(build), 4);
    expect_same_floats(run(build, {.n_threads = 2}), run(build, {.fusion = false}), "two chains");
}

TEST(rms_norm_mul_rope, is_refused_when_somebody_else_reads_an_intermediate) {
    Inputs in;
    Chain chain = {in.floats({64, 2, 3, 1}), in.floats({64, 1, 1, 1}), in.floats({2, 2, 32, 3})};
    chain.then = [](ggml_context * ctx, ggml_tensor * norm, ggml_tensor *, ggml_tensor * rope) {
        return ggml_add(ctx, rope, norm);
    };
    check_refused(chain, "the norm is read");
    chain.then = [](ggml_context * ctx, ggml_tensor *, ggml_tensor * mul, ggml_tensor * rope) {
        return ggml_add(ctx, rope, mul);
    };
    check_refused(chain, "the product is read");
    chain.then = [](ggml_context * ctx, ggml_tensor *, ggml_tensor * mul, ggml_tensor * rope) {
        return ggml_add(ctx, rope, ggml_view_1d(ctx, mul, 64, 128));
    };
    check_refused(chain, "a view of the product is read");
}

TEST(rms_norm_mul_rope, is_refused_when_an_intermediate_is_an_output) {
    Inputs in;
    Chain chain = {in.floats({64, 2, 3, 1}), in.floats({64, 1, 1, 1}), in.floats({2, 2, 32, 3})};
    for (const bool the_norm : {false, true}) {
        chain.then = [the_norm](ggml_context *, ggml_tensor * norm, ggml_tensor * mul, ggml_tensor * rope) {
            ggml_set_output(the_norm ? norm : mul);
            return rope;
        };
        check_refused(chain, the_norm ? "the norm" : "the product");
    }
}

TEST(rms_norm_mul_rope, is_refused_for_weights_that_are_no_vector) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 2, 3, 1}), *pe = in.floats({2, 2, 32, 3});
    for (const Sizes & ne : {Sizes{1, 1, 1, 1}, {64, 2, 1, 1}, {64, 1, 3, 1}, {32, 1, 1, 1}, {64, 2, 3, 1}})
        check_refused(Chain{x, in.floats(ne), pe}, "weight of " + std::to_string(ne[0]));
    check_refused(Chain{x, in.floats({64, 1, 1, 1}, Rows::sparse), pe}, "a weight with gaps");
    check_refused(Chain{in.floats({64, 2, 3, 1}, Rows::sparse), in.floats({64, 1, 1, 1}), pe},
                  "rows with gaps");
}

TEST(rms_norm_mul_rope, is_refused_for_chains_that_use_their_own_intermediates) {
    Inputs in;
    // Shapes that fit by chance: the norm is a weight, the product a table.
    ggml_tensor *x = in.floats({64, 1, 1, 1}), *table = in.floats({2, 2, 32, 1});
    check_refused(
        [&](ggml_context * ctx) {
            ggml_tensor * norm = ggml_rms_norm(ctx, x, 1e-5f);
            return ggml_ext_rope_apply(ctx, ggml_mul(ctx, norm, norm), table, true);
        },
        "the norm squared");
    ggml_tensor *y = in.floats({2, 2, 1, 1}), *w = in.floats({2, 1, 1, 1});
    check_refused(
        [&](ggml_context * ctx) {
            ggml_tensor * mul = ggml_mul(ctx, ggml_rms_norm(ctx, y, 1e-5f), w);
            return ggml_ext_rope_apply(ctx, mul, mul, true);
        },
        "rotated by the product");
    check_refused(
        [&](ggml_context * ctx) {
            ggml_tensor * norm = ggml_rms_norm(ctx, y, 1e-5f);
            return ggml_ext_rope_apply(ctx, ggml_mul(ctx, norm, w), norm, true);
        },
        "rotated by the norm");
}

TEST(rms_norm_mul_rope, is_refused_for_swapped_factors_and_other_chains) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 1, 1, 1}), *w = in.floats({64, 1, 1, 1}), *pe = in.floats({2, 2, 32, 1});
    check_refused(
        [&](ggml_context * ctx) {
            return ggml_ext_rope_apply(ctx, ggml_mul(ctx, w, ggml_rms_norm(ctx, x, 1e-5f)), pe, true);
        },
        "the norm as second factor");
    check_refused(
        [&](ggml_context * ctx) {
            return ggml_ext_rope_apply(ctx, ggml_mul(ctx, ggml_norm(ctx, x, 1e-5f), w), pe, true);
        },
        "another norm");
    check_refused(
        [&](ggml_context * ctx) {
            return ggml_ext_modulate(ctx, ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), w), nullptr, w);
        },
        "another operator of the engine");
    Chain chain = {x, w, pe};
    check_refused(chain, "the rule is switched off", {.disabled = {kRule}});
}

TEST(rms_norm_mul_rope, is_refused_when_the_norm_writes_over_its_input) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 2, 3, 1}), *w = in.floats({64, 1, 1, 1}), *pe = in.floats({2, 2, 32, 3});
    check_refused(
        [&](ggml_context * ctx) {
            Chain chain = {ggml_neg(ctx, a), w, pe};
            chain.norm_inplace = true;
            return chain(ctx);
        },
        "norm in place");
}

TEST(rms_norm_mul_rope, is_refused_when_what_stands_between_needs_the_chain) {
    Inputs in;
    ggml_tensor *x = in.floats({4, 2, 3, 1}), *w = in.floats({4, 1, 1, 1});
    check_refused(
        [&](ggml_context * ctx) {
            ggml_tensor * mul = ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), w);
            // [4, 2, 3] has as many elements as a table of 2 pairs for 3 tokens.
            return ggml_ext_rope_apply(ctx, mul, ggml_reshape_4d(ctx, ggml_neg(ctx, mul), 2, 2, 2, 3), true);
        },
        "the table is made of the product");
}

// An example for the fuzzer; user_data: interleaved.
ggml_tensor * fuzz_example(ggml_context * ctx, void * interleaved) {
    ggml_tensor * x = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2);
    ggml_tensor * weight = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 32);
    ggml_tensor * pe = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 2, 12, 4);
    for (ggml_tensor * t : {x, weight, pe}) ggml_set_input(t);
    return Chain{x, weight, pe, *static_cast<bool *>(interleaved)}(ctx);
}

TEST(rms_norm_mul_rope, stays_right_when_graphs_are_changed) {
    ggml_backend_ptr backend(ggml_backend_dev_init(cpu_device(), nullptr));
    for (bool interleaved : {false, true}) {
        ggml_ext_fuzz_options options = {};
        options.struct_size = sizeof(options);
        options.seed = interleaved ? 1 : 2;
        options.rounds = 400;
        ggml_ext_fuzz_result result = {};
        ASSERT_EQ(ggml_ext_fuzz_rule(backend.get(), kRule, fuzz_example, &interleaved, &options, &result),
                  GGML_EXT_SUCCESS)
            << ggml_ext_last_message();
        EXPECT_FALSE(result.found) << result.mutation << ", seed " << result.seed << ": " << result.message;
        EXPECT_EQ(result.rounds, options.rounds);
        EXPECT_GT(result.fired, 0);
        EXPECT_GT(result.refused, 0);
    }
}

} // namespace
} // namespace sd::test
