#include "nn/correction.h"

namespace sd {
namespace {

ggml_tensor * low_rank(Graph & g, const Correction & c, ggml_tensor * x) {
    ggml_tensor * all = g.shared_product(c.down, x);
    const int64_t rank = c.up->ne[0];
    if (rank < all->ne[0]) {
        all = ggml_view_4d(g.ctx(), all, rank, all->ne[1], all->ne[2], all->ne[3], all->nb[1], all->nb[2],
                           all->nb[3], size_t(c.first_rank) * all->nb[0]);
    }
    return ggml_mul_mat(g.ctx(), c.up, all);
}

// A row of x is uq blocks of vq. inner works on each block, left across the blocks, right on each block
// again: so both exchanges of the two axes are done where they are small, and the last product leaves rows of
// y.
ggml_tensor * kronecker(Graph & g, const Correction::Kronecker & f, ggml_tensor * x) {
    ggml_context * ctx = g.ctx();
    const int64_t uq = f.left->ne[0], up = f.left->ne[1], vp = f.right->ne[1];
    const int64_t vq = x->ne[0] / uq, rows = ggml_nrows(x);
    ggml_tensor * y = ggml_reshape_3d(ctx, ggml_is_contiguous(x) ? x : ggml_cont(ctx, x), vq, uq, rows);
    if (f.inner != nullptr) y = ggml_mul_mat(ctx, f.inner, y);
    y = ggml_mul_mat(ctx, f.left, ggml_cont(ctx, ggml_permute(ctx, y, 1, 0, 2, 3)));  // [up, inner, rows]
    y = ggml_mul_mat(ctx, f.right, ggml_cont(ctx, ggml_permute(ctx, y, 1, 0, 2, 3))); // [vp, up, rows]
    return ggml_reshape_4d(ctx, y, vp * up, x->ne[1], x->ne[2], x->ne[3]);
}

} // namespace

ggml_tensor * correction(Graph & g, const Correction & c, ggml_tensor * x) {
    ggml_tensor * sum = nullptr;
    const auto add = [&](ggml_tensor * y) { sum = sum == nullptr ? y : ggml_add(g.ctx(), sum, y); };
    if (c.up != nullptr) add(low_rank(g, c, x));
    for (const Correction::Kronecker & f : c.kroneckers) add(kronecker(g, f, x));
    if (c.difference != nullptr) add(ggml_mul_mat(g.ctx(), c.difference, x));
    return sum;
}

size_t correction_nodes(const Correction & c) {
    constexpr size_t kEach = 4, kKronecker = 12;
    return c.empty() ? 0 : 2 * kEach + kKronecker * c.kroneckers.size();
}

} // namespace sd
