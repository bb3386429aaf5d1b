#include "ops/modulate/schema.h"

#include "ops/common/test_graph.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <limits>

namespace sd::test {
namespace {

const std::vector<std::string> kNames = {
#define X(name, entry, steps) name,
#include "ops/modulate/kernels.inc"
#undef X
};

// Every kernel that takes these operands, at every instruction set, on one to three threads.
void check(ggml_tensor * x, ggml_tensor * scale, ggml_tensor * shift, const std::string & what) {
    const Build build = [&](ggml_context * ctx) { return ggml_ext_modulate(ctx, x, shift, scale); };
    const Outcome expected = reference(build, modulate_reference);
    for (const std::string & name : kNames) {
        const bool unit = x->nb[0] == 4 && scale->nb[0] == 4 && (shift == nullptr || shift->nb[0] == 4);
        if (name == "sd.modulate.simd" && !unit) continue;
        ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
            for (int n_threads = 1; n_threads <= 3; ++n_threads) {
                const Outcome got = run(build, {.n_threads = n_threads, .disabled = all_but(kNames, name)});
                expect_same_floats(got, expected, what + ", " + name + ", " + ggml::cpu::isa_name(isa));
            }
        });
    }
}

TEST(modulate, gives_the_bits_of_the_reference_for_every_length) {
    for (const int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100, 4095, 4096, 4097, 9001}) {
        Inputs in{uint32_t(n)};
        ggml_tensor *x = in.floats({n, 3, 2, 1}), *s = in.floats({n, 1, 1, 1}), *t = in.floats({n, 1, 1, 1});
        check(x, s, t, "n " + std::to_string(n));
        check(x, s, nullptr, "no shift, n " + std::to_string(n));
    }
}

TEST(modulate, repeats_scale_and_shift_in_every_dimension) {
    Inputs in;
    ggml_tensor * x = in.floats({24, 4, 3, 2});
    const Sizes sizes[] = {{1, 1, 1, 1},  {24, 1, 1, 1}, {1, 4, 1, 1},  {8, 1, 1, 1},  {3, 2, 1, 1},
                           {24, 4, 3, 2}, {24, 2, 3, 1}, {12, 1, 3, 2}, {24, 1, 1, 2}, {1, 1, 1, 2}};
    for (const Sizes & scale : sizes) {
        for (const Sizes & shift : sizes) {
            check(x, in.floats(scale), in.floats(shift),
                  "scale " + std::to_string(scale[0]) + ", shift " + std::to_string(shift[0]));
        }
    }
    check(in.floats({1, 5, 1, 1}), in.floats({1, 5, 1, 1}), in.floats({1, 1, 1, 1}), "rows of one element");
}

TEST(modulate, shares_rows_and_pieces_of_rows_between_threads) {
    Inputs in;
    ggml_tensor *x = in.floats({37, 500, 3, 2}, Rows::padded), *s = in.floats({37, 1, 3, 1});
    check(x, s, in.floats({37, 250, 1, 2}, Rows::padded), "many rows");
    check(in.floats({150001, 1, 1, 1}), in.floats({1, 1, 1, 1}), in.floats({150001, 1, 1, 1}), "one row");
}

TEST(modulate, reads_strided_operands) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted, Rows::sparse}) {
        ggml_tensor * x = in.floats({37, 3, 5, 2}, rows);
        for (const Rows others : {Rows::contiguous, Rows::padded, Rows::permuted, Rows::sparse}) {
            check(x, in.floats({37, 3, 5, 1}, others), in.floats({37, 1, 5, 2}, others), "strides");
        }
    }
}

TEST(modulate, rounds_the_product_and_both_sums) {
    // 1 + x * scale in one rounding, or x * (1 + scale), would give other bits.
    Inputs in;
    ggml_tensor *x = in.tensor(GGML_TYPE_F32, {32, 1, 1, 1}), *s = in.tensor(GGML_TYPE_F32, {32, 1, 1, 1});
    ggml_tensor * t = in.tensor(GGML_TYPE_F32, {32, 1, 1, 1});
    for (int i = 0; i < 32; ++i) {
        at(x, i) = 1.0f + 1.1920929e-07f;  // 1 + 2^-23
        at(s, i) = -1.0f + 5.9604645e-08f; // -1 + 2^-24: the product rounds to -1
        at(t, i) = 0.25f;
    }
    check(x, s, t, "cancellation");
    const Outcome got = run([&](ggml_context * ctx) { return ggml_ext_modulate(ctx, x, nullptr, s); });
    for (const float y : got.floats()) EXPECT_EQ(y, 1.1920929e-07f);
}

TEST(modulate, keeps_nan_and_infinity_to_their_elements) {
    Inputs in;
    ggml_tensor *x = in.floats({50, 2, 1, 1}), *s = in.floats({50, 1, 1, 1}), *t = in.floats({50, 1, 1, 1});
    at(x, 3, 1) = std::numeric_limits<float>::quiet_NaN();
    at(x, 20) = std::numeric_limits<float>::infinity();
    at(x, 49) = -std::numeric_limits<float>::infinity();
    at(x, 7) = std::numeric_limits<float>::max();
    at(x, 8) = -0.0f;
    at(x, 9) = std::numeric_limits<float>::denorm_min();
    at(s, 30) = std::numeric_limits<float>::infinity();
    at(t, 40) = std::numeric_limits<float>::quiet_NaN();
    check(x, s, t, "special values");
}

TEST(modulate, of_nothing_is_nothing) {
    Inputs in;
    ggml_tensor *x = in.floats({16, 0, 2, 1}), *s = in.floats({16, 1, 1, 1});
    const Outcome got = run([&](ggml_context * ctx) { return ggml_ext_modulate(ctx, x, nullptr, s); });
    EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(got.ne, (Sizes{16, 0, 2, 1}));
    EXPECT_TRUE(got.bytes.empty());
}

TEST(modulate, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 9, 1, 1}), *s = in.floats({64, 9, 1, 1}), *t = in.floats({64, 18, 1, 1});
    ggml_tensor * view = nullptr;
    const Build build = [&](ggml_context * ctx) {
        view = ggml_view_2d(ctx, t, 64, 9, t->nb[1], 5 * t->nb[1]);
        return ggml_ext_modulate(ctx, x, view, s);
    };
    const Outcome expected = reference(build, modulate_reference);
    for (const std::string & name : kNames) {
        for (const int n_threads : {1, 2, 3}) {
            RunOptions options = {.n_threads = n_threads, .disabled = all_but(kNames, name)};
            for (ggml_tensor * over : {x, s, t}) {
                options.result_in = over;
                expect_same_floats(run(build, options), expected, name + ": from the start");
            }
            options.result_offset = 2 * t->nb[1];
            expect_same_floats(run(build, options), expected, name + ": some rows before the shift");
            options.result_offset = 7 * t->nb[1];
            expect_same_floats(run(build, options), expected, name + ": some rows behind");
        }
    }
}

TEST(modulate, computes_on_results_of_other_nodes) {
    Inputs in;
    ggml_tensor *a = in.floats({300, 40, 1, 1}), *b = in.floats({300, 1, 1, 1}),
                *c = in.floats({300, 1, 1, 1});
    const Build chain = [&](ggml_context * ctx) {
        ggml_tensor * y = ggml_norm(ctx, a, 1e-6f);
        for (int i = 0; i < 3; ++i) y = ggml_ext_modulate(ctx, ggml_silu(ctx, y), ggml_neg(ctx, b), c);
        return y;
    };
    const Build plain = [&](ggml_context * ctx) {
        ggml_tensor * y = ggml_norm(ctx, a, 1e-6f);
        for (int i = 0; i < 3; ++i) {
            y = ggml_silu(ctx, y);
            y = ggml_add(ctx, ggml_add(ctx, y, ggml_mul(ctx, y, c)), ggml_neg(ctx, b));
        }
        return y;
    };
    const Outcome expected = run(plain);
    for (const std::string & name : kNames)
        expect_same_floats(run(chain, {.n_threads = 2, .disabled = all_but(kNames, name)}), expected, name);
}

TEST(modulate, stops_when_the_caller_says_so) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 64, 1, 1}), *s = in.floats({64, 1, 1, 1});
    const Build build = [&](ggml_context * ctx) { return ggml_ext_modulate(ctx, x, nullptr, s); };
    EXPECT_EQ(run(build, {.abort = [](void *) { return true; }}).status, GGML_STATUS_ABORTED);
}

TEST(modulate, refuses_what_does_not_fit_with_the_shapes) {
    ggml::test::LogCapture log;
    Inputs in;
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor *x = in.floats({8, 4, 1, 1}), *s = in.floats({8, 1, 1, 1});
    ggml_tensor * half = in.tensor(GGML_TYPE_F16, {8, 1, 1, 1});
    const auto refusal = [&](ggml_tensor * a, ggml_tensor * shift, ggml_tensor * scale) -> std::string {
        if (ggml_ext_modulate(ctx.get(), a, shift, scale) != nullptr) return "accepted";
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        return ggml_ext_last_message();
    };
    const auto says = [](const std::string & text, const char * words) {
        EXPECT_NE(text.find(words), std::string::npos) << text;
    };
    says(refusal(x, nullptr, in.floats({3, 1, 1, 1})), "scale is f32 [3, 1, 1, 1], which");
    says(refusal(x, nullptr, in.floats({3, 1, 1, 1})), "over x, f32 [8, 4, 1, 1]");
    says(refusal(x, in.floats({8, 8, 1, 1}), s), "shift is f32 [8, 8, 1, 1]");
    says(refusal(x, nullptr, half), "scale is f16 [8, 1, 1, 1]");
    says(refusal(x, half, s), "shift is f16 [8, 1, 1, 1]");
    says(refusal(half, nullptr, s), "x is f16 [8, 1, 1, 1], not F32");
    says(refusal(x, nullptr, nullptr), "scale is none");
    says(refusal(nullptr, nullptr, s), "x is none");
    ggml_tensor * between = ggml_view_1d(ctx.get(), x, 8, 2);
    says(refusal(x, nullptr, between), "lies between floats");
    EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
}

TEST(modulate, is_registered_once_and_again_without_effect) {
    EXPECT_EQ(sd_ggml_register_extensions(cpu_device()), GGML_EXT_SUCCESS);
    EXPECT_EQ(sd_ggml_register_extensions(nullptr), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_find_op("sd.modulate.v1"), modulate_op());
}

} // namespace
} // namespace sd::test
