#include "ops/linear_i8/test_layer.h"
#include "tests/support/safetensors_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sd::test {
namespace {

using ggml::test::StoredTensor;
using Stored = std::map<std::string, StoredTensor>;

// F32 as it is, BF16 and F16 widened.
std::vector<float> widened(const StoredTensor & t) {
    if (t.dtype == "F32") return t.values<float>();
    std::vector<float> values;
    for (const uint16_t bits : t.values<uint16_t>())
        values.push_back(t.dtype == "BF16" ? ggml_bf16_to_fp32({bits}) : ggml_fp16_to_fp32(bits));
    return values;
}

ggml_tensor * vector_of(Inputs & in, const StoredTensor & t, int64_t n) {
    const std::vector<float> values = widened(t);
    ggml_tensor * v = in.tensor(GGML_TYPE_F32, {n, 1, 1, 1});
    for (int64_t i = 0; i < n; ++i) at(v, i) = values[values.size() == 1 ? 0 : size_t(i)];
    return v;
}

ggml_tensor * matrix_of(Inputs & in, ggml_type type, const StoredTensor & t) {
    ggml_tensor * m = in.tensor(type, {t.shape[1], t.shape[0], 1, 1});
    std::memcpy(m->data, t.bytes.data(), t.bytes.size());
    return m;
}

void expect_recorded(const Stored & stored, const std::string & name, const Outcome & got) {
    const std::vector<float> y = stored.at(name + ".y").values<float>(),
                             tolerance = stored.at(name + ".y_tol").values<float>(), actual = got.floats();
    ASSERT_EQ(got.status, GGML_STATUS_SUCCESS) << name;
    ASSERT_EQ(actual.size(), y.size()) << name;
    for (size_t i = 0; i < y.size(); ++i)
        ASSERT_LE(std::fabs(double(actual[i]) - double(y[i])), tolerance[i]) << name << ", element " << i;
}

void check_case(const Stored & stored, const std::string & name) {
    Inputs in;
    const int group = name[0] == 'g' ? std::stoi(name.substr(1)) : 0;
    ggml_tensor * w = matrix_of(in, GGML_TYPE_I8, stored.at(name + ".layer.weight"));
    ggml_tensor * x = matrix_of(in, GGML_TYPE_F32, stored.at(name + ".x"));
    ggml_tensor * codes = matrix_of(in, GGML_TYPE_I8, stored.at(name + ".xq"));
    ggml_tensor * x_scale = vector_of(in, stored.at(name + ".xs"), x->ne[1]);
    ggml_tensor * scale = vector_of(in, stored.at(name + ".layer.weight_scale"), w->ne[1]);
    const bool biased = stored.contains(name + ".layer.bias");
    ggml_tensor * bias = biased ? vector_of(in, stored.at(name + ".layer.bias"), w->ne[1]) : nullptr;

    const Build quantizing = [&](ggml_context * ctx) {
        return ggml_mul_mat_i8_tensorwise(ctx, w, x, scale, bias, group);
    };
    const Build given = [&](ggml_context * ctx) {
        return ggml_mul_mat_i8_tensorwise(ctx, w, codes, scale, bias, group, x_scale);
    };
    const Build sums = [&](ggml_context * ctx) {
        return ggml_mul_mat_i8_tensorwise(ctx, w, codes, nullptr, nullptr, group);
    };
    expect_recorded(stored, name, reference(quantizing, linear_i8_reference));
    const std::vector<int32_t> acc = stored.at(name + ".acc").values<int32_t>();
    for (const std::string & kernel : usable_kernel_names()) {
        const RunOptions options = {.n_threads = 2, .disabled = all_but(all_kernel_names(), kernel)};
        expect_recorded(stored, name, run(quantizing, options));
        expect_recorded(stored, name, run(given, options));
        const std::vector<float> got = run(sums, options).floats();
        ASSERT_EQ(got.size(), acc.size()) << name;
        for (size_t i = 0; i < acc.size(); ++i) ASSERT_EQ(got[i], float(acc[i])) << name << ", sum " << i;
    }
}

TEST(linear_i8_golden, layers_have_the_recorded_results) {
    const Stored stored = ggml::test::read_safetensors(CONVROT_GOLDEN_DIR "/quant/int8.safetensors");
    int cases = 0;
    for (const auto & [name, tensor] : stored) {
        if (!name.ends_with(".y")) continue;
        check_case(stored, name.substr(0, name.size() - 2));
        ++cases;
    }
    EXPECT_EQ(cases, 25);
}

} // namespace
} // namespace sd::test
