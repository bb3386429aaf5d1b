#include "ops/linear_w4/test_layer.h"
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

// A recorded layer.
struct Case {
    const Stored & stored;
    const std::string name;
    Inputs in;

    ggml_tensor * floats(const char * tensor) {
        const auto found = stored.find(name + tensor);
        if (found == stored.end()) return nullptr;
        const std::vector<float> values = widened(found->second);
        ggml_tensor * v = in.tensor(GGML_TYPE_F32, {int64_t(values.size()), 1, 1, 1});
        std::copy(values.begin(), values.end(), static_cast<float *>(v->data));
        return v;
    }
    ggml_tensor * matrix(ggml_type type, const char * tensor) {
        const auto found = stored.find(name + tensor);
        if (found == stored.end()) return nullptr;
        const StoredTensor & t = found->second;
        ggml_tensor * m = in.tensor(type, {t.shape[1], t.shape[0], 1, 1});
        std::memcpy(m->data, t.bytes.data(), t.bytes.size());
        return m;
    }
    std::vector<float> recorded(const char * tensor) { return stored.at(name + tensor).values<float>(); }

    void expect_recorded(const Outcome & got, const std::string & kernel) {
        const std::vector<float> y = recorded(".y"), tolerance = recorded(".y_tol"), actual = got.floats();
        ASSERT_EQ(got.status, GGML_STATUS_SUCCESS) << name;
        ASSERT_EQ(actual.size(), y.size()) << name;
        for (size_t i = 0; i < y.size(); ++i) {
            const double error = std::fabs(double(actual[i]) - double(y[i]));
            ASSERT_LE(error, tolerance[i]) << name << ", " << kernel << ", element " << i;
        }
    }
};

void check_case(const Stored & stored, const std::string & name) {
    Case c{stored, name, Inputs()};
    const int group = std::stoi(name.substr(1));
    ggml_tensor *w = c.matrix(GGML_TYPE_I8, ".layer.weight"), *x = c.matrix(GGML_TYPE_F32, ".x"),
                *scale = c.floats(".layer.weight_scale"), *book = c.floats(".layer.weight_codebook"),
                *channel = c.floats(".layer.weight_s_channel"),
                *relative = c.matrix(GGML_TYPE_I8, ".layer.weight_s_rel"), *bias = c.floats(".layer.bias");
    const Build build = [&](ggml_context * ctx) {
        return ggml_mul_mat_w4_convrot(ctx, w, x, scale, book, channel, relative, bias, group);
    };
    c.expect_recorded(reference(on_copy(build, packed_copy(c.in, x, group)), linear_w4_reference),
                      "reference");
    for (const std::string & kernel : usable_kernel_names())
        c.expect_recorded(run(build, {.n_threads = 2, .disabled = all_but(all_kernel_names(), kernel)}),
                          kernel);
}

int check_file(const char * path, const char * left_out) {
    const Stored stored = ggml::test::read_safetensors(path);
    int cases = 0;
    for (const auto & [name, tensor] : stored) {
        if (!name.ends_with(".y") || name.starts_with(left_out)) continue;
        check_case(stored, name.substr(0, name.size() - 2));
        ++cases;
    }
    return cases;
}

TEST(linear_w4_golden, w4a4_layers_have_the_recorded_results) {
    EXPECT_EQ(check_file(CONVROT_GOLDEN_DIR "/quant/w4a4.safetensors", "none"), 10);
}

TEST(linear_w4_golden, w4a8_layers_have_the_recorded_results) {
    // One case has no codebook, which is a variant of the format that the operator does not have.
    EXPECT_EQ(check_file(CONVROT_GOLDEN_DIR "/quant/w4a8.safetensors", "g256_k256_r3_no_codebook"), 10);
}

} // namespace
} // namespace sd::test
