// The arithmetic of quantizing weights, a row at a time. The same bits come out whatever the instruction set.
// Codes are those of a true division: the products with reciprocals that activations are quantized with round
// otherwise near ties, and files are compared with those of other writers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sd {

// y = rotate(x) as rotate_scalar has it, in order; y is not x. Returns the bits of the largest |y|, which are
// 0x7f800000 or more when there is a NaN or an infinity.
uint32_t rotate_row(const float * x, int64_t k, int group, float * y);

// codes[i] = round(r[i] / scale) to even, at most `limit` in magnitude. scale is above 0, r finite.
void divide_to_codes(const float * r, int64_t k, float scale, int limit, int8_t * codes);

// Two's complement nibbles, even elements in the low half; k is even.
void pack_nibbles(const int8_t * codes, int64_t k, std::byte * packed);
void unpack_nibbles(const std::byte * packed, int64_t k, int8_t * codes);

struct ErrorSums {
    double error = 0, size = 0; // of squares
    void add(const ErrorSums & other) { error += other.error, size += other.size; }
    double relative() const; // the root of error / size; 0 for nothing in place of nothing
};

// Of the row against scale * codes, and against any decoded values.
ErrorSums code_error(const float * r, const int8_t * codes, float scale, int64_t k);
ErrorSums value_error(const float * r, const float * decoded, int64_t k);

// What dividing by a scale would cost, without keeping the codes; and sums that tell the scale with least
// squares for them, product / square.
struct CodeFit {
    float error;           // of squares
    float product, square; // of r and codes, and of codes
};
CodeFit code_fit(const float * r, int64_t k, float scale, int limit);

// An asym_w4a8_int8 row: runs of 16 share a relative scale, all share the channel's.
constexpr int64_t kRelativeRun = 16;
constexpr int kLevels = 16;

struct W4a8Row {
    const float * r;    // rotated, finite
    int64_t k;          // a multiple of 16
    const float * book; // 16 levels, ascending
    std::byte * packed; // k / 2: level numbers, even elements in the low half
    uint8_t * relative; // k / 16: E4M3
    float * channel;    // one
    float * scratch;    // k / 16
    float * decoded;    // k, used where it is needed
    bool search;        // try the relative scales around the one that the steps lead to
};

// The document's steps: the scale of a run is its largest magnitude, then twice the one with least squares;
// after rounding the scales, levels are chosen among those of the 8-bit grid. Searching keeps the channel's
// scale, and the relative scale and levels whose decoded values have the least squared error in their run.
// The error is value_error of what is decoded, to the bit.
ErrorSums encode_w4a8(const W4a8Row & row);

// decoded[i] = level * relative * channel, in this order, float32.
void decode_w4a8(const W4a8Row & row, float * decoded);

} // namespace sd
