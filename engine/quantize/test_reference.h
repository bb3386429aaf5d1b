// For tests: the three formats' quantizers in plain C++, by their formulas and with nothing of the engine but
// the rotation.
#pragma once

#include "base/rotation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sd::test {

inline std::vector<float> rotated(const std::vector<float> & w, int group) {
    std::vector<float> r(w.size());
    rotate_scalar(w.data(), int64_t(w.size()), group, r.data());
    return r;
}

inline float largest(const std::vector<float> & r) {
    float most = 0;
    for (const float v : r) most = std::max(most, std::fabs(v));
    return most;
}

inline std::vector<int8_t> rounded(const std::vector<float> & r, float scale, int limit) {
    std::vector<int8_t> codes;
    for (const float v : r) {
        double q = double(v / scale);
        double whole = std::floor(q), rest = q - whole;
        if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)) whole += 1;
        codes.push_back(int8_t(std::clamp(whole, double(-limit), double(limit))));
    }
    return codes;
}

struct ReferenceRow {
    std::vector<int8_t> codes; // W4A8: level numbers
    float scale = 0;           // W4A8: of the channel
    std::vector<float> relative = {};
};

inline ReferenceRow int8_row(const std::vector<float> & w, int group) {
    const std::vector<float> r = rotated(w, group);
    const float scale = std::max(largest(r) / 127.0f, 1e-30f);
    return {rounded(r, scale, 127), scale};
}

inline ReferenceRow w4a4_row(const std::vector<float> & w, int group) {
    const std::vector<float> r = rotated(w, group);
    const float scale = std::max(largest(r), 1e-10f) / 7.0f;
    return {rounded(r, scale, 7), scale};
}

// The value of E4M3 nearest to v, which is above 0 and below 448: all of them tried, the even code for ties.
inline float e4m3_near(float v) {
    float best = 0, distance = INFINITY;
    for (int code = 0; code < 0x7f; ++code) {
        const float value =
            code < 8 ? float(code) * 0x1p-9f : std::ldexp(1.0f + float(code % 8) / 8.0f, code / 8 - 7);
        const float d = std::fabs(v - value);
        if (d < distance || (d == distance && code % 2 == 0)) best = value, distance = d;
    }
    return best;
}

// Number of the nearest level by brute force, a tie taking the lower one.
inline int level_near(float v, const std::array<float, 16> & levels) {
    int best = 0;
    for (int i = 1; i < 16; ++i) {
        if (std::fabs(v - levels[size_t(i)]) < std::fabs(v - levels[size_t(best)])) best = i;
    }
    return best;
}

inline ReferenceRow w4a8_row(const std::vector<float> & w, int group, const std::array<float, 16> & book) {
    const std::vector<float> r = rotated(w, group);
    ReferenceRow out;
    std::vector<float> scales;
    float most = 0;
    for (size_t run = 0; run < r.size(); run += 16) {
        float scale = 1e-8f;
        for (size_t j = 0; j < 16; ++j) scale = std::max(scale, std::fabs(r[run + j]));
        const auto level = [&](size_t j) { return book[size_t(level_near(r[run + j] / scale, book))]; };
        for (int pass = 0; pass < 2; ++pass) {
            double product = 0, square = 0;
            for (size_t j = 0; j < 16; ++j) {
                product += double(r[run + j]) * double(level(j));
                square += double(level(j)) * double(level(j));
            }
            scale = std::max(float(product / std::max(square, 1e-8)), 1e-8f);
        }
        for (size_t j = 0; j < 16; ++j) most = std::max(most, std::fabs(level(j) * scale));
        scales.push_back(scale);
    }
    out.scale = std::max(most / 127.0f, 1e-8f);
    for (size_t run = 0; run < r.size(); run += 16) {
        const float relative = e4m3_near(scales[run / 16] / out.scale);
        std::array<float, 16> grid;
        for (size_t i = 0; i < 16; ++i)
            grid[i] = std::clamp(std::nearbyint(book[i] * relative), -127.0f, 127.0f);
        for (size_t j = 0; j < 16; ++j) out.codes.push_back(int8_t(level_near(r[run + j] / out.scale, grid)));
        out.relative.push_back(relative);
    }
    return out;
}

// Numbers like those of weights, with a few large ones; the same everywhere.
class Numbers {
  public:
    explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    float next() {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return float(uniform() < 0.002 ? 12 * sum : sum);
    }
    std::vector<float> row(int64_t k, float scale = 1.0f) {
        std::vector<float> out;
        for (int64_t i = 0; i < k; ++i) out.push_back(next() * scale);
        return out;
    }

  private:
    double uniform() {
        state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
        return double(state_ >> 11) * 0x1p-53;
    }
    uint64_t state_;
};

} // namespace sd::test
