// A context with room to spare, and deterministic numbers that do not depend on a standard library.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace ggml::test {

class TensorTest : public testing::Test {
  protected:
    void SetUp() override { ctx = ggml_init({1 << 20, nullptr, false}); }
    void TearDown() override { ggml_free(ctx); }
    ggml_context * ctx = nullptr;
};

// Bell-shaped numbers (sums of four uniform ones) from a linear congruential generator; every step is exact.
class Numbers {
  public:
    explicit Numbers(uint64_t seed) : state_(seed) {}
    float uniform() { // [0, 1), 20 bits
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return float(state_ >> 44) * 0x1p-20f;
    }
    float bell() { return uniform() + uniform() - uniform() - uniform(); }
    std::vector<float> bells(size_t n, float scale = 1.0f) {
        std::vector<float> values(n);
        for (float & v : values) v = bell() * scale;
        return values;
    }

  private:
    uint64_t state_;
};

inline const std::vector<ggml_type> & quantized_types() {
    static const std::vector<ggml_type> types = {
        GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q8_1,
        GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_Q8_K};
    return types;
}

inline std::vector<uint8_t> encode(ggml_type type, const std::vector<float> & x,
                                   const float * importance = nullptr) {
    std::vector<uint8_t> bytes(ggml_row_size(type, int64_t(x.size())));
    ggml_quantize_chunk(type, x.data(), bytes.data(), 0, 1, int64_t(x.size()), importance);
    return bytes;
}

} // namespace ggml::test
