// Rows of a layer in one of the formats, and back.
#pragma once

#include "quantize/codebook.h"
#include "quantize/row_kernels.h"
#include "quantize/rules.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sd {

struct EncodeOptions {
    LayerFormat format;
    int group; // 1: not rotated
    int64_t k;
    Codebook book;                // of w4a8
    bool allow_nonfinite = false; // NaN and infinity count as 0
    // Scales with the least squared error of the rotated row that a search finds, in place of those that just
    // hold the largest value. No row's error becomes larger.
    bool scale_search = false;
};

struct EncodedRows {
    std::vector<std::byte> weight;
    std::vector<float> scale;      // of rows, or their channels
    std::vector<uint8_t> relative; // of w4a8
    ErrorSums sums;                // of what was encoded, decoded again
    int64_t nonfinite = 0;         // values that count as 0
};

// Thrown for a row that cannot be encoded.
struct BadRow {
    int64_t row, column;
    float value;  // not finite; when it is, the row's values are too large to be rotated
    bool rotated; // so it is
    std::string cause(int64_t row_of_layer) const; // for messages
};

// Encodes rows; memory is used again from call to call. One thread at a time.
class RowEncoder {
  public:
    // `rows` of options.k floats, which are changed where values count as 0. Throws BadRow for rows that are
    // not finite, or not when rotated.
    void encode(const EncodeOptions & options, float * rows, int64_t count, EncodedRows & out);

  private:
    void encode_row(const EncodeOptions & options, int64_t row, EncodedRows & out);
    void encode_w4a8_row(const EncodeOptions & options, int64_t row, EncodedRows & out);
    ErrorSums divide(const EncodeOptions & options, float scale, std::byte * weight);

    std::vector<float> rotated_, decoded_, scratch_;
    std::vector<int8_t> codes_;
};

// Bytes of a row's weight.
int64_t row_bytes(LayerFormat format, int64_t k);

} // namespace sd
