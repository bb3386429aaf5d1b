// UPSCALE. An interpolated element is sum(wy * sum(wx * source)) over the taps of its row and column, in
// order, in F32; the kernel filters each source row once and combines rows, with the same additions.
#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/resample/axis.h"
#include "backends/cpu/kernels/resample/resample.h"
#include "runtime/base/math.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace ggml::cpu {
namespace {

// Rows kept after horizontal filtering: the taps of a row are up to four neighbours (more when antialiasing,
// which then reuses little).
constexpr int64_t kKeptRows = 4;
constexpr size_t kAlign = 64;

bool is_nearest(const ggml_tensor * dst) {
    return (get_params<UpscaleParams>(dst).mode & 0xff) == GGML_SCALE_MODE_NEAREST;
}

struct Axes {
    UpscaleAxis x, y, z, w;
    explicit Axes(const ggml_tensor * dst) : x(dst, 0), y(dst, 1), z(dst, 2), w(dst, 3) {}
};

size_t taps_bytes(const ggml_tensor * dst, const Axes & axes) {
    return saturating_align_up(saturating_add(saturating_mul(dst->ne[0], axes.x.max_taps(), sizeof(Tap)),
                                              saturating_mul(dst->ne[0], sizeof(int64_t))),
                               kAlign);
}

size_t thread_bytes(const ggml_tensor * dst, const Axes & axes) {
    return saturating_align_up(saturating_add(saturating_mul(kKeptRows, dst->ne[0], sizeof(float)),
                                              saturating_mul(axes.y.max_taps(), sizeof(Tap))),
                               kAlign);
}

// Taps of all columns, computed once.
struct ColumnTaps {
    Tap * taps;
    int64_t * counts;
    int64_t stride, n;

    ColumnTaps(const UpscaleAxis & axis, int64_t columns, std::byte * memory)
        : taps(reinterpret_cast<Tap *>(memory + size_t(columns) * sizeof(int64_t))),
          counts(reinterpret_cast<int64_t *>(memory)), stride(axis.max_taps()), n(columns) {
        for (int64_t i = 0; i < n; ++i) counts[i] = axis.taps(i, taps + i * stride);
    }

    void filter(const char * row, size_t row_stride, float * out) const {
        for (int64_t i = 0; i < n; ++i) {
            const Tap * t = taps + i * stride;
            float sum = 0;
            for (int64_t k = 0; k < counts[i]; ++k) {
                sum += t[k].weight * load_element<float>(row + size_t(t[k].index) * row_stride);
            }
            out[i] = sum;
        }
    }
};

// Filtered source rows of the plane a thread works on.
class RowCache {
  public:
    RowCache(const ColumnTaps & columns, const ggml_tensor * src, float * rows)
        : columns_(columns), src_(src), rows_(rows) {
        std::fill(held_, held_ + kKeptRows, nullptr);
    }
    const float * get(const char * plane, int64_t y) {
        const int64_t slot = y % kKeptRows;
        const char * row = plane + size_t(y) * src_->nb[1];
        float * out = rows_ + slot * columns_.n;
        if (held_[slot] != row) columns_.filter(row, src_->nb[0], out);
        held_[slot] = row;
        return out;
    }

  private:
    const ColumnTaps & columns_;
    const ggml_tensor * src_;
    float * rows_;
    const char * held_[kKeptRows];
};

void add_scaled(float * out, size_t stride, float weight, const float * row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        char * p = reinterpret_cast<char *>(out) + size_t(i) * stride;
        store_element(p, load_element<float>(p) + weight * row[i]);
    }
}

void interpolate_rows(ggml_tensor * dst, const Axes & axes, const ColumnTaps & columns, std::byte * memory,
                      int64_t begin, int64_t end) {
    const ggml_tensor * a = dst->src[0];
    float * rows = reinterpret_cast<float *>(memory);
    Tap * taps = reinterpret_cast<Tap *>(rows + kKeptRows * dst->ne[0]);
    RowCache cache(columns, a, rows);
    for (int64_t row = begin; row < end; ++row) {
        const RowIndex r = row_index(dst, row);
        const char * plane = row_at<char>(a, row_offset(a, {0, axes.z.nearest(r.i2), axes.w.nearest(r.i3)}));
        char * out = row_at<char>(dst, row_offset(dst, r));
        for (int64_t i = 0; i < dst->ne[0]; ++i) store_element(out + size_t(i) * dst->nb[0], 0.0f);
        const int64_t count = axes.y.taps(r.i1, taps);
        for (int64_t k = 0; k < count; ++k) {
            add_scaled(reinterpret_cast<float *>(out), dst->nb[0], taps[k].weight,
                       cache.get(plane, taps[k].index), dst->ne[0]);
        }
    }
}

void nearest_rows(ggml_tensor * dst, const Axes & axes, int64_t begin, int64_t end) {
    const ggml_tensor * a = dst->src[0];
    const char * last_from = nullptr;
    const char * last_to = nullptr;
    for (int64_t row = begin; row < end; ++row) {
        const RowIndex r = row_index(dst, row);
        const RowIndex source = {axes.y.nearest(r.i1), axes.z.nearest(r.i2), axes.w.nearest(r.i3)};
        const char * from = row_at<char>(a, row_offset(a, source));
        char * to = row_at<char>(dst, row_offset(dst, r));
        // Rows of the same source are equal: the one just written is copied.
        if (from == last_from && dst->nb[0] == sizeof(float)) {
            std::memcpy(to, last_to, size_t(dst->ne[0]) * sizeof(float));
            continue;
        }
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            store_element(to + size_t(i) * dst->nb[0],
                          load_element<uint32_t>(from + size_t(axes.x.nearest(i)) * a->nb[0]));
        }
        last_from = from;
        last_to = to;
    }
}

} // namespace

bool upscale_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (a == nullptr || a->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (ggml_is_empty(a) || ggml_is_empty(dst)) return ggml_is_empty(dst);
    const int32_t mode = get_params<UpscaleParams>(dst).mode;
    const bool antialias = (mode & GGML_SCALE_FLAG_ANTIALIAS) != 0;
    return (mode & 0xff) < GGML_SCALE_MODE_COUNT &&
           (!antialias || (mode & 0xff) == GGML_SCALE_MODE_BILINEAR) && a->ne[0] <= INT_MAX &&
           a->ne[1] <= INT_MAX;
}

size_t upscale_scratch(const ggml_tensor * dst, int n_threads) {
    if (is_nearest(dst)) return 0;
    const Axes axes(dst);
    return saturating_add(taps_bytes(dst, axes), saturating_mul(n_threads, thread_bytes(dst, axes)));
}

ggml_status upscale_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const Axes axes(dst);
    const int64_t rows = ggml_nrows(dst), grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    if (is_nearest(dst)) {
        ctx.team.parallel_for(rows, grain,
                              [&](int64_t begin, int64_t end) { nearest_rows(dst, axes, begin, end); });
        return GGML_STATUS_SUCCESS;
    }
    const ColumnTaps columns(axes.x, dst->ne[0], ctx.scratch.data());
    std::byte * memory = ctx.scratch.data() + taps_bytes(dst, axes);
    const int64_t tasks = std::min<int64_t>(ceil_div(rows, grain), ctx.team.n_threads());
    ctx.team.run(int(tasks), [&](int ith, int nth) {
        interpolate_rows(dst, axes, columns, memory + size_t(ith) * thread_bytes(dst, axes), rows * ith / nth,
                         rows * (ith + 1) / nth);
    });
    return GGML_STATUS_SUCCESS;
}

size_t upscale_reference_scratch(const ggml_tensor * dst, int) {
    const Axes axes(dst);
    return size_t(axes.x.max_taps() + axes.y.max_taps()) * sizeof(Tap);
}

ggml_status upscale_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const Axes axes(dst);
    Tap * x_taps = reinterpret_cast<Tap *>(ctx.scratch.data());
    Tap * y_taps = x_taps + axes.x.max_taps();
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const int64_t i2 = axes.z.nearest(r.i2), i3 = axes.w.nearest(r.i3);
        const auto source = [&](int64_t x, int64_t y) {
            return *row_at<float>(a, size_t(x) * a->nb[0] + row_offset(a, {y, i2, i3}));
        };
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            float value = 0;
            if (is_nearest(dst)) {
                value = source(axes.x.nearest(i), axes.y.nearest(r.i1));
            } else {
                const int64_t nx = axes.x.taps(i, x_taps), ny = axes.y.taps(r.i1, y_taps);
                for (int64_t ky = 0; ky < ny; ++ky) {
                    float across = 0;
                    for (int64_t kx = 0; kx < nx; ++kx) {
                        across += x_taps[kx].weight * source(x_taps[kx].index, y_taps[ky].index);
                    }
                    value += y_taps[ky].weight * across;
                }
            }
            *row_at<float>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r)) = value;
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
