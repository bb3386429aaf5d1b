#include "quantize/feedback.h"

#include "checkpoint/values/codecs.h"
#include "quantize/matrix_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sd {
namespace {

constexpr int64_t kBlock = 128; // columns whose errors are added to the others together

// Rounds the values of one row, from the first to the last, with the scales it has.
class Rounder {
  public:
    Rounder(const EncodeOptions & o, const EncodedRows & rows, int64_t row)
        : w4a8_(o.format == LayerFormat::w4a8), book_(o.book), scale_(rows.scale[size_t(row)]),
          most_(o.format == LayerFormat::w4a4 ? 7.0f : 127.0f),
          relative_(w4a8_ ? rows.relative.data() + row * (o.k / kRelativeRun) : nullptr) {}

    // What value k decodes to; its code.
    float round(int64_t k, float value, int8_t & code) {
        if (!w4a8_) {
            const float q = std::clamp(std::nearbyint(value / scale_), -most_, most_);
            code = int8_t(q);
            return q * scale_;
        }
        if (k % kRelativeRun == 0) begin_run(f8_e4m3_to_float(relative_[k / kRelativeRun]));
        const float target = value / scale_;
        int number = 0;
        for (const float middle : middles_) number += middle < target ? 1 : 0; // they ascend
        code = int8_t(number);
        return decoded_[size_t(number)];
    }

  private:
    void begin_run(float relative) {
        std::array<float, kLevels> grid;
        for (size_t i = 0; i < kLevels; ++i) {
            grid[i] = std::clamp(std::nearbyint(book_[i] * relative), -127.0f, 127.0f);
            decoded_[i] = book_[i] * relative * scale_;
        }
        for (size_t i = 0; i + 1 < kLevels; ++i) middles_[i] = (grid[i] + grid[i + 1]) * 0.5f;
    }

    bool w4a8_;
    const Codebook & book_;
    float scale_, most_;
    const uint8_t * relative_;
    std::array<float, kLevels - 1> middles_ = {};
    std::array<float, kLevels> decoded_ = {};
};

void put_codes(const EncodeOptions & o, const int8_t * codes, std::byte * weight) {
    if (o.format == LayerFormat::w4a8 || o.format == LayerFormat::w4a4)
        pack_nibbles(codes, o.k, weight);
    else
        std::copy_n(codes, o.k, reinterpret_cast<int8_t *>(weight));
}

// The triangle of u among `n` columns, where the cache has it all; rows lie kBlock apart.
void copy_triangle(const FeedbackFactor & f, int64_t begin, int64_t n, std::vector<float> & to) {
    to.resize(size_t(kBlock * kBlock));
    for (int64_t i = 0; i < n; ++i)
        std::copy_n(f.u.data() + (begin + i) * f.k + begin + i, n - i, to.data() + i * kBlock + i);
}

// targets[row][j] += sum over i < begin of rows[row][i] u[i][begin + j].
void add_before(const FeedbackFactor & f, const std::vector<float> & rows, int64_t count, int64_t begin,
                int64_t n, std::vector<float> & targets) {
    add_product({rows.data(), f.k, 1, f.u.data() + begin, f.k, targets.data(), kBlock, count, n, begin});
}

} // namespace

// Into decoded_.
void FeedbackEncoder::decode(const EncodeOptions & o, const EncodedRows & rows, int64_t count) {
    const int64_t bytes = row_bytes(o.format, o.k);
    decoded_.resize(size_t(count * o.k));
    codes_.resize(size_t(o.k));
    for (int64_t row = 0; row < count; ++row) {
        float * const out = decoded_.data() + row * o.k;
        auto * const weight = const_cast<std::byte *>(rows.weight.data() + row * bytes);
        if (o.format == LayerFormat::w4a8) {
            auto * const relative = const_cast<uint8_t *>(rows.relative.data() + row * (o.k / kRelativeRun));
            float channel = rows.scale[size_t(row)];
            decode_w4a8({nullptr, o.k, o.book.data(), weight, relative, &channel, nullptr, nullptr, false},
                        out);
            continue;
        }
        const auto * codes = reinterpret_cast<const int8_t *>(weight);
        if (o.format == LayerFormat::w4a4) {
            unpack_nibbles(weight, o.k, codes_.data());
            codes = codes_.data();
        }
        for (int64_t i = 0; i < o.k; ++i) out[i] = float(codes[i]) * rows.scale[size_t(row)];
    }
}

// Of each row, without what damping adds.
std::vector<double> FeedbackEncoder::output_squares(const FeedbackFactor & f, const std::vector<float> & rows,
                                                    int64_t count) {
    std::vector<double> squares(static_cast<size_t>(count));
    targets_.resize(size_t(count * kBlock));
    for (int64_t begin = 0; begin < f.k; begin += kBlock) {
        const int64_t n = std::min(kBlock, f.k - begin);
        for (int64_t row = 0; row < count; ++row)
            std::copy_n(rows.data() + row * f.k + begin, n, targets_.data() + row * kBlock);
        add_before(f, rows, count, begin, n, targets_);
        copy_triangle(f, begin, n, triangle_);
        for (int64_t row = 0; row < count; ++row) {
            const float * const value = rows.data() + row * f.k + begin;
            float * const y = targets_.data() + row * kBlock;
            double & sum = squares[size_t(row)];
            for (int64_t j = 0; j < n; ++j) {
                add_scaled_row(value[j], triangle_.data() + j * kBlock + j + 1, n - j - 1, y + j + 1);
                sum += f.d[size_t(begin + j)] * double(y[j]) * double(y[j]) -
                       f.damping * double(value[j]) * double(value[j]);
            }
        }
    }
    return squares;
}

// Codes of all rows with feedback, one byte each, to codes_; errors_ and squares_ of them.
void FeedbackEncoder::feed_back(const EncodeOptions & o, const FeedbackFactor & f, int64_t count,
                                const EncodedRows & plain) {
    std::vector<Rounder> rounders;
    for (int64_t row = 0; row < count; ++row) rounders.emplace_back(o, plain, row);
    codes_.resize(size_t(count * f.k));
    squares_.assign(size_t(count), 0.0);
    for (int64_t begin = 0; begin < f.k; begin += kBlock) {
        const int64_t n = std::min(kBlock, f.k - begin);
        for (int64_t row = 0; row < count; ++row)
            std::copy_n(rotated_.data() + row * f.k + begin, n, targets_.data() + row * kBlock);
        add_before(f, errors_, count, begin, n, targets_);
        copy_triangle(f, begin, n, triangle_);
        for (int64_t row = 0; row < count; ++row) {
            const int64_t at = row * f.k + begin;
            float * const target = targets_.data() + row * kBlock;
            for (int64_t j = 0; j < n; ++j) {
                const float decoded =
                    rounders[size_t(row)].round(begin + j, target[j], codes_[size_t(at + j)]);
                const float error = rotated_[size_t(at + j)] - decoded;
                const double missed = double(target[j]) - double(decoded);
                errors_[size_t(at + j)] = error;
                decoded_[size_t(at + j)] = decoded;
                squares_[size_t(row)] +=
                    f.d[size_t(begin + j)] * missed * missed - f.damping * double(error) * double(error);
                add_scaled_row(error, triangle_.data() + j * kBlock + j + 1, n - j - 1, target + j + 1);
            }
        }
    }
}

OutputSums FeedbackEncoder::encode(const EncodeOptions & o, const FeedbackFactor & f, float * rows,
                                   int64_t count, EncodedRows & out) {
    plain_.encode(o, rows, count, out);
    rotated_.resize(size_t(count * o.k));
    errors_.resize(rotated_.size());
    for (int64_t row = 0; row < count; ++row)
        rotate_row(rows + row * o.k, o.k, o.group, rotated_.data() + row * o.k);
    decode(o, out, count);
    std::transform(rotated_.begin(), rotated_.end(), decoded_.begin(), errors_.begin(), std::minus<float>());
    const std::vector<double> size = output_squares(f, rotated_, count),
                              plain = output_squares(f, errors_, count);
    const std::vector<float> plain_decoded = decoded_;
    feed_back(o, f, count, out);
    OutputSums sums;
    out.sums = {};
    for (int64_t row = 0; row < count; ++row) {
        const bool better = squares_[size_t(row)] < plain[size_t(row)];
        if (better)
            put_codes(o, codes_.data() + row * o.k, out.weight.data() + row * row_bytes(o.format, o.k));
        const std::vector<float> & decoded = better ? decoded_ : plain_decoded;
        out.sums.add(value_error(rotated_.data() + row * o.k, decoded.data() + row * o.k, o.k));
        sums.add({std::max(0.0, better ? squares_[size_t(row)] : plain[size_t(row)]),
                  std::max(0.0, plain[size_t(row)]), std::max(0.0, size[size_t(row)])});
    }
    return sums;
}

} // namespace sd
