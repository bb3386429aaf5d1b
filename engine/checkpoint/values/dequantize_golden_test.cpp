#include "checkpoint/values/codecs.h"
#include "checkpoint/values/dequantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

// A file of vectors with the modules in it.
struct Vectors {
    Checkpoint checkpoint;
    QuantModules found;

    explicit Vectors(const std::string & name) {
        checkpoint.add(CONVROT_GOLDEN_DIR "/quant/" + name + ".safetensors");
        found = find_quant_modules(checkpoint);
    }
    std::vector<float> floats(const std::string & name) const {
        return read_floats(checkpoint, checkpoint.get(name));
    }
    bool has(const std::string & name) const { return checkpoint.find(name) != nullptr; }
};

std::string case_of(const QuantModule & m) { return m.name.substr(0, m.name.rfind('.')); }

std::vector<float> dequantized(const Vectors & v, const QuantModule & m) {
    const Dequantizer source(v.checkpoint, m);
    std::vector<float> w(size_t(source.rows() * source.row_length()));
    source.read(0, source.rows(), w.data());
    return w;
}

void expect_weights(const Vectors & v, const QuantModule & m, const std::vector<float> & w) {
    const std::vector<float> recorded = v.floats(case_of(m) + ".w_dequant");
    ASSERT_EQ(w.size(), recorded.size()) << m.name;
    float largest = 0;
    for (const float r : recorded) largest = std::max(largest, std::fabs(r));
    for (size_t i = 0; i < w.size(); ++i)
        ASSERT_LE(std::fabs(w[i] - recorded[i]), 1e-6f * largest) << m.name << " " << i;
}

// Where a case has no weights, its outputs hold them: y = x W^T + b, within what quantized activations cost.
void expect_outputs(const Vectors & v, const QuantModule & m, const std::vector<float> & w) {
    const std::vector<float> x = v.floats(case_of(m) + ".x"), y = v.floats(case_of(m) + ".y");
    const std::vector<float> bias =
        m.bias != nullptr ? read_floats(v.checkpoint, *m.bias) : std::vector<float>(size_t(m.n));
    const size_t n = size_t(m.n), k = size_t(m.k);
    double error = 0, size = 0, x_size = 0, w_size = 0;
    for (const float value : x) x_size += double(value) * double(value);
    for (const float value : w) w_size += double(value) * double(value);
    for (size_t r = 0; r < x.size() / k; ++r) {
        for (size_t o = 0; o < n; ++o) {
            double sum = 0;
            for (size_t i = 0; i < k; ++i) sum += double(x[r * k + i]) * double(w[o * k + i]);
            error += std::pow(sum + double(bias[o]) - double(y[r * n + o]), 2);
            size += std::pow(double(y[r * n + o]), 2);
        }
    }
    // 8-bit activations cost 1 to 3 percent; a wrong rotation, scale or nibble order 50 and more. The last
    // term is what outputs of random rows have: a single one may happen to be near zero.
    EXPECT_LE(std::sqrt(error), 0.06 * std::sqrt(size + x_size * w_size / double(k))) << m.name;
}

TEST(dequantize_golden, layers_have_the_recorded_weights_and_outputs) {
    int weights = 0, outputs = 0;
    for (const char * set : {"int8", "w4a4", "w4a8"}) {
        const Vectors v(set);
        for (const QuantModule & m : v.found.modules) {
            check_scale_values(v.checkpoint, m);
            const std::vector<float> w = dequantized(v, m);
            if (v.has(case_of(m) + ".w_dequant")) {
                expect_weights(v, m, w);
                ++weights;
            }
            expect_outputs(v, m, w);
            ++outputs;
        }
    }
    EXPECT_EQ(weights, 3);
    EXPECT_EQ(outputs, 25 + 10 + 11);
}

TEST(dequantize_golden, convolutions_have_the_recorded_weights) {
    const Vectors v("other");
    int convolutions = 0;
    for (const QuantModule & m : v.found.modules) {
        if (m.use != QuantUse::convolution) continue;
        expect_weights(v, m, dequantized(v, m));
        ++convolutions;
    }
    EXPECT_EQ(convolutions, 1);
}

TEST(dequantize_golden, table_rows_are_the_recorded_ones) {
    const Vectors v("other");
    int tables = 0;
    for (const QuantModule & m : v.found.modules) {
        if (!m.name.ends_with(".table")) continue;
        const Dequantizer source(v.checkpoint, m);
        const std::vector<float> rows = v.floats(case_of(m) + ".rows"),
                                 tolerance = v.floats(case_of(m) + ".rows_tol"),
                                 ids = v.floats(case_of(m) + ".ids");
        std::vector<float> row(size_t(m.k));
        for (size_t r = 0; r < ids.size(); ++r) {
            source.read(int64_t(ids[r]), 1, row.data());
            for (size_t i = 0; i < row.size(); ++i)
                ASSERT_LE(std::fabs(row[i] - rows[r * row.size() + i]), tolerance[r * row.size() + i])
                    << m.name;
        }
        ++tables;
    }
    EXPECT_EQ(tables, 3);
}

TEST(dequantize_golden, e4m3_codes_are_the_recorded_ones) {
    const Vectors v("codecs");
    const std::vector<float> code = v.floats("e4m3fn.code"), value = v.floats("e4m3fn.value");
    ASSERT_EQ(code.size(), 256u);
    for (size_t i = 0; i < code.size(); ++i) {
        const float decoded = f8_e4m3_to_float(uint8_t(code[i]));
        EXPECT_TRUE(decoded == value[i] || (std::isnan(decoded) && std::isnan(value[i]))) << i;
    }
    const std::vector<float> in = v.floats("e4m3fn.encode_in"), out = v.floats("e4m3fn.encode_out");
    int encoded = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        if (std::isinf(in[i])) continue; // recorded as zero, where the format's text says that they saturate
        EXPECT_EQ(float_to_f8_e4m3(in[i]), uint8_t(out[i])) << in[i];
        ++encoded;
    }
    EXPECT_EQ(encoded, 1533);
}

} // namespace
} // namespace sd
