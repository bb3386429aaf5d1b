// Scales that a search finds, and levels of a layer's own: never worse, the same everywhere, and worth it.
#include "quantize/encode.h"
#include "quantize/test_quantize.h"
#include "tests/support/op_check.h"

#include <cstring>

namespace sd {
namespace {

using test::Numbers;

constexpr LayerFormat kFormats[] = {LayerFormat::int8, LayerFormat::int8_convrot, LayerFormat::w4a4,
                                    LayerFormat::w4a8};

EncodedRows encoded(LayerFormat format, std::vector<float> rows, int64_t k, bool search) {
    EncodedRows out;
    const EncodeOptions options = {format, format == LayerFormat::int8 ? 1 : 16, k, kGaussianLevels, false,
                                   search};
    RowEncoder().encode(options, rows.data(), int64_t(rows.size()) / k, out);
    return out;
}

std::vector<std::vector<float>> rows_of_all_kinds() {
    Numbers numbers(21);
    std::vector<std::vector<float>> rows = {std::vector<float>(96, 0.0f), std::vector<float>(96, -2.5f)};
    for (const float size : {1e-36f, 1e-20f, 0.02f, 1.0f, 1e18f, 1e30f})
        rows.push_back(numbers.row(96, size));
    for (int i = 0; i < 40; ++i) rows.push_back(numbers.row(1072, 0.03f));
    rows.push_back(rows[2]);
    rows.back()[5] = 40; // one large among tiny ones
    rows.push_back(std::vector<float>(1072));
    rows.back()[1071] = 3;
    for (int i = 0; i < 127; ++i) rows.back()[size_t(i)] = float(i - 64); // whole numbers: exact as they are
    return rows;
}

TEST(scale_search, no_row_has_a_larger_error) {
    for (const LayerFormat format : kFormats) {
        for (const std::vector<float> & row : rows_of_all_kinds()) {
            const auto k = int64_t(row.size());
            const EncodedRows before = encoded(format, row, k, false), after = encoded(format, row, k, true);
            EXPECT_LE(after.sums.error, before.sums.error) << layer_format_name(format);
            EXPECT_EQ(after.sums.size, before.sums.size);
            if (after.sums.error == before.sums.error) {
                EXPECT_TRUE(after.weight == before.weight && after.scale == before.scale &&
                            after.relative == before.relative);
            }
        }
    }
}

TEST(scale_search, four_bits_get_much_better_and_eight_a_little) {
    Numbers numbers(5);
    const std::vector<float> rows = numbers.row(64 * 1024, 0.03f);
    const auto gain = [&](LayerFormat format) {
        return encoded(format, rows, 1024, true).sums.relative() /
               encoded(format, rows, 1024, false).sums.relative();
    };
    EXPECT_LT(gain(LayerFormat::w4a4), 0.93);
    EXPECT_LT(gain(LayerFormat::w4a8), 0.985);
    EXPECT_LT(gain(LayerFormat::int8_convrot), 1.0);
    EXPECT_LT(gain(LayerFormat::int8), 1.0);
}

TEST(scale_search, finds_what_trying_very_many_scales_finds) {
    Numbers numbers(8);
    for (int i = 0; i < 10; ++i) {
        const std::vector<float> row = numbers.row(512), r = test::rotated(row, 16);
        double best = INFINITY;
        for (float scale = 0.05f; scale < 1.5f; scale *= 1.002f) {
            const std::vector<int8_t> codes = test::rounded(r, scale, 7);
            double error = 0;
            for (size_t j = 0; j < r.size(); ++j)
                error += std::pow(double(r[j]) - double(codes[j]) * double(scale), 2);
            best = std::min(best, error);
        }
        EXPECT_LT(encoded(LayerFormat::w4a4, row, 512, true).sums.error / best, 1.02);
    }
}

TEST(scale_search, fits_are_sums_over_the_codes_the_same_for_all_registers) {
    Numbers numbers(9);
    const std::vector<float> r = numbers.row(1003);
    const std::vector<int8_t> codes = test::rounded(r, 0.1f, 7);
    double error = 0, product = 0, square = 0;
    for (size_t i = 0; i < r.size(); ++i) {
        error += std::pow(double(r[i]) - double(codes[i]) * 0.1, 2);
        product += double(r[i]) * codes[i];
        square += double(codes[i]) * codes[i];
    }
    const CodeFit first = code_fit(r.data(), 1003, 0.1f, 7);
    EXPECT_NEAR(double(first.error) / error, 1, 1e-5);
    EXPECT_NEAR(double(first.product) / product, 1, 1e-5);
    EXPECT_EQ(double(first.square), square);
    const EncodedRows w4a8 = encoded(LayerFormat::w4a8, numbers.row(4 * 1040), 1040, true);
    ggml::test::for_each_isa([&](ggml::cpu::Isa) {
        const CodeFit fit = code_fit(r.data(), 1003, 0.1f, 7);
        EXPECT_EQ(std::memcmp(&fit, &first, sizeof fit), 0);
        Numbers again(9);
        again.row(1003);
        const EncodedRows same = encoded(LayerFormat::w4a8, again.row(4 * 1040), 1040, true);
        EXPECT_TRUE(same.weight == w4a8.weight && same.relative == w4a8.relative && same.scale == w4a8.scale);
        EXPECT_EQ(same.sums.error, w4a8.sums.error);
    });
}

TEST(codebook, the_gaussian_levels_are_what_normal_numbers_lead_to) {
    Numbers numbers(31);
    RunHistogram histogram, halves[2];
    for (int i = 0; i < 400; ++i) {
        std::vector<float> row;
        // A sum of twelve is nearly normal; its few large ones would make tails.
        for (const float v : numbers.row(1024)) row.push_back(std::fabs(v) > 6 ? 0.1f : v);
        histogram.add(row.data(), 1024);
        halves[i % 2].add(row.data(), 1024);
    }
    EXPECT_FALSE(histogram.is_heavy_tailed()) << histogram.excess_kurtosis();
    const Codebook book = histogram.fitted();
    for (size_t i = 0; i < book.size(); ++i) EXPECT_NEAR(book[i], kGaussianLevels[i], 0.01);
    halves[0].add(halves[1]);
    EXPECT_EQ(halves[0].fitted(), book);
    EXPECT_EQ(RunHistogram().excess_kurtosis(), 0);
    EXPECT_EQ(RunHistogram().fitted(), kGaussianLevels);
}

class ScaleSearch : public test::QuantizeTest {
  protected:
    // Most values are small, and each run has some large ones: other levels are better.
    void put_heavy_tails() const {
        Numbers numbers(13);
        std::vector<float> w;
        for (int i = 0; i < 48 * 512; ++i) {
            const float v = numbers.next();
            w.push_back(i % 16 < 2 ? 0.1f * v : 0.003f * v);
        }
        test::TestModel model;
        model.floats("heavy.weight", {48, 512}, test::rotated(w, 256)); // rotating back and forth
        model.floats("plain.weight", {16, 256}, numbers.row(16 * 256, 0.02f));
        put_model("in.safetensors", model);
    }
};

TEST_F(ScaleSearch, heavy_tailed_layers_get_levels_of_their_own_that_decoders_read) {
    put_heavy_tails();
    quantized("in.safetensors", request("before.safetensors", "w4a8"));
    QuantizeRequest r = request("after.safetensors", "w4a8");
    r.scale_search = r.verify = true;
    const QuantizeReport report = quantized("in.safetensors", r);
    const QuantizeReport before = quantized("in.safetensors", request("again.safetensors", "w4a8"));
    EXPECT_LT(report.layers.at(0).error, 0.8 * before.layers.at(0).error) << "heavy";
    EXPECT_LE(report.layers.at(1).error, before.layers.at(1).error) << "plain";
    const Checkpoint out = open(r.output);
    const std::vector<float> heavy = read_floats(out, out.get("heavy.weight_codebook"));
    const std::vector<float> plain = read_floats(out, out.get("plain.weight_codebook"));
    EXPECT_TRUE(std::is_sorted(heavy.begin(), heavy.end()));
    EXPECT_NE(heavy, std::vector<float>(kGaussianLevels.begin(), kGaussianLevels.end()));
    EXPECT_EQ(plain, std::vector<float>(kGaussianLevels.begin(), kGaussianLevels.end()));
    EXPECT_TRUE(bytes("before.safetensors") == bytes("again.safetensors"));
}

TEST_F(ScaleSearch, files_are_better_verified_and_the_same_for_any_number_of_threads) {
    put_weights("in.safetensors", {{"a.weight", 700, 2048}, {"b.weight", 33, 256}, {"c.weight", 9, 64}});
    for (const LayerFormat format : kFormats) {
        const std::string name = layer_format_name(format);
        const QuantizeReport before = quantized("in.safetensors", request(name + ".safetensors", name));
        std::string first;
        for (const int threads : {1, 5}) {
            QuantizeRequest r = request(name + std::to_string(threads) + ".safetensors", name);
            r.threads = threads;
            r.scale_search = r.verify = true;
            const QuantizeReport after = quantized("in.safetensors", r);
            for (size_t i = 0; i < 3; ++i) EXPECT_LE(after.layers[i].error, before.layers[i].error);
            const std::string file = bytes(name + std::to_string(threads) + ".safetensors");
            if (threads == 1) first = file;
            EXPECT_TRUE(file == first);
            EXPECT_EQ(file.size(), bytes(name + ".safetensors").size());
        }
    }
}

} // namespace
} // namespace sd
