#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize/w4a8_kernel.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "checkpoint/values/codecs.h"
#include "ops/common/float_vector-inl.h"
#include "quantize/row_kernels.h"
#include "quantize/w4a8_wide-inl.h"

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// A lane for each run of sixteen: what a run does, its lane does alone, and no sum crosses lanes, so the
// width of registers changes nothing.
constexpr int kRun = int(kRelativeRun);
constexpr int kMostLanes = HWY_MAX_BYTES / int(sizeof(float));
constexpr float kLeastScale = 1e-8f;
constexpr int kRefinements = 2;

struct Runs {
    HWY_INLINE Runs() {}
    Float v[kRun];
};

// Element j of the runs from `first` on; runs beyond the end are zeros.
HWY_INLINE void load_runs(const float * r, int64_t first, int64_t count, Runs & runs) {
    HWY_ALIGN float columns[kRun][kMostLanes] = {};
    for (int64_t l = 0; l < count; ++l) {
        for (int j = 0; j < kRun; ++j) columns[j][l] = r[(first + l) * kRun + j];
    }
    for (int j = 0; j < kRun; ++j) runs.v[j] = hn::Load(FloatTag(), columns[j]);
}

// In the order in which numpy adds sixteen numbers, so that scales equal the reference's.
HWY_INLINE Float sum(const Runs & a) {
    Float s[8];
    for (int j = 0; j < 8; ++j) s[j] = hn::Add(a.v[j], a.v[j + 8]);
    return hn::Add(hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3])),
                   hn::Add(hn::Add(s[4], s[5]), hn::Add(s[6], s[7])));
}

// The middles between neighbours of ascending levels. What is above one is nearer to the upper level; what
// lies on one takes the lower.
struct Middles {
    HWY_INLINE Middles() {}
    Float v[kLevels - 1];
};
HWY_INLINE void find_middles(const Runs & levels, Middles & middles) {
    const Float half = hn::Set(FloatTag(), 0.5f);
    for (int i = 0; i + 1 < kLevels; ++i) middles.v[i] = hn::Mul(hn::Add(levels.v[i], levels.v[i + 1]), half);
}

HWY_INLINE Float nearest_level(Float target, const Runs & levels, const Middles & middles) {
    Float level = levels.v[0];
    for (int i = 0; i + 1 < kLevels; ++i)
        level = hn::IfThenElse(hn::Lt(middles.v[i], target), levels.v[i + 1], level);
    return level;
}

// Two sums, so that additions need not wait for each other; they are whole numbers.
HWY_INLINE Float nearest_number(Float target, const Middles & middles) {
    const Float one = hn::Set(FloatTag(), 1.0f);
    Float even = hn::Zero(FloatTag()), odd = even;
    for (int i = 0; i + 1 < kLevels; ++i) {
        Float & sum = i % 2 == 0 ? even : odd;
        sum = hn::Add(sum, hn::IfThenElseZero(hn::Lt(middles.v[i], target), one));
    }
    return hn::Add(even, odd);
}

// Scales of these runs with least squares; and the largest magnitude of what they make of the levels.
HWY_INLINE Float fit(const Runs & runs, const Runs & book, const Middles & middles, Float & largest) {
    const FloatTag d;
    const Float least = hn::Set(d, kLeastScale);
    Float scale = least;
    for (int j = 0; j < kRun; ++j) scale = hn::Max(scale, hn::Abs(runs.v[j]));
    Runs level;
    for (int j = 0; j < kRun; ++j) level.v[j] = nearest_level(hn::Div(runs.v[j], scale), book, middles);
    for (int pass = 0; pass < kRefinements; ++pass) {
        Runs product, square;
        for (int j = 0; j < kRun; ++j) {
            product.v[j] = hn::Mul(runs.v[j], level.v[j]);
            square.v[j] = hn::Mul(level.v[j], level.v[j]);
        }
        scale = hn::Max(hn::Div(sum(product), hn::Max(sum(square), least)), least);
        for (int j = 0; j < kRun; ++j) level.v[j] = nearest_level(hn::Div(runs.v[j], scale), book, middles);
    }
    for (int j = 0; j < kRun; ++j) largest = hn::Max(largest, hn::Abs(hn::Mul(level.v[j], scale)));
    return scale;
}

// The levels of the 8-bit grid that a relative scale makes.
HWY_INLINE void make_grid(const Runs & book, Float relative, Runs & grid) {
    const Float most = hn::Set(FloatTag(), 127.0f);
    for (int i = 0; i < kLevels; ++i) {
        const Float level = hn::Round(hn::Mul(book.v[i], relative)); // to even
        grid.v[i] = hn::Min(hn::Max(level, hn::Neg(most)), most);
    }
}

// The level of the book that goes with a number.
HWY_INLINE Float level_of(Float number, const Runs & book) {
    Float level = book.v[0];
    for (int i = 1; i < kLevels; ++i)
        level = hn::IfThenElse(hn::Lt(number, hn::Set(FloatTag(), float(i))), level, book.v[i]);
    return level;
}

// Level numbers of some runs, and their relative scales as codes.
struct Chosen {
    HWY_ALIGN float numbers[kRun][kMostLanes];
    uint8_t codes[kMostLanes];
};

// With the relative scales that are there.
HWY_INLINE void choose(const Runs & quotients, const Runs & book, Chosen & chosen) {
    const FloatTag d;
    HWY_ALIGN float relative[kMostLanes] = {};
    for (int l = 0; l < float_lanes(); ++l) relative[l] = e4m3_value(chosen.codes[l]);
    Runs grid;
    Middles middles;
    make_grid(book, hn::Load(d, relative), grid);
    find_middles(grid, middles);
    for (int j = 0; j < kRun; ++j) hn::Store(nearest_number(quotients.v[j], middles), d, chosen.numbers[j]);
}

// Squared errors of the decoded values, by run.
HWY_INLINE Float error_of(const Runs & runs, const Runs & book, const Chosen & chosen, float channel) {
    const FloatTag d;
    HWY_ALIGN float relative[kMostLanes] = {};
    for (int l = 0; l < float_lanes(); ++l) relative[l] = e4m3_value(chosen.codes[l]);
    const Float scale = hn::Load(d, relative), factor = hn::Set(d, channel);
    Runs squares;
    for (int j = 0; j < kRun; ++j) {
        const Float level = level_of(hn::Load(d, chosen.numbers[j]), book);
        const Float error = hn::Sub(runs.v[j], hn::Mul(hn::Mul(level, scale), factor));
        squares.v[j] = hn::Mul(error, error);
    }
    return sum(squares);
}

// The best of the relative scales up to kReach codes away: an eighth each, so half as large to twice as
// large.
constexpr int kReach = 4, kMostCode = 0x7e;
HWY_INLINE void search(const Runs & runs, const Runs & quotients, const Runs & book, float channel,
                       Chosen & chosen) {
    const FloatTag d;
    HWY_ALIGN float best[kMostLanes], errors[kMostLanes];
    hn::Store(error_of(runs, book, chosen, channel), d, best);
    const Chosen first = chosen;
    for (int step = -kReach; step <= kReach; ++step) {
        if (step == 0) continue;
        Chosen other;
        for (int l = 0; l < float_lanes(); ++l)
            other.codes[l] = uint8_t(std::clamp(int(first.codes[l]) + step, 1, kMostCode));
        choose(quotients, book, other);
        hn::Store(error_of(runs, book, other, channel), d, errors);
        for (int l = 0; l < float_lanes(); ++l) {
            if (!(errors[l] < best[l])) continue;
            best[l] = errors[l];
            chosen.codes[l] = other.codes[l];
            for (int j = 0; j < kRun; ++j) chosen.numbers[j][l] = other.numbers[j][l];
        }
    }
}

// Levels of `count` runs, whose relative scales are there.
HWY_INLINE void encode_runs(const W4a8Row & row, int64_t first, int64_t count, const Runs & book) {
    const Float channel = hn::Set(FloatTag(), *row.channel);
    Runs runs, quotients;
    load_runs(row.r, first, count, runs);
    for (int j = 0; j < kRun; ++j) quotients.v[j] = hn::Div(runs.v[j], channel);
    Chosen chosen = {};
    std::copy_n(row.relative + first, count, chosen.codes);
    choose(quotients, book, chosen);
    if (row.search) search(runs, quotients, book, *row.channel, chosen);
    std::copy_n(chosen.codes, count, row.relative + first);
    for (int64_t l = 0; l < count; ++l) {
        std::byte * const packed = row.packed + (first + l) * kRun / 2;
        for (int j = 0; j < kRun / 2; ++j)
            packed[j] = std::byte(int(chosen.numbers[2 * j][l]) | int(chosen.numbers[2 * j + 1][l]) << 4);
    }
}

void encode_narrow(const W4a8Row & row) {
    const FloatTag d;
    const int64_t runs = row.k / kRun, lanes = float_lanes();
    Runs book;
    for (int i = 0; i < kLevels; ++i) book.v[i] = hn::Set(d, row.book[i]);
    Middles middles;
    find_middles(book, middles);
    Float largest = hn::Zero(d);
    for (int64_t first = 0; first < runs; first += lanes) {
        const int64_t count = std::min(lanes, runs - first);
        Runs some;
        load_runs(row.r, first, count, some);
        HWY_ALIGN float scales[kMostLanes];
        hn::Store(fit(some, book, middles, largest), d, scales);
        std::copy_n(scales, count, row.scratch + first);
    }
    const float channel = std::max(hn::GetLane(hn::MaxOfLanes(d, largest)) / 127.0f, kLeastScale);
    *row.channel = channel;
    for (int64_t i = 0; i < runs; ++i) row.relative[i] = float_to_f8_e4m3(row.scratch[i] / channel);
    for (int64_t first = 0; first < runs; first += lanes)
        encode_runs(row, first, std::min(lanes, runs - first), book);
}

void decode_w4a8(const W4a8Row & row, float * decoded) {
    for (int64_t run = 0; run < row.k / kRun; ++run) {
        const float relative = e4m3_value(row.relative[run]);
        for (int64_t j = 0; j < kRun; ++j) {
            const int byte = int(row.packed[(run * kRun + j) / 2]);
            decoded[run * kRun + j] = row.book[j % 2 == 0 ? byte & 15 : byte >> 4] * relative * *row.channel;
        }
    }
}

ErrorSums encode_w4a8(const W4a8Row & row) {
#ifdef SD_W4A8_WIDE
    if (!row.search) return wide::encode(row);
#endif
    encode_narrow(row);
    HWY_NAMESPACE::decode_w4a8(row, row.decoded);
    return value_error(row.r, row.decoded, row.k);
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(encode_w4a8);
HWY_EXPORT(decode_w4a8);

ErrorSums encode_w4a8(const W4a8Row & row) { return HWY_DYNAMIC_DISPATCH(encode_w4a8)(row); }
void decode_w4a8(const W4a8Row & row, float * decoded) { HWY_DYNAMIC_DISPATCH(decode_w4a8)(row, decoded); }

} // namespace sd
#endif
