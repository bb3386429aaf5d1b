// ROPE: rotates pairs of elements of each row by an angle that grows with the row's position. All modes,
// partial rotation at an offset, frequency factors, YaRN; F32, F16, BF16; any strides; in place or not. F16
// and BF16 rows are rotated as floats and rounded once.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/rope/plan.h"
#include "backends/cpu/kernels/rope/rotate.h"
#include "runtime/base/math.h"

namespace ggml::cpu {
namespace {

// Scratch: the node's rates, then per thread the angles, cosines and sines of one position and one row of
// floats.
struct ThreadSpace {
    double * angles;
    float *cosines, *sines, *row;
};

size_t rates_bytes(const ggml_tensor * dst) {
    return align_up(size_t(rope_pairs(dst).pairs) * sizeof(RopeRate), 64);
}

size_t thread_bytes(const ggml_tensor * dst) {
    const size_t pairs = size_t(rope_pairs(dst).pairs);
    return saturating_align_up(saturating_add(pairs * (sizeof(double) + 2 * sizeof(float)),
                                              saturating_mul(dst->ne[0], sizeof(float))),
                               64);
}

size_t scratch(const ggml_tensor * dst, int n_threads) {
    return saturating_add(rates_bytes(dst), saturating_mul(n_threads, thread_bytes(dst)));
}

size_t reference_scratch(const ggml_tensor * dst, int) { return rates_bytes(dst); }

ThreadSpace thread_space(const KernelContext & ctx, const ggml_tensor * dst, int ith) {
    const size_t pairs = size_t(rope_pairs(dst).pairs);
    std::byte * p = ctx.scratch.data() + rates_bytes(dst) + size_t(ith) * thread_bytes(dst);
    auto * angles = reinterpret_cast<double *>(p);
    auto * floats = reinterpret_cast<float *>(angles + pairs);
    return {angles, floats, floats + pairs, floats + 2 * pairs};
}

void fill_angles(const ggml_tensor * dst, int64_t i2, int64_t pairs, const RopeRate * rates, float magnitude,
                 const ThreadSpace & space) {
    int32_t position[4] = {};
    for (int axis = 0; axis < rope_axes(dst); ++axis) position[axis] = rope_position(dst, i2, axis);
    for (int64_t p = 0; p < pairs; ++p) space.angles[p] = position[rates[p].axis] * rates[p].rate;
    sin_cos_row(space.angles, magnitude, space.cosines, space.sines, pairs);
}

void rotate_row(ggml_tensor * dst, RowIndex r, const RopePairs & pairs, const ThreadSpace & space) {
    const ggml_tensor * src = dst->src[0];
    const int64_t n = dst->ne[0];
    char * out = row_at<char>(dst, row_offset(dst, r));
    const float * x = load_row(src, row_at<char>(src, row_offset(src, r)), 0, n, space.row);
    float * y = result_row(dst, out, 0, space.row);
    if (pairs.stride == 2) {
        rotate_neighbours(x + pairs.first, space.cosines, space.sines, y + pairs.first, pairs.pairs);
    } else {
        rotate_halves(x + pairs.first, pairs.gap, space.cosines, space.sines, y + pairs.first, pairs.pairs);
    }
    if (x != y) {
        const int64_t end = pairs.first + 2 * pairs.pairs;
        std::memcpy(y, x, size_t(pairs.first) * sizeof(float));
        std::memcpy(y + end, x + end, size_t(n - end) * sizeof(float));
    }
    store_row(dst, out, 0, n, y);
}

ggml_status kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const RopePairs pairs = rope_pairs(dst);
    auto * rates = reinterpret_cast<RopeRate *>(ctx.scratch.data());
    rope_rates(dst, rates);
    const float magnitude = rope_magnitude(dst);
    // Rows in the order (position, batch, head), so that a thread computes the angles of a position once.
    const int64_t heads = dst->ne[1], per_position = heads * dst->ne[3], rows = per_position * dst->ne[2];
    const int64_t grain = kParallelGrain / (2 * dst->ne[0] + 32) + 1;
    const int64_t tasks = (rows + grain - 1) / grain;
    const int n_threads = ctx.team.n_threads();
    ctx.team.run(tasks < n_threads ? int(tasks) : n_threads, [&](int ith, int nth) {
        const ThreadSpace space = thread_space(ctx, dst, ith);
        int64_t angles_of = -1;
        for (int64_t row = rows * ith / nth; row < rows * (ith + 1) / nth; ++row) {
            const int64_t i2 = row / per_position, rest = row % per_position;
            if (i2 != angles_of) fill_angles(dst, i2, pairs.pairs, rates, magnitude, space);
            angles_of = i2;
            rotate_row(dst, {rest % heads, i2, rest / heads}, pairs, space);
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status reference(const KernelContext & ctx, ggml_tensor * dst) {
    return rope_reference_rows(dst, reinterpret_cast<RopeRate *>(ctx.scratch.data()));
}

constexpr OpKernels kKernels[] = {
    {GGML_OP_ROPE, rope_supports, kernel, reference, scratch, reference_scratch}};

} // namespace

Family family_rope() { return kKernels; }

} // namespace ggml::cpu
