#include "ggml-ext-tools.h"
#include "ops/common/test_graph.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.low_rank_add.cpu";

Build low_rank(ggml_tensor * base, ggml_tensor * up, ggml_tensor * z, bool swapped = false) {
    return [=](ggml_context * ctx) {
        ggml_tensor * product = ggml_mul_mat(ctx, up, z);
        return swapped ? ggml_add(ctx, product, base) : ggml_add(ctx, base, product);
    };
}

// Sums of numbers below 1 in F32, whatever their order: an error of rank / 2 units in the last place.
void check(const Build & build, int64_t rank, const std::string & what) {
    EXPECT_EQ(fused_away(build), 1) << what;
    ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
        const std::string where = what + ", " + ggml::cpu::isa_name(isa);
        const Outcome one = run(build, {.n_threads = 1});
        expect_close_floats(one, run(build, {.fusion = false}), double(rank) * 1.2e-7, 1.2e-7, where);
        for (int n_threads = 2; n_threads <= 3; ++n_threads)
            expect_same_floats(run(build, {.n_threads = n_threads}), one, where);
    });
}

void check_refused(const Build & build, const std::string & what, const RunOptions & options = {}) {
    RunOptions plain = options;
    plain.fusion = false;
    EXPECT_EQ(fused_away(build, options), 0) << what;
    expect_same_floats(run(build, options), run(build, plain), what);
}

TEST(low_rank_add, gives_the_sum_of_the_two_nodes) {
    for (const int64_t rank : {1, 4, 16, 48, 130, 256}) {
        for (const int64_t n : {64, 65, 127, 400, 1152}) {
            for (const int64_t rows : {4, 6, 13}) {
                Inputs in{uint32_t(rank * n)};
                ggml_tensor *base = in.floats({n, rows, 1, 1}), *up = in.floats({rank, n, 1, 1}),
                            *z = in.floats({rank, rows, 1, 1});
                const std::string what =
                    std::to_string(rank) + ", " + std::to_string(n) + " x " + std::to_string(rows);
                check(low_rank(base, up, z), rank, what);
                check(low_rank(base, up, z, true), rank, what + ", swapped");
            }
        }
    }
}

TEST(low_rank_add, panels_and_rows_of_threads_fit_together) {
    Inputs in;
    check(low_rank(in.floats({2600, 131, 1, 1}), in.floats({48, 2600, 1, 1}), in.floats({48, 131, 1, 1})), 48,
          "several panels");
}

TEST(low_rank_add, reads_strided_rows) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded}) {
        for (const Rows others : {Rows::contiguous, Rows::padded})
            check(low_rank(in.floats({100, 9, 1, 1}, rows), in.floats({16, 100, 1, 1}, others),
                           in.floats({16, 9, 1, 1}, others)),
                  16, "strides");
    }
}

TEST(low_rank_add, keeps_nan_and_infinity_in_their_places) {
    Inputs in;
    ggml_tensor *base = in.floats({64, 8, 1, 1}), *up = in.floats({4, 64, 1, 1}),
                *z = in.floats({4, 8, 1, 1});
    at(base, 3, 1) = std::numeric_limits<float>::quiet_NaN();
    at(base, 4, 2) = std::numeric_limits<float>::infinity();
    at(z, 2, 5) = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> got = run(low_rank(base, up, z)).floats();
    for (int64_t i = 0; i < 64 * 8; ++i) {
        const int64_t row = i / 64, column = i % 64;
        EXPECT_EQ(std::isnan(got[size_t(i)]), row == 5 || (row == 1 && column == 3)) << i;
        EXPECT_EQ(std::isinf(got[size_t(i)]), row == 2 && column == 4) << i;
    }
}

TEST(low_rank_add, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *base = in.floats({64, 40, 1, 1}), *up = in.floats({16, 160, 1, 1}),
                *z = in.floats({16, 160, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        return low_rank(ggml_view_2d(ctx, base, 64, 30, base->nb[1], 2 * base->nb[1]),
                        ggml_view_2d(ctx, up, 16, 64, up->nb[1], up->nb[1]),
                        ggml_view_2d(ctx, z, 16, 30, z->nb[1], 0))(ctx);
    };
    const Outcome expected = run(build);
    for (const int n_threads : {1, 2, 3}) {
        for (ggml_tensor * over : {base, up, z}) {
            for (const size_t offset :
                 {size_t(0), size_t(32), base->nb[1], 2 * base->nb[1], 3 * base->nb[1]}) {
                const RunOptions options = {
                    .n_threads = n_threads, .result_in = over, .result_offset = offset};
                EXPECT_EQ(fused_away(build, options), 1);
                expect_same_floats(run(build, options), expected, "over an input");
            }
        }
    }
}

TEST(low_rank_add, fires_behind_a_shared_product_that_is_cut) {
    Inputs in;
    ggml_tensor *x = in.floats({40, 6, 1, 1}), *down = in.floats({40, 24, 1, 1}),
                *up = in.floats({8, 64, 1, 1}), *up2 = in.floats({16, 64, 1, 1}),
                *w = in.floats({40, 64, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        ggml_tensor * all = ggml_mul_mat(ctx, down, x);
        const auto part = [&](int64_t rank, size_t first) {
            return ggml_view_2d(ctx, all, rank, 6, all->nb[1], first * sizeof(float));
        };
        ggml_tensor * base = ggml_neg(ctx, ggml_mul_mat(ctx, w, x));
        ggml_tensor * y = low_rank(base, up, part(8, 0))(ctx);
        return low_rank(y, up2, part(16, 8))(ctx);
    };
    EXPECT_EQ(fused_away(build), 2);
    expect_close_floats(run(build, {.n_threads = 2}), run(build, {.fusion = false}), 1e-4, 1e-5,
                        "two layers");
}

TEST(low_rank_add, is_refused_when_somebody_else_reads_the_product) {
    Inputs in;
    ggml_tensor *base = in.floats({64, 6, 1, 1}), *up = in.floats({16, 64, 1, 1}),
                *z = in.floats({16, 6, 1, 1});
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * product = ggml_mul_mat(ctx, up, z);
            return ggml_concat(ctx, ggml_add(ctx, base, product), product, 0);
        },
        "a reader");
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * product = ggml_mul_mat(ctx, up, z);
            ggml_set_output(product);
            return ggml_add(ctx, base, product);
        },
        "an output");
    check_refused(
        [=](ggml_context * ctx) {
            ggml_tensor * product = ggml_mul_mat(ctx, up, z);
            return ggml_add(ctx, product, product);
        },
        "the product twice");
}

TEST(low_rank_add, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *base = in.floats({64, 6, 1, 1}), *up = in.floats({16, 64, 1, 1}),
                *z = in.floats({16, 6, 1, 1});
    check_refused(low_rank(in.floats({64, 1, 1, 1}), up, z, true), "the base is repeated");
    check_refused(low_rank(in.floats({64, 6, 1, 1}, Rows::sparse), up, z), "a base with gaps");
    check_refused(low_rank(base, in.tensor(GGML_TYPE_F16, {16, 64, 1, 1}), z), "a matrix of another type");
    check_refused(low_rank(in.floats({64, 3, 1, 1}), up, in.floats({16, 3, 1, 1})), "few rows");
    check_refused(low_rank(in.floats({63, 6, 1, 1}), in.floats({16, 63, 1, 1}), z), "few columns");
    check_refused(low_rank(base, in.floats({257, 64, 1, 1}), in.floats({257, 6, 1, 1})), "a high rank");
    check_refused(low_rank(in.floats({64, 6, 2, 1}), in.floats({16, 64, 2, 1}), in.floats({16, 6, 2, 1})),
                  "several matrices");
    check_refused([=](ggml_context * ctx) { return ggml_sub(ctx, base, ggml_mul_mat(ctx, up, z)); },
                  "a difference");
    check_refused(low_rank(base, up, z), "the rule is switched off", {.disabled = {kRule}});
}

ggml_tensor * fuzz_example(ggml_context * ctx, void * swapped) {
    ggml_tensor *base = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 8),
                *up = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 12, 64),
                *z = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 12, 8);
    for (ggml_tensor * t : {base, up, z}) ggml_set_input(t);
    return low_rank(base, up, z, *static_cast<bool *>(swapped))(ctx);
}

TEST(low_rank_add, stays_right_when_graphs_are_changed) {
    ggml_backend_ptr backend(ggml_backend_dev_init(cpu_device(), nullptr));
    int fired = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        bool swapped = seed % 2 == 0;
        ggml_ext_fuzz_options options = {};
        options.struct_size = sizeof(options);
        options.seed = seed;
        options.rounds = 1;
        options.tolerance = {1e-5, 1e-5, 1e-12};
        ggml_ext_fuzz_result result = {};
        ASSERT_EQ(ggml_ext_fuzz_rule(backend.get(), kRule, fuzz_example, &swapped, &options, &result),
                  GGML_EXT_SUCCESS)
            << ggml_ext_last_message();
        fired += result.fired;
        refused += result.refused;
        // Sums of another order overflow elsewhere: infinity here may be NaN there.
        if (std::string(result.mutation).starts_with("huge values")) continue;
        EXPECT_FALSE(result.found) << result.mutation << ", seed " << result.seed << ": " << result.message;
    }
    EXPECT_GT(fired, 0);
    EXPECT_GT(refused, 0);
}

} // namespace
} // namespace sd::test
