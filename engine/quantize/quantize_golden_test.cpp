// The shared vectors of weights and what writers make of them.
#include "checkpoint/values/dequantize.h"
#include "checkpoint/values/read_values.h"
#include "quantize/encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

struct Case {
    std::string name;
    LayerFormat format;
    int group;
    int64_t n, k;
    double relative_l2; // of w4a8, else 0
    bool per_row;
};

std::vector<Case> cases() {
    std::ifstream in(CONVROT_GOLDEN_DIR "/quant/index.json");
    const auto index = nlohmann::json::parse(in);
    std::vector<Case> list;
    for (const auto & c : index["sets"]["other"]["cases"]) {
        if (c.value("special", "") != "quantize") continue;
        const std::string format = c["format"];
        list.push_back({c["name"],
                        format == "convrot_w4a4"     ? LayerFormat::w4a4
                        : format == "asym_w4a8_int8" ? LayerFormat::w4a8
                        : c["group"] == 0            ? LayerFormat::int8
                                                     : LayerFormat::int8_convrot,
                        std::max(1, int(c["group"])), c["n"], c["k"], c.value("relative_l2", 0.0),
                        c.value("scale", "") != "scalar"});
    }
    return list;
}

class QuantizeGolden : public testing::Test {
  protected:
    QuantizeGolden() { file_.add(CONVROT_GOLDEN_DIR "/quant/other.safetensors"); }

    std::vector<float> floats(const Case & c, const char * name) const {
        return read_floats(file_, file_.get(c.name + "." + name));
    }
    std::vector<std::byte> stored(const Case & c, const char * name) const {
        const TensorInfo & t = file_.get(c.name + "." + name);
        std::vector<std::byte> bytes(size_t(t.elements()));
        read_stored(file_, t, {}, bytes.data());
        return bytes;
    }
    EncodedRows encoded(const Case & c) const {
        EncodeOptions options = {c.format, c.group, c.k, {}, false};
        if (c.format == LayerFormat::w4a8) {
            const std::vector<float> book = floats(c, "codebook");
            std::copy(book.begin(), book.end(), options.book.begin());
        }
        std::vector<float> w = floats(c, "w");
        EncodedRows out;
        RowEncoder().encode(options, w.data(), c.n, out);
        return out;
    }

    Checkpoint file_;
};

TEST_F(QuantizeGolden, int8_and_w4a4_weights_have_the_recorded_codes_and_scales) {
    int tested = 0;
    for (const Case & c : cases()) {
        if (c.format == LayerFormat::w4a8 || !c.per_row) continue;
        const EncodedRows out = encoded(c);
        EXPECT_EQ(out.scale, floats(c, "scale")) << c.name;
        EXPECT_TRUE(out.weight == stored(c, c.format == LayerFormat::w4a4 ? "packed" : "codes")) << c.name;
        ++tested;
    }
    EXPECT_EQ(tested, 2);
}

TEST_F(QuantizeGolden, quotients_by_one_scale_for_all_rows_have_the_recorded_codes) {
    int tested = 0;
    for (const Case & c : cases()) {
        if (c.per_row) continue;
        const std::vector<float> w = floats(c, "w");
        std::vector<int8_t> codes(w.size());
        divide_to_codes(w.data(), int64_t(w.size()), floats(c, "scale").at(0), 127, codes.data());
        EXPECT_EQ(std::memcmp(codes.data(), stored(c, "codes").data(), codes.size()), 0) << c.name;
        ++tested;
    }
    EXPECT_EQ(tested, 1);
}

TEST_F(QuantizeGolden, w4a8_weights_have_the_recorded_levels_and_scales) {
    int tested = 0;
    for (const Case & c : cases()) {
        if (c.format != LayerFormat::w4a8) continue;
        const EncodedRows out = encoded(c);
        const std::vector<float> channel = floats(c, "s_channel");
        for (size_t i = 0; i < channel.size(); ++i) EXPECT_NEAR(out.scale[i] / channel[i], 1, 1e-6);
        const std::vector<std::byte> relative = stored(c, "s_rel"), packed = stored(c, "packed");
        size_t other = 0;
        for (size_t i = 0; i < relative.size(); ++i) other += std::byte(out.relative[i]) != relative[i];
        for (size_t i = 0; i < packed.size(); ++i) other += out.weight[i] != packed[i];
        EXPECT_LE(other, packed.size() / 1000) << c.name;
        // The recorded error is that of the 8-bit grid, within a percent of that of the float levels.
        EXPECT_NEAR(out.sums.relative() / c.relative_l2, 1, 0.02) << c.name;
        ++tested;
    }
    EXPECT_EQ(tested, 1);
}

} // namespace
} // namespace sd
