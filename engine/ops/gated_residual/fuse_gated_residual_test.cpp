#include "ggml-ext-tools.h"
#include "ops/common/test_graph.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <limits>

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.gated_residual.cpu";

Build residual(ggml_tensor * x, ggml_tensor * y, ggml_tensor * gate, bool swapped = false) {
    return [=](ggml_context * ctx) {
        ggml_tensor * branch = ggml_mul(ctx, y, gate);
        return swapped ? ggml_add(ctx, branch, x) : ggml_add(ctx, x, branch);
    };
}

void check(const Build & build, const std::string & what) {
    EXPECT_EQ(fused_away(build), 1) << what;
    ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
        const Outcome expected = run(build, {.fusion = false});
        for (int n_threads = 1; n_threads <= 3; ++n_threads)
            expect_same_floats(run(build, {.n_threads = n_threads}), expected,
                               what + ", " + ggml::cpu::isa_name(isa));
    });
}

void check_refused(const Build & build, const std::string & what, const RunOptions & options = {}) {
    RunOptions plain = options;
    plain.fusion = false;
    EXPECT_EQ(fused_away(build, options), 0) << what;
    expect_same_floats(run(build, options), run(build, plain), what);
}

TEST(gated_residual, gives_the_bits_of_the_two_nodes) {
    for (const int64_t n : {1, 3, 7, 16, 33, 100, 1025, 6144}) {
        for (const int64_t rows : {1, 3, 4, 9}) {
            Inputs in{uint32_t(n)};
            ggml_tensor *x = in.floats({n, rows, 2, 1}), *y = in.floats({n, rows, 2, 1});
            const std::string what = std::to_string(n) + " x " + std::to_string(rows);
            check(residual(x, y, in.floats({n, 1, 1, 1})), what);
            check(residual(x, y, in.floats({n, 1, 1, 1}), true), what + ", swapped");
        }
    }
}

TEST(gated_residual, shares_rows_between_threads) {
    Inputs in;
    check(residual(in.floats({256, 501, 1, 1}), in.floats({256, 501, 1, 1}), in.floats({256, 1, 1, 1})),
          "many rows");
}

TEST(gated_residual, repeats_gates_of_every_form) {
    Inputs in;
    ggml_tensor *x = in.floats({40, 6, 3, 2}), *y = in.floats({40, 6, 3, 2});
    for (const Sizes & ne : {Sizes{40, 1, 1, 2},
                             {40, 1, 3, 1},
                             {40, 6, 1, 1},
                             {40, 3, 3, 2},
                             {40, 6, 3, 2},
                             {1, 1, 1, 1},
                             {1, 6, 3, 1}})
        check(residual(x, y, in.floats(ne)), "gate of " + std::to_string(ne[0]));
}

TEST(gated_residual, reads_strided_rows) {
    Inputs in;
    for (const Rows x : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const Rows y : {Rows::contiguous, Rows::padded, Rows::permuted})
            check(residual(in.floats({70, 5, 3, 2}, x), in.floats({70, 5, 3, 2}, y),
                           in.floats({70, 1, 3, 2}, y)),
                  "strides");
    }
}

TEST(gated_residual, keeps_nan_infinity_and_zeros) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 5, 1, 1}), *y = in.floats({64, 5, 1, 1}),
                *gate = in.floats({64, 1, 1, 1});
    at(x, 3, 1) = std::numeric_limits<float>::quiet_NaN();
    at(y, 4, 1) = std::numeric_limits<float>::infinity();
    at(gate, 5) = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < 64; ++i) {
        at(y, i, 2) = -0.0f;
        at(x, i, 2) = -0.0f;
        at(y, i, 3) *= 1e38f;
        at(x, i, 3) *= 3e38f;
        at(y, i, 4) *= 1e-41f;
        at(x, i, 4) = 0.0f;
    }
    check(residual(x, y, gate), "special values");
}

TEST(gated_residual, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 33, 1, 1}), *y = in.floats({64, 33, 1, 1}),
                *g = in.floats({64, 40, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        return residual(ggml_view_2d(ctx, x, 64, 30, x->nb[1], 2 * x->nb[1]),
                        ggml_view_2d(ctx, y, 64, 30, y->nb[1], y->nb[1]),
                        ggml_view_1d(ctx, g, 64, g->nb[1]))(ctx);
    };
    const Outcome expected = run(build, {.fusion = false});
    for (const int n_threads : {1, 2, 3}) {
        for (ggml_tensor * over : {x, y, g}) {
            for (const size_t offset : {size_t(0), size_t(32), x->nb[1], 2 * x->nb[1], 3 * x->nb[1]}) {
                const RunOptions options = {
                    .n_threads = n_threads, .result_in = over, .result_offset = offset};
                EXPECT_EQ(fused_away(build, options), 1);
                expect_same_floats(run(build, options), expected, "over an input");
            }
        }
    }
}

TEST(gated_residual, fires_for_branches_one_after_another_with_computed_gates) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *y = in.floats({64, 6, 1, 1}), *a = in.floats({384, 1, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        ggml_tensor * table = ggml_neg(ctx, a);
        const auto gate = [&](size_t i) { return ggml_view_1d(ctx, table, 64, i * 64 * sizeof(float)); };
        ggml_tensor * h = residual(x, ggml_sin(ctx, y), gate(2))(ctx);
        // x of the second branch is computed between its product and its sum.
        ggml_tensor * branch = ggml_mul(ctx, ggml_sin(ctx, h), gate(5));
        return ggml_add(ctx, branch, ggml_neg(ctx, h));
    };
    EXPECT_EQ(fused_away(build), 2);
    expect_same_floats(run(build, {.n_threads = 2}), run(build, {.fusion = false}), "a block");
}

TEST(gated_residual, gives_the_bits_of_sums_in_place) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *y = in.floats({64, 6, 1, 1}),
                *gate = in.floats({64, 1, 1, 1});
    for (const bool over_product : {false, true}) {
        const Build build = [=](ggml_context * ctx) {
            ggml_tensor * branch = ggml_mul(ctx, y, gate);
            return over_product ? ggml_add_inplace(ctx, branch, x)
                                : ggml_add_inplace(ctx, ggml_neg(ctx, x), branch);
        };
        expect_same_floats(run(build, {.n_threads = 2}), run(build, {.fusion = false}), "in place");
    }
}

TEST(gated_residual, is_refused_when_somebody_else_reads_the_product) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *y = in.floats({64, 6, 1, 1}),
                *gate = in.floats({64, 1, 1, 1});
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * branch = ggml_mul(ctx, y, gate);
            return ggml_concat(ctx, ggml_add(ctx, x, branch), branch, 0);
        },
        "a reader");
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * branch = ggml_mul(ctx, y, gate);
            ggml_tensor * view = ggml_view_2d(ctx, branch, 64, 2, branch->nb[1], 0);
            return ggml_concat(ctx, ggml_add(ctx, x, branch), view, 1);
        },
        "a view");
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * branch = ggml_mul(ctx, y, gate);
            ggml_set_output(branch);
            return ggml_add(ctx, x, branch);
        },
        "an output");
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * branch = ggml_mul(ctx, y, gate);
            return ggml_add(ctx, branch, branch);
        },
        "the product twice");
}

TEST(gated_residual, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *row = in.floats({64, 1, 1, 1});
    check_refused(residual(x, x, in.floats({32, 1, 1, 1})), "a gate that repeats within rows");
    check_refused(residual(x, row, row), "the product is repeated over x");
    check_refused(residual(row, x, row, true), "x is repeated over the product");
    check_refused(residual(in.floats({64, 6, 1, 1}, Rows::sparse), x, row), "x with gaps");
    check_refused(residual(x, in.floats({64, 6, 1, 1}, Rows::sparse), row), "y with gaps");
    check_refused(residual(x, x, in.floats({64, 1, 1, 1}, Rows::sparse)), "a gate with gaps");
    check_refused(residual(x, x, in.tensor(GGML_TYPE_F16, {64, 1, 1, 1})), "a gate of another type");
    check_refused([=](ggml_context * ctx) { return ggml_sub(ctx, x, ggml_mul(ctx, x, row)); },
                  "a difference");
    check_refused([=](ggml_context * ctx) { return ggml_add(ctx, x, ggml_div(ctx, x, row)); }, "a quotient");
    check_refused(residual(x, x, row), "the rule is switched off", {.disabled = {kRule}});
}

ggml_tensor * fuzz_example(ggml_context * ctx, void * swapped) {
    ggml_tensor * x = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2);
    ggml_tensor *y = ggml_dup_tensor(ctx, x), *gate = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 1, 1, 2);
    for (ggml_tensor * t : {x, y, gate}) ggml_set_input(t);
    return residual(x, y, gate, *static_cast<bool *>(swapped))(ctx);
}

TEST(gated_residual, stays_right_when_graphs_are_changed) {
    ggml_backend_ptr backend(ggml_backend_dev_init(cpu_device(), nullptr));
    for (bool swapped : {false, true}) {
        ggml_ext_fuzz_options options = {};
        options.struct_size = sizeof(options);
        options.seed = swapped ? 1 : 2;
        options.rounds = 400;
        ggml_ext_fuzz_result result = {};
        ASSERT_EQ(ggml_ext_fuzz_rule(backend.get(), kRule, fuzz_example, &swapped, &options, &result),
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
