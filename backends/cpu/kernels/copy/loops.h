// Copies seen as nests of loops. A copy between two tensors runs through both in ggml's order (dimension 0
// fastest); when their shapes factor into common loops, the loops can be reordered and merged freely, and
// most permutations turn into plain rows or into one transposition.
#pragma once

#include "ggml.h"
#include "runtime/tensor/layout.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu {

// A tensor counted in units (elements, or blocks of a quantized type), contiguous neighbours merged.
struct Grid {
    int dims = 0;
    int64_t n[GGML_MAX_DIMS];
    size_t stride[GGML_MAX_DIMS];
};
Grid make_grid(const ggml_tensor * t);

// Steps through a grid in order, run by run along dimension 0.
class GridCursor {
  public:
    // Starts at a flat index, which must be inside the grid.
    GridCursor(const Grid & grid, int64_t flat);
    size_t offset() const { return offset_; }
    size_t stride() const { return grid_.stride[0]; }
    int64_t run() const { return grid_.n[0] - at_[0]; } // units left in this run
    void advance(int64_t n);                            // n <= run()

  private:
    const Grid & grid_;
    int64_t at_[GGML_MAX_DIMS];
    size_t offset_ = 0;
};

struct Loop {
    int64_t n;
    size_t src, dst; // bytes per step
};

struct LoopNest {
    // Two shapes of four dimensions factor into seven loops at most; REPEAT has two for each dimension.
    static constexpr int kMax = 8;
    int count = 0;
    Loop loop[kMax];

    void add(int64_t n, size_t src, size_t dst) { loop[count++] = {n, src, dst}; }
    int64_t total() const;
    // Drops loops of one step, orders by destination stride, merges. At least one loop is left.
    void simplify();
};

// The common loops of two grids with the same number of units; false when the shapes do not factor.
[[nodiscard]] bool common_loops(const Grid & src, const Grid & dst, LoopNest & nest);

// Calls fn(src_offset, dst_offset, n) for the runs along loop 0 that make up the flat range [begin, end).
template <class Fn>
void for_each_run(const LoopNest & nest, int64_t begin, int64_t end, Fn && fn) {
    if (begin >= end) return;
    int64_t at[LoopNest::kMax];
    size_t src = 0, dst = 0;
    int64_t rest = begin;
    for (int i = 0; i < nest.count; ++i) {
        at[i] = rest % nest.loop[i].n;
        rest /= nest.loop[i].n;
        src += size_t(at[i]) * nest.loop[i].src;
        dst += size_t(at[i]) * nest.loop[i].dst;
    }
    const Loop & inner = nest.loop[0];
    for (int64_t left = end - begin;;) {
        const int64_t n = inner.n - at[0] < left ? inner.n - at[0] : left;
        fn(src, dst, n);
        left -= n;
        if (left == 0) return;
        // Only complete runs get here: back to the start of the run, then carry.
        src -= size_t(at[0]) * inner.src;
        dst -= size_t(at[0]) * inner.dst;
        at[0] = 0;
        for (int i = 1; i < nest.count; ++i) {
            src += nest.loop[i].src;
            dst += nest.loop[i].dst;
            if (++at[i] < nest.loop[i].n) break;
            src -= size_t(at[i]) * nest.loop[i].src;
            dst -= size_t(at[i]) * nest.loop[i].dst;
            at[i] = 0;
        }
    }
}

} // namespace ggml::cpu
