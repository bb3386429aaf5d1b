#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize/row_kernels.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "base/rotation.h"
#include "ops/common/float_vector-inl.h"
#include "quantize/row_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

using IntTag = hn::RebindToSigned<FloatTag>;

// As integers, magnitudes of NaN and infinity come last and are not lost as in comparisons of floats.
uint32_t largest_bits(const float * y, int64_t k) {
    const IntTag d;
    const auto mask = hn::Set(d, 0x7fffffff);
    const int64_t lanes = float_lanes();
    auto largest = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= k; i += lanes)
        largest = hn::Max(largest, hn::And(hn::BitCast(d, hn::LoadU(FloatTag(), y + i)), mask));
    if (i < k) largest = hn::Max(largest, hn::And(hn::BitCast(d, load_part(y + i, k - i)), mask));
    return uint32_t(hn::GetLane(hn::MaxOfLanes(d, largest)));
}

#if HWY_TARGET == HWY_SCALAR
void rotate(const float * x, int64_t k, int group, float * y) { rotate_scalar(x, k, group, y); }
#else

template <class V>
HWY_INLINE void butterfly(V & a, V & b, V & c, V & d) {
    const V sum01 = hn::Add(a, b), diff01 = hn::Sub(a, b);
    const V sum23 = hn::Add(c, d), diff23 = hn::Sub(c, d);
    a = hn::Add(sum01, diff23);
    b = hn::Sub(sum01, diff23);
    c = hn::Add(sum23, diff01);
    d = hn::Sub(sum23, diff01);
}

// Stages of stride 1 and 4 stay within sixteen floats: in registers of four, whatever else there is, so that
// results are in order. They are a small part of the time that reading a file takes.
using QuadTag = hn::Full128<float>;
using Quad = hn::Vec<QuadTag>;

alignas(16) constexpr float kSigns[] = {1.0f, -1.0f, 1.0f, -1.0f};

// Adding with a factor of 1 or -1 is adding or subtracting: the product is exact.
HWY_INLINE Quad stage1(Quad v, Quad signs) {
    const Quad t = hn::MulAdd(v, signs, hn::Shuffle2301(v)); // a+b a-b c+d c-d
    return hn::MulAdd(hn::DupEven(hn::Shuffle0123(t)), signs, hn::DupEven(t));
}

void rotate_fours(const float * x, int64_t k, float * y) {
    const QuadTag d;
    const Quad factor = hn::Set(d, rotation_factor(4));
    const Quad signs = hn::Load(d, kSigns);
    for (int64_t i = 0; i < k; i += 4)
        hn::StoreU(stage1(hn::Mul(hn::LoadU(d, x + i), factor), signs), d, y + i);
}

void rotate_sixteens(const float * x, int64_t k, float scale, float * y) {
    const QuadTag d;
    const Quad factor = hn::Set(d, scale);
    const Quad signs = hn::Load(d, kSigns);
    for (int64_t i = 0; i < k; i += 16) {
        Quad q[4];
        for (int j = 0; j < 4; ++j) q[j] = stage1(hn::Mul(hn::LoadU(d, x + i + 4 * j), factor), signs);
        butterfly(q[0], q[1], q[2], q[3]);
        for (int j = 0; j < 4; ++j) hn::StoreU(q[j], d, y + i + 4 * j);
    }
}

// All lanes alike: registers are at most as wide as the least stride.
void wide_stage(float * y, int64_t k, int64_t stride) {
    const FloatTag d;
    for (int64_t run = 0; run < k; run += 4 * stride) {
        for (float * p = y + run; p < y + run + stride; p += float_lanes()) {
            Float v[4];
            for (int j = 0; j < 4; ++j) v[j] = hn::LoadU(d, p + j * stride);
            butterfly(v[0], v[1], v[2], v[3]);
            for (int j = 0; j < 4; ++j) hn::StoreU(v[j], d, p + j * stride);
        }
    }
}

void rotate(const float * x, int64_t k, int group, float * y) {
    if (group == 1) {
        std::memcpy(y, x, size_t(k) * sizeof(float));
    } else if (group == 4) {
        rotate_fours(x, k, y);
    } else {
        // Group by group, so that all stages of one find it in the cache.
        for (int64_t run = 0; run < k; run += group) {
            rotate_sixteens(x + run, group, rotation_factor(group), y + run);
            for (int64_t stride = 16; stride < group; stride *= 4) wide_stage(y + run, group, stride);
        }
    }
}
#endif

uint32_t rotate_row(const float * x, int64_t k, int group, float * y) {
    rotate(x, k, group, y);
    return largest_bits(y, k);
}

void divide_to_codes(const float * r, int64_t k, float scale, int limit, int8_t * codes) {
    const FloatTag d;
    const hn::Rebind<int8_t, FloatTag> bytes;
    const int64_t lanes = float_lanes();
    const Float divisor = hn::Set(d, scale), most = hn::Set(d, float(limit));
    const auto code = [&](Float v) {
        // A quotient may be infinite, which has no integer: limits come first. Rounding does not cross them.
        const Float q = hn::Min(hn::Max(hn::Div(v, divisor), hn::Neg(most)), most);
        return hn::DemoteTo(bytes, hn::NearestInt(q));
    };
    int64_t i = 0;
    for (; i + lanes <= k; i += lanes) hn::StoreU(code(hn::LoadU(d, r + i)), bytes, codes + i);
    if (i >= k) return;
    HWY_ALIGN int8_t last[HWY_MAX_BYTES / sizeof(float)];
    hn::StoreU(code(load_part(r + i, k - i)), bytes, last);
    std::memcpy(codes + i, last, size_t(k - i));
}

void pack_nibbles(const int8_t * codes, int64_t k, std::byte * packed) {
    for (int64_t i = 0; i < k / 2; ++i)
        packed[i] =
            std::byte((uint8_t(codes[2 * i]) & 15u) | unsigned(uint8_t(codes[2 * i + 1]) << 4 & 0xf0));
}

void unpack_nibbles(const std::byte * packed, int64_t k, int8_t * codes) {
    for (int64_t i = 0; i < k / 2; ++i) {
        const int byte = int(packed[i]);
        codes[2 * i] = int8_t((byte & 15) - (byte << 1 & 16));
        codes[2 * i + 1] = int8_t((byte >> 4) - (byte >> 3 & 16));
    }
}

// Sums by place in the row, always sixteen of them and with products rounded, so that registers of every
// width add alike.
constexpr int kSums = 16;
constexpr int kSumVectors = HWY_TARGET == HWY_SCALAR ? kSums : kSums * int(sizeof(float)) / HWY_MAX_BYTES;

class Sums {
  public:
    HWY_INLINE Sums() {
        for (int j = 0; j < kSumVectors; ++j) error_[j] = size_[j] = hn::Zero(FloatTag());
    }
    HWY_INLINE void add(int j, Float r, Float decoded) {
        const Float error = hn::Sub(r, decoded);
        error_[j] = hn::Add(error_[j], hn::Mul(error, error));
        size_[j] = hn::Add(size_[j], hn::Mul(r, r));
    }
    HWY_INLINE ErrorSums sums() const {
        HWY_ALIGN float error[kSums], size[kSums];
        for (int j = 0; j < kSumVectors; ++j) {
            hn::Store(error_[j], FloatTag(), error + j * float_lanes());
            hn::Store(size_[j], FloatTag(), size + j * float_lanes());
        }
        ErrorSums all;
        for (int i = 0; i < kSums; ++i) all.add({double(error[i]), double(size[i])});
        return all;
    }

  private:
    Float error_[kSumVectors], size_[kSumVectors];
};

class FitSums {
  public:
    HWY_INLINE FitSums() {
        for (int j = 0; j < kSumVectors; ++j) error_[j] = product_[j] = square_[j] = hn::Zero(FloatTag());
    }
    HWY_INLINE void add(int j, Float r, Float scale, Float most) {
        const Float q = hn::Round(hn::Min(hn::Max(hn::Div(r, scale), hn::Neg(most)), most));
        const Float error = hn::Sub(r, hn::Mul(q, scale));
        error_[j] = hn::Add(error_[j], hn::Mul(error, error));
        product_[j] = hn::Add(product_[j], hn::Mul(r, q));
        square_[j] = hn::Add(square_[j], hn::Mul(q, q));
    }
    HWY_INLINE CodeFit sums() const { return {total(error_), total(product_), total(square_)}; }

  private:
    static HWY_INLINE float total(const Float * sums) {
        HWY_ALIGN float all[kSums];
        for (int j = 0; j < kSumVectors; ++j) hn::Store(sums[j], FloatTag(), all + j * float_lanes());
        float sum = 0;
        for (const float v : all) sum += v;
        return sum;
    }
    Float error_[kSumVectors], product_[kSumVectors], square_[kSumVectors];
};

CodeFit code_fit(const float * r, int64_t k, float scale, int limit) {
    const FloatTag d;
    const Float divisor = hn::Set(d, scale), most = hn::Set(d, float(limit));
    FitSums sums;
    int64_t i = 0;
    for (; i + kSums <= k; i += kSums) {
        for (int j = 0; j < kSumVectors; ++j)
            sums.add(j, hn::LoadU(d, r + i + j * float_lanes()), divisor, most);
    }
    if (i >= k) return sums.sums();
    HWY_ALIGN float last[kSums] = {}; // zeros add nothing
    std::copy(r + i, r + k, last);
    for (int j = 0; j < kSumVectors; ++j) sums.add(j, hn::Load(d, last + j * float_lanes()), divisor, most);
    return sums.sums();
}

// load(from) reads a register full.
template <class T, class Load>
HWY_INLINE ErrorSums error_of(const float * r, const T * decoded, int64_t k, const Load & load) {
    const FloatTag d;
    Sums sums;
    int64_t i = 0;
    for (; i + kSums <= k; i += kSums) {
        for (int j = 0; j < kSumVectors; ++j) {
            const int64_t at = i + j * float_lanes();
            sums.add(j, hn::LoadU(d, r + at), load(decoded + at));
        }
    }
    if (i >= k) return sums.sums();
    HWY_ALIGN float last[kSums] = {};
    HWY_ALIGN T last_decoded[kSums] = {};
    std::copy(r + i, r + k, last);
    std::copy(decoded + i, decoded + k, last_decoded);
    for (int j = 0; j < kSumVectors; ++j) {
        const int64_t at = j * float_lanes();
        sums.add(j, hn::Load(d, last + at), load(last_decoded + at));
    }
    return sums.sums();
}

ErrorSums code_error(const float * r, const int8_t * codes, float scale, int64_t k) {
    const hn::Rebind<int8_t, FloatTag> bytes;
    const Float factor = hn::Set(FloatTag(), scale);
    return error_of(r, codes, k, [&](const int8_t * p) {
        return hn::Mul(hn::ConvertTo(FloatTag(), hn::PromoteTo(IntTag(), hn::LoadU(bytes, p))), factor);
    });
}

ErrorSums value_error(const float * r, const float * decoded, int64_t k) {
    return error_of(r, decoded, k, [](const float * p) { return hn::LoadU(FloatTag(), p); });
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(rotate_row);
HWY_EXPORT(divide_to_codes);
HWY_EXPORT(pack_nibbles);
HWY_EXPORT(unpack_nibbles);
HWY_EXPORT(code_error);
HWY_EXPORT(value_error);
HWY_EXPORT(code_fit);

uint32_t rotate_row(const float * x, int64_t k, int group, float * y) {
    return HWY_DYNAMIC_DISPATCH(rotate_row)(x, k, group, y);
}
void divide_to_codes(const float * r, int64_t k, float scale, int limit, int8_t * codes) {
    HWY_DYNAMIC_DISPATCH(divide_to_codes)(r, k, scale, limit, codes);
}
void pack_nibbles(const int8_t * codes, int64_t k, std::byte * packed) {
    HWY_DYNAMIC_DISPATCH(pack_nibbles)(codes, k, packed);
}
void unpack_nibbles(const std::byte * packed, int64_t k, int8_t * codes) {
    HWY_DYNAMIC_DISPATCH(unpack_nibbles)(packed, k, codes);
}
ErrorSums code_error(const float * r, const int8_t * codes, float scale, int64_t k) {
    return HWY_DYNAMIC_DISPATCH(code_error)(r, codes, scale, k);
}
ErrorSums value_error(const float * r, const float * decoded, int64_t k) {
    return HWY_DYNAMIC_DISPATCH(value_error)(r, decoded, k);
}
CodeFit code_fit(const float * r, int64_t k, float scale, int limit) {
    return HWY_DYNAMIC_DISPATCH(code_fit)(r, k, scale, limit);
}

double ErrorSums::relative() const {
    if (error == 0) return 0;
    return std::sqrt(error / std::max(size, error * 1e-60));
}

} // namespace sd
#endif
