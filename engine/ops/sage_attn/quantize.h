// What SageAttention does to queries, keys and values before it multiplies them, one head at a time.
//
// A row with a NaN or an infinity never decides a scale that other rows use; what it makes of results is said
// by `finite`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sd {

// Which tokens share a scale. Per warp: 32 neighbouring queries, 64 neighbouring keys. Per thread: what one
// GPU thread holds of those, so that it needs one scale: queries whose number is the same modulo 8 (4 of
// them), keys whose number modulo 8 is in the same pair (16 of them).
enum class SageScales { per_warp, per_thread };

// Where the product of probabilities and values is rounded.
//   f16      both as F16, sums in F32; a value outside of F16's range counts as infinite
//   fp8      both as E4M3, sums of a block of keys in F32, added to F32 sums over the blocks
//   fp8_f16  the same, but sums of a block are kept in F16, rounded after each 32 keys
enum class SageValues { f16, fp8, fp8_f16 };

constexpr int64_t kSageQueryBlock = 128, kSageQueryWarp = 32, kSageKeyBlock = 64, kSageF16Keys = 32;

// Rows of floats, one for each token of a head.
struct SageRows {
    int64_t size, tokens;
    std::vector<float> values;

    SageRows(int64_t row_size, int64_t n)
        : size(row_size), tokens(n), values(static_cast<size_t>(row_size * n)) {}
    float * row(int64_t token) { return values.data() + token * size; }
    const float * row(int64_t token) const { return values.data() + token * size; }
    bool is_finite(int64_t token) const;
};

// Mean of the finite rows among [first, last); zero when there are none.
std::vector<float> sage_mean(const SageRows & rows, int64_t first, int64_t last);
void sage_subtract(SageRows & rows, int64_t first, int64_t last, const std::vector<float> & mean);

// Row `token` is codes[token] * scale[token], when it is finite.
struct SageCodes {
    int64_t size;
    std::vector<int8_t> codes;
    std::vector<float> scale; // of each token
    std::vector<bool> finite; // of each token

    const int8_t * row(int64_t token) const { return codes.data() + token * size; }
};
SageCodes sage_quantize_queries(const SageRows & q, SageScales scales);
SageCodes sage_quantize_keys(const SageRows & k, SageScales scales);

// Values as the second product reads them: column i is rows * scale[i]. A column with a NaN or an infinity is
// NaN all through, because every probability is multiplied with it.
struct SageQuantizedValues {
    SageRows rows;
    std::vector<float> scale; // of each element of a row
};
SageQuantizedValues sage_quantize_values(SageRows v, SageValues how);

} // namespace sd
