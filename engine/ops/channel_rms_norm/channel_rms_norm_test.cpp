#include "ops/channel_rms_norm/schema.h"

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
#define X(name, entry) name,
#include "ops/channel_rms_norm/kernels.inc"
#undef X
};

void check(ggml_tensor * x, ggml_tensor * gamma, const std::string & what, float eps = 1e-12f) {
    for (const bool silu : {false, true}) {
        const Build build = [&](ggml_context * ctx) {
            return ggml_ext_channel_rms_norm(ctx, x, gamma, eps, silu);
        };
        const Outcome expected = reference(build, channel_rms_norm_reference);
        for (const std::string & name : kNames) {
            ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
                for (int n_threads = 1; n_threads <= 3; ++n_threads) {
                    const Outcome got =
                        run(build, {.n_threads = n_threads, .disabled = all_but(kNames, name)});
                    const std::string label = what + ", " + name + ", " + ggml::cpu::isa_name(isa);
                    if (silu)
                        expect_close_floats(got, expected, 1e-37, 0x1p-20, label);
                    else
                        expect_same_floats(got, expected, label);
                }
            });
        }
    }
}

TEST(channel_rms_norm, gives_the_bits_of_the_reference_for_every_number_of_pixels) {
    for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 33, 100}) {
        Inputs in{uint32_t(width)};
        check(in.floats({width, 3, 5, 2}), in.floats({5, 1, 1, 1}), "width " + std::to_string(width));
    }
}

TEST(channel_rms_norm, shares_pictures_between_threads) {
    Inputs in;
    check(in.floats({129, 65, 24, 1}), in.floats({1, 1, 24, 1}), "one picture");
    check(in.floats({40, 20, 384, 2}), in.floats({384, 1, 1, 1}), "many channels");
    check(in.floats({5000, 1, 1, 1}), in.floats({1, 1, 1, 1}), "one channel");
}

TEST(channel_rms_norm, keeps_pixels_that_are_zero_huge_or_not_finite_to_themselves) {
    Inputs in;
    ggml_tensor * x = in.floats({19, 2, 4, 1});
    for (int64_t c = 0; c < 4; ++c) {
        at(x, 3, 0, c) = 0.0f;
        at(x, 5, 1, c) = 1e18f;
        at(x, 18, 1, c) = 1e-18f;
    }
    at(x, 7, 0, 2) = std::numeric_limits<float>::quiet_NaN();
    at(x, 9, 0, 1) = std::numeric_limits<float>::infinity();
    ggml_tensor * gamma = in.floats({4, 1, 1, 1});
    check(x, gamma, "special");
    const Outcome got =
        run([&](ggml_context * ctx) { return ggml_ext_channel_rms_norm(ctx, x, gamma, 1e-12f, false); });
    const std::vector<float> y = got.floats();
    for (int64_t i = 0; i < 38; ++i) {
        const bool bad = i == 7 || i == 9;
        for (int64_t c = 0; c < 4; ++c) {
            EXPECT_TRUE(bad || std::isfinite(y[size_t(c * 38 + i)])) << "pixel " << i;
        }
    }
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_TRUE(std::isnan(y[7]));
}

TEST(channel_rms_norm, may_write_where_it_reads) {
    Inputs in;
    ggml_tensor *x = in.floats({50, 7, 9, 1}), *gamma = in.floats({9, 1, 1, 1});
    const Build build = [&](ggml_context * ctx) {
        return ggml_ext_channel_rms_norm(ctx, x, gamma, 1e-6f, false);
    };
    const Outcome expected = reference(build, channel_rms_norm_reference);
    for (const std::string & name : kNames) {
        expect_same_floats(run(build, {.n_threads = 2, .disabled = all_but(kNames, name), .result_in = x}),
                           expected, name);
    }
}

TEST(channel_rms_norm, refuses_what_does_not_fit) {
    Inputs in;
    ggml::test::LogCapture log;
    ggml_context_ptr ctx(ggml_init({1 << 16, nullptr, true}));
    ggml_tensor *x = in.floats({6, 4, 8, 1}), *gamma = in.floats({8, 1, 1, 1});
    const auto refused = [&](ggml_tensor * a, ggml_tensor * b, float eps) {
        return ggml_ext_channel_rms_norm(ctx.get(), a, b, eps, true) == nullptr;
    };
    EXPECT_FALSE(refused(x, gamma, 1e-6f));
    EXPECT_TRUE(refused(nullptr, gamma, 1e-6f));
    EXPECT_TRUE(refused(x, nullptr, 1e-6f));
    EXPECT_TRUE(refused(x, in.floats({7, 1, 1, 1}), 1e-6f));
    EXPECT_TRUE(refused(x, in.tensor(GGML_TYPE_F16, {8, 1, 1, 1}), 1e-6f));
    EXPECT_TRUE(refused(in.tensor(GGML_TYPE_F16, {6, 4, 8, 1}), gamma, 1e-6f));
    EXPECT_TRUE(refused(in.floats({6, 4, 8, 1}, Rows::permuted), gamma, 1e-6f));
    EXPECT_TRUE(refused(x, gamma, -1.0f));
    EXPECT_TRUE(refused(x, gamma, std::numeric_limits<float>::quiet_NaN()));
}

} // namespace
} // namespace sd::test
