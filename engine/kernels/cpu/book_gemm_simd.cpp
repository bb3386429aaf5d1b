#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/book_gemm_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "kernels/cpu/book_gemm.h"
#include "kernels/cpu/e4m3.h"
#include "ops/common/float_vector-inl.h"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR
const BookGemm * table() { return &book_gemm_scalar(); }
#else

// Tiles of six rows by four vectors where there are 32 registers, by two where there are 16: sums, the
// vectors of a step and one activation fit into them.
constexpr int kLanes = HWY_MAX_BYTES / int(sizeof(float));
constexpr int kRows = kBookMaxTileRows, kVectors = HWY_ARCH_X86 && kLanes < 16 ? 2 : 4;
constexpr int kColumns = kVectors * kLanes;
static_assert(kColumns <= kBookMaxColumns);

using IntTag = hn::RebindToSigned<FloatTag>;
using Int = hn::Vec<IntTag>;

// The codebook in registers. Implicit constructors would be compiled for the baseline.
class Book {
  public:
    HWY_INLINE explicit Book(const float * levels) {
        for (int i = 0; i < kTables; ++i) table_[i] = hn::LoadU(FloatTag(), levels + i * kLanes);
    }

    // Levels of the low four bits, whatever is above them.
    HWY_INLINE Float operator[](Int index) const {
#    if HWY_MAX_BYTES == 64
        return Float{_mm512_permutexvar_ps(index.raw, table_[0].raw)};
#    else
        const FloatTag d;
        const IntTag di;
        const Int nibble = hn::And(index, hn::Set(di, 15));
        const auto lane = hn::IndicesFromVec(d, hn::And(index, hn::Set(di, kLanes - 1)));
        Float level = hn::TableLookupLanes(table_[0], lane);
        for (int i = 1; i < kTables; ++i) {
            const auto higher = hn::RebindMask(d, hn::Gt(nibble, hn::Set(di, i * kLanes - 1)));
            level = hn::IfThenElse(higher, hn::TableLookupLanes(table_[i], lane), level);
        }
        return level;
#    endif
    }

  private:
    static constexpr int kTables = 16 / kLanes;
    Float table_[kTables];
};

// A piece of some weight rows on its way into a panel: what lies at the same place of each row is side by
// side.
constexpr int kPieceK = 128;
struct Piece {
    int32_t eights[kPieceK / 8][kColumns]; // eight indices each
    float scales[kPieceK / 16][kColumns];

    void read(const BookWeights & w, int64_t first, int n, int64_t k0, int64_t k) {
        for (int c = 0; c < n; ++c) {
            const uint8_t * indices = w.indices + (first + c) * (w.k / 2) + k0 / 2;
            const uint8_t * relative = w.relative + (first + c) * (w.k / 16) + k0 / 16;
            for (int64_t j = 0; j < k / 8; ++j) std::memcpy(&eights[j][c], indices + 4 * j, sizeof(int32_t));
            for (int64_t g = 0; g < k / 16; ++g) scales[g][c] = kE4m3Values[relative[g]];
        }
    }
};

void pack_panel(float * panel, const BookWeights & w, int64_t first, int n, int64_t k0, int64_t k) {
    const FloatTag d;
    const IntTag di;
    const Book book(w.codebook);
    HWY_ALIGN Piece piece = {};
    for (int64_t i = 0; i < k; i += kPieceK) {
        const int64_t part = k - i < kPieceK ? k - i : kPieceK;
        piece.read(w, first, n, k0 + i, part);
        for (int64_t j = 0; j < part / 8; ++j) {
            for (int c = 0; c < kColumns; c += kLanes, panel += kLanes) {
                Int eight = hn::Load(di, piece.eights[j] + c);
                const Float scale = hn::Load(d, piece.scales[j / 2] + c);
                for (int b = 0; b < 8; ++b) {
                    hn::Store(hn::Mul(book[eight], scale), d, panel + b * kColumns);
                    eight = hn::ShiftRight<4>(eight);
                }
            }
            panel += 7 * kColumns;
        }
    }
}

template <int kNow>
HWY_INLINE void tile_rows(float * sums, const float * panel, const float * acts, int64_t k) {
    const FloatTag d;
    Float acc[kNow][kVectors];
#    pragma GCC unroll 8
    for (int r = 0; r < kNow; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
    }
    for (int64_t i = 0; i < k; ++i, panel += kColumns, acts += kNow) {
        Float w[kVectors];
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) w[v] = hn::Load(d, panel + v * kLanes);
#    pragma GCC unroll 8
        for (int r = 0; r < kNow; ++r) {
            const Float a = hn::Set(d, acts[r]);
#    pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(w[v], a, acc[r][v]);
        }
    }
#    pragma GCC unroll 8
    for (int r = 0; r < kNow; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) hn::Store(acc[r][v], d, sums + r * kColumns + v * kLanes);
    }
}

void tile(float * sums, const float * panel, const float * acts, int m, int64_t k) {
    switch (m) {
    case 1: return tile_rows<1>(sums, panel, acts, k);
    case 2: return tile_rows<2>(sums, panel, acts, k);
    case 3: return tile_rows<3>(sums, panel, acts, k);
    case 4: return tile_rows<4>(sums, panel, acts, k);
    case 5: return tile_rows<5>(sums, panel, acts, k);
    default: return tile_rows<6>(sums, panel, acts, k);
    }
}

// Dot products take one lane for each eight columns, so that four bytes of a lane are looked up without being
// taken apart and a scale belongs to two lanes. Activations lie in that order: by runs of kRun columns, in a
// run column b of all lanes together.
constexpr int kRun = 8 * kLanes;

void prepare_row(float * row, const int8_t * codes, int64_t k) {
    for (int64_t i = 0; i < k; i += kRun, row += kRun) {
        for (int j = 0; j < kRun; ++j) {
            const int64_t column = i + j % kLanes * 8 + j / kLanes;
            row[j] = column < k ? float(codes[column]) : 0.0f;
        }
    }
}

// Decodes the scales of a run (see e4m3.h).
class Scales {
  public:
    HWY_INLINE Scales() {
        HWY_ALIGN uint8_t places[4 * kLanes]; // each byte becomes the upper one of two lanes
        for (int i = 0; i < 4 * kLanes; ++i) places[i] = i % 4 == 3 ? uint8_t(i / 8) : uint8_t(0x80);
        places_ = hn::Load(ByteTag(), places);
    }
    HWY_INLINE Float operator()(const uint8_t * relative) const {
        const FloatTag d;
        const IntTag di;
        uint64_t scales = 0;
        std::memcpy(&scales, relative, kLanes / 2);
        const auto everywhere =
            hn::BitCast(ByteTag(), hn::Set(hn::Repartition<uint64_t, FloatTag>(), scales));
        const Int byte = hn::BitCast(di, hn::TableLookupBytesOr0(everywhere, places_));
        // The sign goes to all upper bits and what is too many of it away again.
        const Int bits = hn::And(hn::ShiftRight<4>(byte), hn::Set(di, int32_t(0x87f00000)));
        const Int magnitude = hn::And(bits, hn::Set(di, 0x07f00000));
        const Float value = hn::Mul(hn::BitCast(d, bits), hn::Set(d, 0x1p120f));
        const auto is_nan = hn::RebindMask(d, hn::Eq(magnitude, hn::Set(di, 0x07f00000)));
        return hn::IfThenElse(is_nan, hn::Set(d, kE4m3Values[0x7f]), value);
    }

  private:
    using ByteTag = hn::Repartition<uint8_t, FloatTag>;
    hn::Vec<ByteTag> places_;
};

// Some weight rows side by side; the last one stands in for those that do not exist.
template <int kSide>
struct Side {
    const uint8_t *indices[kSide], *relative[kSide];

    HWY_INLINE Side(const BookWeights & w, int64_t first, int n) {
        for (int c = 0; c < kSide; ++c) {
            const int64_t row = first + (c < n ? c : n - 1);
            indices[c] = w.indices + row * (w.k / 2);
            relative[c] = w.relative + row * (w.k / 16);
        }
    }
};

// The part of a run that is left at the end of a row. Beyond it are indices of the same row, which are
// multiplied by activations that are zero.
template <int kSide>
struct LastRun {
    uint8_t indices[kSide][kRun / 2], relative[kSide][kRun / 16];

    LastRun(const Side<kSide> & side, int64_t from, int64_t k) {
        for (int c = 0; c < kSide; ++c) {
            for (int64_t j = 0; j < kRun / 2; ++j)
                indices[c][j] = side.indices[c][from + 2 * j < k ? from / 2 + j : 0];
            for (int64_t g = 0; g < kRun / 16; ++g)
                relative[c][g] = from + 16 * g < k ? side.relative[c][from / 16 + g] : 0;
        }
    }
};

template <int kNow, int kSide>
struct Sums {
    Float of[kNow][kSide];

    HWY_INLINE Sums() {
        for (int r = 0; r < kNow; ++r) {
            for (int c = 0; c < kSide; ++c) of[r][c] = hn::Zero(FloatTag());
        }
    }

    // One run: the sum of each lane's products, times its scale.
    HWY_INLINE void add(const Book & book, const Scales & scales, const uint8_t * const (&indices)[kSide],
                        const uint8_t * const (&relative)[kSide], const float * x, int64_t row_stride) {
        const FloatTag d;
        const hn::Repartition<uint8_t, FloatTag> bytes;
        Float run[kNow][kSide];
        Int eight[kSide];
#    pragma GCC unroll 8
        for (int c = 0; c < kSide; ++c) eight[c] = hn::BitCast(IntTag(), hn::LoadU(bytes, indices[c]));
#    pragma GCC unroll 8
        for (int b = 0; b < 8; ++b) {
#    pragma GCC unroll 8
            for (int c = 0; c < kSide; ++c) {
                const Float level = book[eight[c]];
                eight[c] = hn::ShiftRight<4>(eight[c]);
#    pragma GCC unroll 8
                for (int r = 0; r < kNow; ++r) {
                    const Float v = hn::LoadU(d, x + r * row_stride + b * kLanes);
                    run[r][c] = b == 0 ? hn::Mul(level, v) : hn::MulAdd(level, v, run[r][c]);
                }
            }
        }
#    pragma GCC unroll 8
        for (int c = 0; c < kSide; ++c) {
            const Float scale = scales(relative[c]);
#    pragma GCC unroll 8
            for (int r = 0; r < kNow; ++r) of[r][c] = hn::MulAdd(run[r][c], scale, of[r][c]);
        }
    }
};

template <int kNow, int kSide>
HWY_INLINE void dots_side(float * sums, int64_t sums_stride, const BookWeights & w, const Book & book,
                          int64_t first, int n, const float * rows, int64_t row_stride) {
    const Scales scales;
    Side<kSide> side(w, first, n);
    Sums<kNow, kSide> acc;
    int64_t i = 0;
    for (; i + kRun <= w.k; i += kRun) {
        const uint8_t *indices[kSide], *relative[kSide];
        for (int c = 0; c < kSide; ++c) {
            indices[c] = side.indices[c] + i / 2;
            relative[c] = side.relative[c] + i / 16;
            // What comes after these rows, which the processor does not foresee (see dots4 of INT8 products).
            const uintptr_t next = uintptr_t(indices[c]) + uintptr_t(kSide * (w.k / 2));
            __builtin_prefetch(reinterpret_cast<const void *>(next), 0, 2);
        }
        acc.add(book, scales, indices, relative, rows + i, row_stride);
    }
    if (i < w.k) {
        const LastRun<kSide> last(side, i, w.k);
        const uint8_t *indices[kSide], *relative[kSide];
        for (int c = 0; c < kSide; ++c) {
            indices[c] = last.indices[c];
            relative[c] = last.relative[c];
        }
        acc.add(book, scales, indices, relative, rows + i, row_stride);
    }
    for (int r = 0; r < kNow; ++r) {
        for (int c = 0; c < n; ++c)
            sums[r * sums_stride + c] = hn::GetLane(hn::SumOfLanes(FloatTag(), acc.of[r][c]));
    }
}

template <int kNow>
void dots_rows(float * sums, int64_t sums_stride, const BookWeights & w, int64_t first, int n,
               const float * rows, int64_t row_stride) {
    // Sums and the products of a run fit into half as many registers as there are.
    constexpr int kSide = (kLanes == 16 || kNow <= 2 ? 2 : 1) * (kLanes == 16 && kNow <= 2 ? 2 : 1);
    const Book book(w.codebook);
    for (int c = 0; c < n; c += kSide) {
        const int now = n - c < kSide ? n - c : kSide;
        dots_side<kNow, kSide>(sums + c, sums_stride, w, book, first + c, now, rows, row_stride);
    }
}

void dots(float * sums, int64_t sums_stride, const BookWeights & w, int64_t first, int n, const float * rows,
          int64_t row_stride, int m) {
    switch (m) {
    case 1: return dots_rows<1>(sums, sums_stride, w, first, n, rows, row_stride);
    case 2: return dots_rows<2>(sums, sums_stride, w, first, n, rows, row_stride);
    case 3: return dots_rows<3>(sums, sums_stride, w, first, n, rows, row_stride);
    default: return dots_rows<4>(sums, sums_stride, w, first, n, rows, row_stride);
    }
}

void add_row(float * HWY_RESTRICT y, const float * HWY_RESTRICT sums, int n) {
    for (int i = 0; i < n; ++i) y[i] += sums[i];
}

void scale_row(float * HWY_RESTRICT y, int n, float x_scale, const float * HWY_RESTRICT w_scale,
               const float * HWY_RESTRICT bias) {
    if (bias != nullptr) {
        for (int i = 0; i < n; ++i) y[i] = y[i] * x_scale * w_scale[i] + bias[i];
    } else {
        for (int i = 0; i < n; ++i) y[i] = y[i] * x_scale * w_scale[i];
    }
}

const BookGemm * table() {
    static constexpr BookGemm gemm = {kRows,       kColumns, kRun,    pack_panel, tile,
                                      prepare_row, dots,     add_row, scale_row};
    return &gemm;
}
#endif // HWY_SCALAR

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(table);

const BookGemm & book_gemm_simd() { return *HWY_DYNAMIC_DISPATCH(table)(); }

} // namespace sd
#endif
