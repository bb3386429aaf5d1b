// Encoding asym_w4a8_int8 rows where registers have 32 bytes or more: the nearest of sixteen levels is found
// by halving, with tables of eight in registers. Every value goes through the arithmetic of w4a8_kernel.cpp
// in its order; what is left out are comparisons that cannot matter, as levels ascend. Registers of 64 bytes
// are not used whole: a run has two of 32, and tables of eight do for all.
#if defined(SD_QUANTIZE_W4A8_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef SD_QUANTIZE_W4A8_WIDE_INL_H_
#        undef SD_QUANTIZE_W4A8_WIDE_INL_H_
#    else
#        define SD_QUANTIZE_W4A8_WIDE_INL_H_
#    endif

#    include "checkpoint/values/codecs.h"
#    include "ops/common/float_vector-inl.h"
#    include "quantize/row_kernels.h"

#    include <algorithm>
#    include <array>
#    include <bit>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {

// Looked up: a run has one for sixteen values, and searching tries several.
HWY_INLINE float e4m3_value(uint8_t code) {
    static const std::array<float, 256> values = [] {
        std::array<float, 256> all;
        for (size_t i = 0; i < all.size(); ++i) all[i] = f8_e4m3_to_float(uint8_t(i));
        return all;
    }();
    return values[code];
}

#    undef SD_W4A8_WIDE // of the target before
#    if HWY_TARGET != HWY_SCALAR && HWY_MAX_BYTES >= 32
#        define SD_W4A8_WIDE 1
namespace wide {

using Tag = hn::CappedTag<float, 8>;
using IntTag = hn::RebindToSigned<Tag>;
using Vec = hn::Vec<Tag>;
using IntVec = hn::Vec<IntTag>;

constexpr int kLanes = 8, kFour = 4, kRunLength = int(kRelativeRun);
constexpr float kLeastScale = 1e-8f;

HWY_INLINE Vec look_up(Vec table, IntVec index) {
    return hn::TableLookupLanes(table, hn::IndicesFromVec(Tag(), index));
}
HWY_INLINE IntVec add_where(hn::Mask<Tag> mask, IntVec to, int what) {
    const IntTag d;
    return hn::IfThenElse(hn::RebindMask(d, mask), hn::Add(to, hn::Set(d, what)), to);
}
HWY_INLINE Vec swap_halves(Vec v) { return hn::ConcatLowerUpper(Tag(), v, v); }

// Bits of a level's number come in the order in which halving finds them, the first one lowest: lane 1 + 4
// belongs to the numbers 8 + 2 and 8 + 2 + 1.
constexpr int number_of_lane(int lane) { return 8 * (lane & 1) + 4 * (lane >> 1 & 1) + 2 * (lane >> 2 & 1); }

// Sixteen levels: those with even numbers, and those that follow them.
struct Levels {
    Vec even, odd;
};
HWY_INLINE Levels levels_of(const float * book) {
    HWY_ALIGN float even[kLanes], odd[kLanes];
    for (int i = 0; i < kLanes; ++i) {
        even[i] = book[number_of_lane(i)];
        odd[i] = book[number_of_lane(i) + 1];
    }
    return {hn::Load(Tag(), even), hn::Load(Tag(), odd)};
}

// The middles between neighbours, by the step that asks for them.
class Middles {
  public:
    HWY_INLINE explicit Middles(const Levels & l) {
        const IntTag i;
        first_ = middle(look_up(l.odd, hn::Set(i, 6)), look_up(l.even, hn::Set(i, 1))); // 7, 8
        const IntVec lane = hn::And(hn::Iota(i, 0), hn::Set(i, 1));
        second_ = middle(look_up(l.odd, hn::Add(lane, hn::Set(i, 4))),   // 3, 11
                         look_up(l.even, hn::Add(lane, hn::Set(i, 2)))); // 4, 12
        third_ = middle(l.odd, swap_halves(l.even));                     // 1, 9, 5, 13 and 2, 10, 6, 14
        fourth_ = middle(l.even, l.odd);
    }

    // The lane of the nearest level, and whether it is the odd one. What is above a middle is nearer to the
    // upper level; what lies on one takes the lower.
    HWY_INLINE IntVec nearest(Vec target, hn::Mask<Tag> & odd) const {
        const IntTag i;
        const auto first = hn::Lt(first_, target);
        IntVec lane = hn::IfThenElseZero(hn::RebindMask(i, first), hn::Set(i, 1));
        lane = add_where(hn::Lt(look_up(second_, lane), target), lane, 2);
        lane = add_where(hn::Lt(look_up(third_, lane), target), lane, 4);
        odd = hn::Lt(look_up(fourth_, lane), target);
        return lane;
    }

  private:
    static HWY_INLINE Vec middle(Vec a, Vec b) { return hn::Mul(hn::Add(a, b), hn::Set(Tag(), 0.5f)); }
    Vec first_, second_, third_, fourth_;
};

HWY_INLINE Vec level_at(const Levels & levels, IntVec lane, hn::Mask<Tag> odd) {
    return hn::IfThenElse(odd, look_up(levels.odd, lane), look_up(levels.even, lane));
}

// Four runs, turned: v[p][e] has the elements 8 p + e of all in its lower half, and 8 p + 4 + e in the upper
// one.
struct Four {
    HWY_INLINE Four() {}
    Vec v[2][4];
};

HWY_INLINE void load_four(const float * r, Four & out) {
    const Tag d;
    const hn::Repartition<double, Tag> pairs;
    const auto low = [&](Vec a, Vec b) {
        return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    const auto high = [&](Vec a, Vec b) {
        return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    for (int p = 0; p < 2; ++p) {
        Vec run[kFour];
        for (int i = 0; i < kFour; ++i) run[i] = hn::LoadU(d, r + i * kRunLength + p * kLanes);
        const Vec low01 = hn::InterleaveLower(d, run[0], run[1]),
                  low23 = hn::InterleaveLower(d, run[2], run[3]);
        const Vec high01 = hn::InterleaveUpper(d, run[0], run[1]),
                  high23 = hn::InterleaveUpper(d, run[2], run[3]);
        out.v[p][0] = low(low01, low23);
        out.v[p][1] = high(low01, low23);
        out.v[p][2] = low(high01, high23);
        out.v[p][3] = high(high01, high23);
    }
}

// In the order of w4a8_kernel.cpp; the same in both halves.
HWY_INLINE Vec sum(const Four & a) {
    Vec s[4];
    for (int e = 0; e < 4; ++e) s[e] = hn::Add(a.v[0][e], a.v[1][e]);
    const Vec half = hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]));
    return hn::Add(half, swap_halves(half));
}

// The largest values of four runs in the lower half, the smallest in the upper one.
HWY_INLINE Vec extremes(const Four & a) {
    Vec most = a.v[0][0], least = most;
    for (int p = 0; p < 2; ++p) {
        for (int e = 0; e < 4; ++e) {
            most = hn::Max(most, a.v[p][e]);
            least = hn::Min(least, a.v[p][e]);
        }
    }
    const Tag d;
    return hn::ConcatUpperLower(d, hn::Min(least, swap_halves(least)), hn::Max(most, swap_halves(most)));
}
HWY_INLINE Vec magnitude(Vec extremes) {
    extremes = hn::Abs(extremes);
    return hn::Max(extremes, swap_halves(extremes));
}

HWY_INLINE Vec nearest_level(Vec target, const Levels & book, const Middles & middles) {
    hn::Mask<Tag> odd;
    const IntVec lane = middles.nearest(target, odd);
    return level_at(book, lane, odd);
}

// The scales of four runs; `largest` as there. That of the last levels is asked for and they are not, and
// levels are in the order of their values, as products with the scale are.
HWY_INLINE Vec fit_four(const float * r, const Levels & book, const Middles & middles, Vec & largest) {
    const Tag d;
    const Vec least = hn::Set(d, kLeastScale);
    Four runs, product, square;
    load_four(r, runs);
    const Vec ends = extremes(runs);
    Vec scale = hn::Max(magnitude(ends), least);
    for (int pass = 0; pass < 2; ++pass) {
        for (int p = 0; p < 2; ++p) {
            for (int e = 0; e < 4; ++e) {
                const Vec v = runs.v[p][e], level = nearest_level(hn::Div(v, scale), book, middles);
                product.v[p][e] = hn::Mul(v, level);
                square.v[p][e] = hn::Mul(level, level);
            }
        }
        scale = hn::Max(hn::Div(sum(product), hn::Max(sum(square), least)), least);
    }
    const Vec last = magnitude(nearest_level(hn::Div(ends, scale), book, middles));
    largest = hn::Max(largest, hn::Mul(last, scale));
    return scale;
}

// Scales of all runs, to row.scratch; the largest magnitude that they and the levels make.
HWY_INLINE float fit_row(const W4a8Row & row, const Levels & book, const Middles & middles) {
    const Tag d;
    const hn::CappedTag<float, kFour> four;
    const int64_t runs = row.k / kRunLength;
    Vec largest = hn::Zero(d);
    int64_t run = 0;
    for (; run + kFour <= runs; run += kFour)
        hn::StoreU(hn::LowerHalf(four, fit_four(row.r + run * kRunLength, book, middles, largest)), four,
                   row.scratch + run);
    if (run < runs) {
        HWY_ALIGN float last[kFour * kRunLength] = {}, scales[kFour];
        std::copy(row.r + run * kRunLength, row.r + row.k, last);
        hn::Store(hn::LowerHalf(four, fit_four(last, book, middles, largest)), four, scales);
        std::copy_n(scales, runs - run, row.scratch + run);
    }
    return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// E4M3 of numbers that are not negative, as float_to_f8_e4m3.
HWY_INLINE IntVec e4m3_codes(Vec v) {
    const Tag d;
    const IntTag i;
    constexpr int kCut = 20; // bits of the mantissa beyond three
    const IntVec bits = hn::BitCast(i, v);
    const IntVec even = hn::And(hn::ShiftRight<kCut>(bits), hn::Set(i, 1));
    const IntVec rounded =
        hn::ShiftRight<kCut>(hn::Add(hn::Add(bits, hn::Set(i, (1 << (kCut - 1)) - 1)), even));
    const IntVec normal = hn::Min(hn::Sub(rounded, hn::Set(i, (127 - 7) << 3)), hn::Set(i, 0x7e));
    const auto is_small = hn::Lt(v, hn::Set(d, 0x1p-6f));
    return hn::IfThenElse(hn::RebindMask(i, is_small), hn::NearestInt(hn::Mul(v, hn::Set(d, 0x1p9f))),
                          normal);
}

HWY_INLINE void code_scales(const W4a8Row & row) {
    const Tag d;
    const hn::Rebind<uint8_t, Tag> bytes;
    const Vec channel = hn::Set(d, *row.channel);
    const int64_t runs = row.k / kRunLength;
    for (int64_t run = 0; run < runs; run += kLanes) {
        const int64_t count = std::min<int64_t>(kLanes, runs - run);
        HWY_ALIGN float scales[kLanes] = {};
        HWY_ALIGN uint8_t codes[kLanes];
        std::copy_n(row.scratch + run, count, scales);
        hn::Store(hn::DemoteTo(bytes, e4m3_codes(hn::Div(hn::Load(d, scales), channel))), bytes, codes);
        std::copy_n(codes, count, row.relative + run);
    }
}

// Of the 8-bit grid that a relative scale makes.
HWY_INLINE Vec grid_of(Vec book, Vec relative) {
    const Vec most = hn::Set(Tag(), 127.0f);
    return hn::Min(hn::Max(hn::Round(hn::Mul(book, relative)), hn::Neg(most)), most); // to even
}

// Numbers of levels as bytes of two; errors by place in the run, as value_error adds them.
class Chooser {
  public:
    HWY_INLINE Chooser(const W4a8Row & row, const Levels & book) : book_(book) {
        const IntTag i;
        HWY_ALIGN int32_t numbers[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = number_of_lane(lane);
        numbers_ = hn::BitCast(Tag(), hn::Load(i, numbers));
        channel_ = hn::Set(Tag(), *row.channel);
        for (int p = 0; p < 2; ++p) error_[p] = size_[p] = hn::Zero(Tag());
    }

    HWY_INLINE void run(const float * r, float relative, std::byte * packed) {
        const Tag d;
        const Vec scale = hn::Set(d, relative);
        const Middles middles({grid_of(book_.even, scale), grid_of(book_.odd, scale)});
        for (int p = 0; p < 2; ++p) {
            const Vec v = hn::LoadU(d, r + p * kLanes);
            hn::Mask<Tag> odd;
            const IntVec lane = middles.nearest(hn::Div(v, channel_), odd);
            const IntVec number = hn::BitCast(IntTag(), look_up(numbers_, lane));
            pack(add_where(odd, number, 1), packed + p * kLanes / 2);
            const Vec decoded = hn::Mul(hn::Mul(level_at(book_, lane, odd), scale), channel_);
            const Vec error = hn::Sub(v, decoded);
            error_[p] = hn::Add(error_[p], hn::Mul(error, error));
            size_[p] = hn::Add(size_[p], hn::Mul(v, v));
        }
    }

    HWY_INLINE ErrorSums sums() const {
        HWY_ALIGN float error[2 * kLanes], size[2 * kLanes];
        for (int p = 0; p < 2; ++p) {
            hn::Store(error_[p], Tag(), error + p * kLanes);
            hn::Store(size_[p], Tag(), size + p * kLanes);
        }
        ErrorSums all;
        for (int i = 0; i < 2 * kLanes; ++i) all.add({double(error[i]), double(size[i])});
        return all;
    }

  private:
    static HWY_INLINE void pack(IntVec numbers, std::byte * packed) {
        const hn::Repartition<uint64_t, IntTag> pairs;
        const hn::Rebind<uint8_t, decltype(pairs)> bytes;
        const auto both = hn::BitCast(pairs, numbers);
        // The upper number of a pair, from bit 32 to bit 4.
        hn::StoreU(hn::TruncateTo(bytes, hn::Or(both, hn::ShiftRight<28>(both))), bytes,
                   reinterpret_cast<uint8_t *>(packed));
    }

    const Levels book_;
    Vec numbers_, channel_, error_[2], size_[2];
};

HWY_INLINE ErrorSums encode(const W4a8Row & row) {
    const Levels book = levels_of(row.book);
    const float largest = fit_row(row, book, Middles(book));
    *row.channel = std::max(largest / 127.0f, kLeastScale);
    code_scales(row);
    Chooser chooser(row, book);
    for (int64_t run = 0; run < row.k / kRunLength; ++run)
        chooser.run(row.r + run * kRunLength, e4m3_value(row.relative[run]),
                    row.packed + run * kRunLength / 2);
    return chooser.sums();
}

} // namespace wide
#    endif

} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
