#include "ops/quantize_i8_convrot/schema.h"

#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/test_graph.h"
#include "sd-ggml-ops.h"
#include "tests/support/op_check.h"
#include "tests/support/safetensors_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sd::test {
namespace {

using Stored = std::map<std::string, ggml::test::StoredTensor>;

Stored read_set(const std::string & set) {
    return ggml::test::read_safetensors(CONVROT_GOLDEN_DIR "/quant/" + set + ".safetensors");
}

// "g256_k1024_r5_gauss" has the group 256, "plain_..." none.
int group_of(const std::string & name) { return name[0] == 'g' ? std::stoi(name.substr(1)) : 1; }

std::vector<std::string> activation_cases(const Stored & stored) {
    std::vector<std::string> names;
    for (const auto & [name, tensor] : stored) {
        if (name.ends_with(".xq")) names.push_back(name.substr(0, name.size() - 3));
    }
    return names;
}

void check_rotation(const Stored & stored, const std::string & name) {
    const std::vector<float> x = stored.at(name + ".x").values<float>();
    const std::vector<float> expected = stored.at(name + ".x_rot").values<float>();
    const int64_t k = stored.at(name + ".x").shape[1];
    const int group = group_of(name);
    std::vector<float> tolerance(size_t(x.size()) / size_t(group), 0.0f); // one for each group
    if (stored.contains(name + ".x_rot_tol")) tolerance = stored.at(name + ".x_rot_tol").values<float>();
    std::vector<float> rotated(x.size());
    for (int64_t i = 0; i < int64_t(x.size()); i += k)
        rotate_scalar(&x[size_t(i)], k, group, &rotated[size_t(i)]);
    for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_LE(std::fabs(double(rotated[i]) - double(expected[i])), tolerance[i / size_t(group)])
            << name << ", element " << i;
    }
}

void check_packed(const Stored & stored, const std::string & name, const Outcome & got) {
    const std::vector<int8_t> codes = stored.at(name + ".xq").values<int8_t>();
    const std::vector<float> scales = stored.at(name + ".xs").values<float>();
    const int64_t rows = int64_t(scales.size()), k = int64_t(codes.size()) / rows;
    const PackedRows packed = PackedRows::of(k, rows);
    ASSERT_EQ(got.status, GGML_STATUS_SUCCESS) << name;
    ASSERT_EQ(int64_t(got.bytes.size()), k * packed.total_rows()) << name;
    EXPECT_EQ(std::memcmp(got.bytes.data(), codes.data(), codes.size()), 0) << name << ": other codes";
    for (int64_t row = 0; row < rows; ++row) {
        float scale = 0;
        std::memcpy(&scale, &got.bytes[size_t(packed.scale_offset() + 4 * row)], sizeof(scale));
        EXPECT_NEAR(scale, scales[size_t(row)], std::ldexp(8.0, -24) * scales[size_t(row)]) << name;
    }
}

void check_case(const Stored & stored, const std::string & name) {
    const auto & x = stored.at(name + ".x");
    check_rotation(stored, name);
    Inputs in;
    ggml_tensor * t = in.tensor(GGML_TYPE_F32, {x.shape[1], x.shape[0], 1, 1});
    std::memcpy(t->data, x.bytes.data(), x.bytes.size());
    const Build build = [&](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, t, group_of(name)); };
    check_packed(stored, name, reference(build, quantize_i8_convrot_reference));
    ggml::test::for_each_isa(
        [&](ggml::cpu::Isa) { check_packed(stored, name, run(build, {.n_threads = 2})); });
}

void check_set(const std::string & set, size_t n_cases) {
    const Stored stored = read_set(set);
    const std::vector<std::string> names = activation_cases(stored);
    EXPECT_EQ(names.size(), n_cases);
    for (const std::string & name : names) check_case(stored, name);
}

TEST(quantize_golden, int8_activations_have_the_recorded_codes) { check_set("int8", 25); }
TEST(quantize_golden, w4a4_activations_have_the_recorded_codes) { check_set("w4a4", 10); }
TEST(quantize_golden, w4a8_activations_have_the_recorded_codes) { check_set("w4a8", 11); }

TEST(quantize_golden, the_rotation_has_the_recorded_signs) {
    const Stored stored = read_set("codecs");
    for (const int group : {4, 16, 64, 256}) {
        const std::vector<int8_t> sign = stored.at("hadamard.sign" + std::to_string(group)).values<int8_t>();
        for (int column = 0; column < group; ++column) {
            std::vector<float> y(size_t(group), 0.0f);
            y[size_t(column)] = std::sqrt(float(group));
            rotate_scalar(y.data(), group, group, y.data());
            for (int row = 0; row < group; ++row)
                ASSERT_EQ(y[size_t(row)], sign[size_t(row * group + column)])
                    << group << " " << row << " " << column;
        }
    }
}

} // namespace
} // namespace sd::test
