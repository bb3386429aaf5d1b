#include "quantize/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sd {
namespace {

constexpr uint32_t kInfinity = 0x7f800000;
constexpr int kMostInt8 = 127, kMostInt4 = 7;
// What keeps quotients of rows of zeros finite; the formats' own numbers.
constexpr float kLeastInt8 = 1e-30f, kLeastInt4 = 1e-10f;

// Values that are not finite become 0; how many.
int64_t clear_nonfinite(float * row, int64_t k) {
    int64_t count = 0;
    for (int64_t i = 0; i < k; ++i) {
        if (std::isfinite(row[i])) continue;
        row[i] = 0;
        ++count;
    }
    return count;
}

BadRow bad_row(int64_t row, const float * values, int64_t k) {
    for (int64_t i = 0; i < k; ++i) {
        if (!std::isfinite(values[i])) return {row, i, values[i], false};
    }
    return {row, 0, values[0], true};
}

// How far a scale is brought down: what is beyond the largest code then is cut off, and the rest gets finer
// steps. Of normal numbers the best share is 0.6 to 0.75 for four bits and 0.9 to 1 for eight.
constexpr float kShare4 = 0.4f, kShare8 = 0.7f;
constexpr int kShares = 30, kRefinements = 3;

// The scale with the least squared error among `scale` and equal steps down to `least` of it; then those with
// least squares for the codes, as long as they are better.
float search_scale(const float * r, int64_t k, float scale, int limit, float least) {
    float best = scale;
    CodeFit fit = code_fit(r, k, best, limit);
    for (int i = 1; i <= kShares; ++i) {
        const float tried = scale * (1.0f - (1.0f - least) * float(i) / float(kShares));
        const CodeFit other = code_fit(r, k, tried, limit);
        if (other.error < fit.error) best = tried, fit = other;
    }
    for (int i = 0; i < kRefinements; ++i) {
        const float tried = fit.product / fit.square;
        if (!(tried >= kLeastInt8) || !std::isfinite(tried)) break;
        const CodeFit other = code_fit(r, k, tried, limit);
        if (!(other.error < fit.error)) break;
        best = tried, fit = other;
    }
    return best;
}

} // namespace

std::string BadRow::cause(int64_t row_of_layer) const {
    const std::string at = " in row " + std::to_string(row_of_layer);
    if (rotated) return "has values" + at + " that are too large to be rotated";
    const char * const what = std::isnan(value) ? "NaN" : value < 0 ? "-infinity" : "infinity";
    return std::string("is ") + what + at + ", column " + std::to_string(column);
}

int64_t row_bytes(LayerFormat format, int64_t k) {
    return format == LayerFormat::w4a4 || format == LayerFormat::w4a8 ? k / 2 : k;
}

void RowEncoder::encode(const EncodeOptions & o, float * rows, int64_t count, EncodedRows & out) {
    const bool w4a8 = o.format == LayerFormat::w4a8;
    out.weight.resize(size_t(count * row_bytes(o.format, o.k)));
    out.scale.resize(size_t(count));
    out.relative.resize(w4a8 ? size_t(count * o.k / kRelativeRun) : 0);
    out.sums = {};
    out.nonfinite = 0;
    rotated_.resize(size_t(o.k));
    codes_.resize(size_t(o.k));
    decoded_.resize(w4a8 ? size_t(o.k) : 0);
    scratch_.resize(w4a8 ? size_t(o.k / kRelativeRun) : 0);
    for (int64_t row = 0; row < count; ++row) {
        float * const values = rows + row * o.k;
        uint32_t bits = rotate_row(values, o.k, o.group, rotated_.data());
        if (bits >= kInfinity && o.allow_nonfinite) {
            out.nonfinite += clear_nonfinite(values, o.k);
            bits = rotate_row(values, o.k, o.group, rotated_.data());
        }
        if (bits >= kInfinity) throw bad_row(row, values, o.k);
        out.scale[size_t(row)] = std::bit_cast<float>(bits);
        encode_row(o, row, out);
    }
}

void RowEncoder::encode_w4a8_row(const EncodeOptions & o, int64_t row, EncodedRows & out) {
    const int64_t runs = o.k / kRelativeRun;
    W4a8Row w = {rotated_.data(),
                 o.k,
                 o.book.data(),
                 out.weight.data() + row * row_bytes(o.format, o.k),
                 out.relative.data() + row * runs,
                 &out.scale[size_t(row)],
                 scratch_.data(),
                 decoded_.data(),
                 false};
    ErrorSums sums = encode_w4a8(w);
    if (o.scale_search) {
        w.search = true;
        const ErrorSums found = encode_w4a8(w);
        w.search = false;
        // Each run is better or the same, but sums round.
        sums = found.error < sums.error ? found : encode_w4a8(w);
    }
    out.sums.add(sums);
}

// The codes of a row and their error.
ErrorSums RowEncoder::divide(const EncodeOptions & o, float scale, std::byte * weight) {
    if (o.format == LayerFormat::w4a4) {
        divide_to_codes(rotated_.data(), o.k, scale, kMostInt4, codes_.data());
        pack_nibbles(codes_.data(), o.k, weight);
        unpack_nibbles(weight, o.k, codes_.data());
        return code_error(rotated_.data(), codes_.data(), scale, o.k);
    }
    auto * const codes = reinterpret_cast<int8_t *>(weight);
    divide_to_codes(rotated_.data(), o.k, scale, kMostInt8, codes);
    return code_error(rotated_.data(), codes, scale, o.k);
}

// The rotated row; its largest magnitude is where its scale will be.
void RowEncoder::encode_row(const EncodeOptions & o, int64_t row, EncodedRows & out) {
    if (o.format == LayerFormat::w4a8) return encode_w4a8_row(o, row, out);
    float & scale = out.scale[size_t(row)];
    std::byte * const weight = out.weight.data() + row * row_bytes(o.format, o.k);
    const bool int4 = o.format == LayerFormat::w4a4;
    scale = int4 ? std::max(scale, kLeastInt4) / float(kMostInt4)
                 : std::max(scale / float(kMostInt8), kLeastInt8);
    ErrorSums sums = divide(o, scale, weight);
    if (o.scale_search) {
        const float found = int4 ? search_scale(rotated_.data(), o.k, scale, kMostInt4, kShare4)
                                 : search_scale(rotated_.data(), o.k, scale, kMostInt8, kShare8);
        const ErrorSums other = divide(o, found, weight);
        // What was searched with adds up otherwise.
        if (other.error < sums.error) {
            scale = found;
            sums = other;
        } else {
            divide(o, scale, weight);
        }
    }
    out.sums.add(sums);
}

} // namespace sd
