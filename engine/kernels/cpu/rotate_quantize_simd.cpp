#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotate_quantize_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "kernels/cpu/rotate_quantize.h"
#include "kernels/cpu/row_scale.h"
#include "ops/common/float_vector-inl.h"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
void rotate_quantize(const QuantizeRow & row) { rotate_quantize_scalar(row); }
#else

// Stages of stride 1 and 4 stay inside a block of 16 floats: within one, two or four registers. Stages of
// stride 16 and, where 32 wide registers hold 256 floats, 64 go between blocks in registers; the others take
// one pass each over the rotated row, which lies in the cache.
constexpr int kBlock = 16;
constexpr int kLanes = HWY_MAX_BYTES / int(sizeof(float));
constexpr int kVectors = kBlock / kLanes;
constexpr int kRegisterBlocks = kLanes == 16 ? 16 : 4;

using IntTag = hn::RebindToSigned<FloatTag>;
using Int = hn::Vec<IntTag>;

// Implicit constructors would be compiled for the baseline.
struct Block {
    HWY_INLINE Block() {}
    Float v[kVectors];
};

// Magnitudes as integers, see RowScale.
HWY_INLINE Int magnitude_max(Int largest, Float v) {
    const IntTag d;
    return hn::Max(largest, hn::And(hn::BitCast(d, v), hn::Set(d, 0x7fffffff)));
}

HWY_INLINE void butterfly(Float & a, Float & b, Float & c, Float & d) {
    const Float sum01 = hn::Add(a, b), diff01 = hn::Sub(a, b);
    const Float sum23 = hn::Add(c, d), diff23 = hn::Sub(c, d);
    a = hn::Add(sum01, diff23);
    b = hn::Sub(sum01, diff23);
    c = hn::Add(sum23, diff01);
    d = hn::Sub(sum23, diff01);
}

// 1 and -1 in turn, each `run` times: with it a multiply-add adds in some lanes and subtracts in others. The
// product is exact, so the result is rounded like that of an addition.
HWY_INLINE Float signs(int run) {
    HWY_ALIGN float values[kLanes];
    for (int i = 0; i < kLanes; ++i) values[i] = i / run % 2 == 0 ? 1.0f : -1.0f;
    return hn::Load(FloatTag(), values);
}

// The stages within a block, with the constants they keep in registers.
//
// In registers wider than a quarter of a block a stage leaves its results in another order, such as
// y0 y2 -y3 y1, which saves half of its shuffles: stages of larger strides treat all lanes alike, and the
// codes are put in order instead, a register full at once. A changed sign changes no rounding.
class InBlock {
  public:
    HWY_INLINE InBlock() {}

    HWY_INLINE Float stage1(Float v) const {
        // a b c d -> a+b a-b c+d c-d
        const Float t = hn::MulAdd(v, signs1_, hn::Shuffle2301(v));
#    if HWY_MAX_BYTES >= 32
        return hn::MulAdd(t, halves1_, hn::Shuffle0123(t));
#    else
        return hn::MulAdd(hn::DupEven(hn::Shuffle0123(t)), signs1_, hn::DupEven(t));
#    endif
    }

    // The same with quarters of a block in place of lanes.
    HWY_INLINE void stage4(Block & b) const {
#    if HWY_MAX_BYTES == 64
        const Float t = hn::MulAdd(b.v[0], signs4_, hn::SwapAdjacentBlocks(b.v[0]));
        b.v[0] = hn::MulAdd(t, halves4_, hn::ReverseBlocks(FloatTag(), t));
#    elif HWY_MAX_BYTES == 32
        // Quarters 0 and 2, then 1 and 3, before and after.
        const Float sums = hn::Add(b.v[0], b.v[1]);
        const Float diffs = hn::SwapAdjacentBlocks(hn::Sub(b.v[0], b.v[1]));
        b.v[0] = hn::Add(sums, diffs);
        b.v[1] = hn::Sub(sums, diffs);
#    else
        butterfly(b.v[0], b.v[1], b.v[2], b.v[3]);
#    endif
    }

  private:
    Float signs1_ = signs(1);
#    if HWY_MAX_BYTES >= 32
    Float halves1_ = signs(2);
#    endif
#    if HWY_MAX_BYTES == 64
    Float signs4_ = signs(4), halves4_ = signs(8);
#    endif
};

// A block in the order that stage4 begins with.
HWY_INLINE void load_block(const float * x, Block & b) {
    const FloatTag d;
#    if HWY_MAX_BYTES == 32
    // Loads of quarters replace shuffles between the halves of registers.
    const hn::Half<FloatTag> quarter;
    for (int l = 0; l < kVectors; ++l)
        b.v[l] = hn::Combine(d, hn::LoadU(quarter, x + 8 + 4 * l), hn::LoadU(quarter, x + 4 * l));
#    else
    for (int l = 0; l < kVectors; ++l) b.v[l] = hn::LoadU(d, x + l * kLanes);
#    endif
}

HWY_INLINE void block_butterfly(Block & a, Block & b, Block & c, Block & d) {
    for (int i = 0; i < kVectors; ++i) butterfly(a.v[i], b.v[i], c.v[i], d.v[i]);
}

HWY_INLINE Int largest_of(const float * x, int64_t k) {
    Int largest = hn::Zero(IntTag());
    int64_t i = 0;
    for (; i + kLanes <= k; i += kLanes) largest = magnitude_max(largest, hn::LoadU(FloatTag(), x + i));
    return i == k ? largest : magnitude_max(largest, load_part(x + i, k - i));
}

constexpr int64_t kLine = 64; // bytes

// Elements from i on.
HWY_INLINE void fetch_floats(const float * p, int64_t i, int64_t n) {
    const uintptr_t first = uintptr_t(p) + size_t(i) * sizeof(float);
    for (size_t j = 0; j < size_t(n) * sizeof(float); j += size_t(kLine))
        __builtin_prefetch(reinterpret_cast<const void *>(first + j), 0, 2);
}

// Rotation asks memory for what comes: the lines that quantization will write, and x some way ahead, into the
// second level, since the first is full of the rotated row. Behind the end of x there mostly is the next
// row. If not, nothing happens: the address is a number that nobody dereferences. Distances were measured: a
// third of a row with the widest registers, a fixed one with narrower ones, up to a sixth of the rate apart.
HWY_INLINE int64_t ahead(const QuantizeRow & row) { return HWY_MAX_BYTES == 64 ? row.k / 3 : 1024; }
HWY_INLINE void fetch_ahead(const QuantizeRow & row, int64_t i, int64_t n) {
    for (int64_t j = i; j < i + n; j += kLine)
        __builtin_prefetch(reinterpret_cast<const void *>(uintptr_t(row.codes) + size_t(j)), 1, 2);
    if (row.next[0] == nullptr) fetch_floats(row.x, i + ahead(row), n);
    for (const float * next : row.next) {
        if (next != nullptr) fetch_floats(next, i, n);
    }
}

// Groups of 4, any number of them.
HWY_INLINE Int rotate_fours(const QuantizeRow & row) {
    const FloatTag d;
    const InBlock stages;
    const Float factor = hn::Set(d, rotation_factor(4));
    float * const y = row.scratch;
    Int largest = hn::Zero(IntTag());
    int64_t i = 0;
    for (; i + kLanes <= row.k; i += kLanes) {
        if (i % kLine == 0) fetch_ahead(row, i, kLine);
        const Float v = stages.stage1(hn::Mul(hn::LoadU(d, row.x + i), factor));
        largest = magnitude_max(largest, v);
        hn::StoreU(v, d, y + i);
    }
    if (i == row.k) return largest;
    const Float v = stages.stage1(hn::Mul(load_part(row.x + i, row.k - i), factor));
    store_part(v, y + i, row.k - i);
    return magnitude_max(largest, v);
}

// Elements [begin, end), in runs of kBlocks blocks, by the stages up to this width. Without kLast other
// stages follow, and magnitudes do not count yet.
template <int kBlocks, bool kLast>
HWY_INLINE Int rotate_blocks(const QuantizeRow & row, int64_t begin, int64_t end) {
    const FloatTag d;
    const InBlock stages;
    const Float factor = hn::Set(d, rotation_factor(row.group));
    float * const y = row.scratch;
    Int largest = hn::Zero(IntTag());
    for (int64_t i = begin; i < end; i += kBlocks * kBlock) {
        Block b[kBlocks];
        fetch_ahead(row, i, kBlocks * kBlock);
        for (int j = 0; j < kBlocks; ++j) {
            load_block(row.x + i + j * kBlock, b[j]);
            for (int l = 0; l < kVectors; ++l) b[j].v[l] = stages.stage1(hn::Mul(b[j].v[l], factor));
            stages.stage4(b[j]);
        }
        for (int j = 0; j + 3 < kBlocks; j += 4) block_butterfly(b[j], b[j + 1], b[j + 2], b[j + 3]);
        if constexpr (kBlocks == 16) {
            for (int j = 0; j < 4; ++j) block_butterfly(b[j], b[j + 4], b[j + 8], b[j + 12]);
        }
        for (int j = 0; j < kBlocks; ++j) {
            for (int l = 0; l < kVectors; ++l) {
                if (kLast) largest = magnitude_max(largest, b[j].v[l]);
                hn::StoreU(b[j].v[l], d, y + i + j * kBlock + l * kLanes);
            }
        }
    }
    return largest;
}

// One stage over a group of n elements.
template <bool kLast>
HWY_INLINE Int stage_in_memory(float * y, int64_t n, int64_t stride) {
    const FloatTag d;
    Int largest = hn::Zero(IntTag());
    for (int64_t run = 0; run < n; run += 4 * stride) {
        for (float * p = y + run; p < y + run + stride; p += kLanes) {
            Float v[4];
            for (int j = 0; j < 4; ++j) v[j] = hn::LoadU(d, p + j * stride);
            butterfly(v[0], v[1], v[2], v[3]);
            for (int j = 0; j < 4; ++j) {
                if (kLast) largest = magnitude_max(largest, v[j]);
                hn::StoreU(v[j], d, p + j * stride);
            }
        }
    }
    return largest;
}

// Group by group, so that the passes of a group find it in the first-level cache.
HWY_INLINE Int rotate_wide(const QuantizeRow & row) {
    Int largest = hn::Zero(IntTag());
    for (int64_t run = 0; run < row.k; run += row.group) {
        rotate_blocks<kRegisterBlocks, false>(row, run, run + row.group);
        int64_t stride = kRegisterBlocks * kBlock;
        for (; 4 * stride < row.group; stride *= 4)
            stage_in_memory<false>(row.scratch + run, row.group, stride);
        largest = hn::Max(largest, stage_in_memory<true>(row.scratch + run, row.group, stride));
    }
    return largest;
}

// Returns the largest magnitude.
HWY_INLINE Int rotate(const QuantizeRow & row) {
    if (row.group == 4) return rotate_fours(row);
    if (row.group == kBlock) return rotate_blocks<1, true>(row, 0, row.k);
    if (row.group == 4 * kBlock) return rotate_blocks<4, true>(row, 0, row.k);
    if (row.group == kRegisterBlocks * kBlock) return rotate_blocks<kRegisterBlocks, true>(row, 0, row.k);
    return rotate_wide(row);
}

#    if HWY_MAX_BYTES >= 32

using Words = hn::Vec<hn::Repartition<int16_t, IntTag>>;
#        if HWY_MAX_BYTES == 64
HWY_INLINE Int packed(Words low, Words high) { return Int{_mm512_packs_epi16(low.raw, high.raw)}; }
// To even; what is out of range does not occur.
HWY_INLINE Int rounded(Float v) { return Int{_mm512_cvtps_epi32(v.raw)}; }
#        else
HWY_INLINE Int packed(Words low, Words high) { return Int{_mm256_packs_epi16(low.raw, high.raw)}; }
HWY_INLINE Int rounded(Float v) { return Int{_mm256_cvtps_epi32(v.raw)}; }
#        endif

// Packing four registers to bytes leaves the first quarters of all four, then their next ones, and so on. How
// rotation left the elements of a quarter, and the quarters, is undone by the two shuffles that this takes
// anyway.
class Codes {
  public:
    static constexpr int kCount = 4 * kLanes;

    HWY_INLINE Codes(int group, float inverse) {
        alignas(64) float factors[kLanes];
        alignas(64) int32_t bytes[kLanes], quarters[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            const bool flips = (group >= 4 && i % 4 == 2) != (kLanes == 16 && group >= kBlock && i / 4 == 2);
            factors[i] = flips ? -inverse : inverse;
            bytes[i] = (group >= 4 ? 0x02010300 : 0x03020100) + i % 4 * 0x04040404;
            quarters[i] = place(i, group >= kBlock);
        }
        factor_ = hn::Load(FloatTag(), factors);
        bytes_ = hn::Load(IntTag(), bytes);
        quarters_ = hn::SetTableIndices(IntTag(), quarters);
    }

    HWY_INLINE void write(const float * y, int8_t * codes) const {
        const hn::Repartition<int16_t, IntTag> words;
        const hn::Repartition<int8_t, IntTag> out;
        const Words low = hn::ReorderDemote2To(words, code(y), code(y + kLanes));
        const Words high = hn::ReorderDemote2To(words, code(y + 2 * kLanes), code(y + 3 * kLanes));
        const Int in_quarters = hn::TableLookupBytes(packed(low, high), bytes_);
        hn::StoreU(hn::BitCast(out, hn::TableLookupLanes(in_quarters, quarters_)), out, codes);
    }

  private:
    // Where packing leaves quarter i of the result.
    static constexpr int place(int i, bool rotated) {
        const int block = i / 4, quarter = i % 4;
        if (kLanes == 16) {
            constexpr int kRotated[] = {0, 3, 1, 2};
            return 4 * (rotated ? kRotated[quarter] : quarter) + block;
        }
        const int half = rotated ? quarter / 2 : quarter % 2, vector = rotated ? quarter % 2 : quarter / 2;
        return 4 * half + 2 * block + vector;
    }
    HWY_INLINE Int code(const float * y) const { return rounded(hn::Mul(hn::LoadU(FloatTag(), y), factor_)); }

    Float factor_;
    Int bytes_;
    decltype(hn::SetTableIndices(IntTag(), static_cast<const int32_t *>(nullptr))) quarters_;
};

HWY_INLINE void write_codes(const float * y, float inverse, const QuantizeRow & row) {
    const Codes codes(row.group, inverse);
    int64_t i = 0;
    for (; i + Codes::kCount <= row.k; i += Codes::kCount) codes.write(y + i, row.codes + i);
    if (i == row.k) return;
    float rest[Codes::kCount] = {};
    int8_t last[Codes::kCount];
    std::memcpy(rest, y + i, size_t(row.k - i) * sizeof(float));
    codes.write(rest, last);
    std::memcpy(row.codes + i, last, size_t(row.k - i));
}

#    else

// Adding 1.5 * 2^23 leaves the integer nearest to v, ties to even, in the low bits of the sum.
HWY_INLINE void store_codes(Float v, int8_t * codes) {
    const hn::Rebind<uint8_t, FloatTag> bytes;
    const auto sum =
        hn::BitCast(hn::RebindToUnsigned<FloatTag>(), hn::Add(v, hn::Set(FloatTag(), 12582912.0f)));
    hn::StoreU(hn::TruncateTo(bytes, sum), bytes, reinterpret_cast<uint8_t *>(codes));
}

HWY_INLINE void write_codes(const float * y, float inverse, const QuantizeRow & row) {
    const FloatTag d;
    const Float factor = hn::Set(d, inverse);
    int64_t i = 0;
    for (; i + kLanes <= row.k; i += kLanes) store_codes(hn::Mul(hn::LoadU(d, y + i), factor), row.codes + i);
    if (i == row.k) return;
    int8_t part[kLanes];
    store_codes(hn::Mul(load_part(y + i, row.k - i), factor), part);
    std::memcpy(row.codes + i, part, size_t(row.k - i));
}

#    endif

void rotate_quantize(const QuantizeRow & row) {
    const float * y = row.group == 1 ? row.x : row.scratch;
    const Int largest = row.group == 1 ? largest_of(y, row.k) : rotate(row);
    const RowScale scale = RowScale::of(uint32_t(hn::GetLane(hn::MaxOfLanes(IntTag(), largest))));
    *row.scale = scale.scale;
    if (scale.zero_codes) {
        std::memset(row.codes, 0, size_t(row.k));
    } else {
        write_codes(y, scale.inverse, row);
    }
}
#endif // HWY_SCALAR

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(rotate_quantize);

void rotate_quantize_simd(const QuantizeRow & row) { HWY_DYNAMIC_DISPATCH(rotate_quantize)(row); }

} // namespace sd
#endif
