// The rows ahead of quantization, before it drops most of their bits.
#include "ops/quantize_i8_convrot/chain_rows.h"

#include "ops/quantize_i8_convrot/fuse_test.h"
#include "tests/support/op_check.h"

#include <bit>

namespace sd::test {
namespace {

// Floats of every sign, exponent and kind.
ggml_tensor * all_kinds(Inputs & in, uint32_t step) {
    const int64_t n = int64_t((uint64_t(1) << 32) / step);
    ggml_tensor * x = in.tensor(GGML_TYPE_F32, {n, 1, 1, 1});
    for (int64_t i = 0; i < n; ++i) at(x, i) = std::bit_cast<float>(uint32_t(i) * step);
    return x;
}

Outcome outcome_of(const std::vector<float> & values) {
    Outcome outcome{GGML_STATUS_SUCCESS, {int64_t(values.size()), 1, 1, 1}, {}};
    const auto * p = reinterpret_cast<const uint8_t *>(values.data());
    outcome.bytes.assign(p, p + values.size() * sizeof(float));
    return outcome;
}

void check_gate(Activation activation, ggml_tensor * a, ggml_tensor * b, const Build & build) {
    ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
        std::vector<float> y(size_t(a->ne[0]));
        gate_row_simd(activation, static_cast<float *>(a->data), static_cast<float *>(b->data), y.data(),
                      a->ne[0]);
        expect_same_floats(outcome_of(y), run(build), ggml::cpu::isa_name(isa));
    });
}

TEST(chain_rows, gate_as_the_nodes_of_every_float) {
    Inputs in;
    ggml_tensor * a = all_kinds(in, 2039); // 2 million of them, and an odd number
    ggml_tensor * b = in.floats({a->ne[0], 1, 1, 1});
    check_gate(Activation::silu, a, b, [=](ggml_context * ctx) { return ggml_swiglu_split(ctx, a, b); });
    check_gate(Activation::silu, a, b,
               [=](ggml_context * ctx) { return ggml_mul(ctx, ggml_silu(ctx, a), b); });
    check_gate(Activation::sigmoid, a, b,
               [=](ggml_context * ctx) { return ggml_mul(ctx, ggml_sigmoid(ctx, a), b); });
    check_gate(Activation::sigmoid, b, a,
               [=](ggml_context * ctx) { return ggml_mul(ctx, ggml_sigmoid(ctx, b), a); });
}

TEST(chain_rows, norm_and_modulate_as_the_nodes) {
    for (const int64_t n : {1, 2, 7, 16, 33, 100, 1023, 1024, 1025, 2500, 6144}) {
        Inputs in{uint32_t(n)};
        ggml_tensor *x = in.floats({n, 1, 1, 1}), *w = in.floats({n, 1, 1, 1});
        ggml_tensor *scale = in.floats({n, 1, 1, 1}), *shift = in.floats({n, 1, 1, 1});
        const auto data = [](ggml_tensor * t) { return static_cast<const float *>(t->data); };
        ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
            std::vector<float> y(size_t(n), 0.0f);
            norm_row_simd({data(x), data(w), data(scale), data(shift), y.data(), n, 1e-6f});
            const Build build = [=](ggml_context * ctx) {
                return ggml_ext_modulate(ctx, ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-6f), w), shift, scale);
            };
            expect_same_floats(outcome_of(y), run(build), ggml::cpu::isa_name(isa));
        });
    }
}

} // namespace
} // namespace sd::test
