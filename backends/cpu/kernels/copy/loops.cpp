#include "backends/cpu/kernels/copy/loops.h"

#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml::cpu {

Grid make_grid(const ggml_tensor * t) {
    const int64_t block = type_info(t->type).block;
    Grid grid;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        const int64_t n = i == 0 ? t->ne[0] / block : t->ne[i];
        if (n == 1) continue;
        if (grid.dims > 0) {
            const int last = grid.dims - 1;
            if (t->nb[i] == grid.stride[last] * size_t(grid.n[last])) {
                grid.n[last] *= n;
                continue;
            }
        }
        grid.n[grid.dims] = n;
        grid.stride[grid.dims++] = t->nb[i];
    }
    if (grid.dims == 0) {
        grid.n[0] = 1;
        grid.stride[0] = t->nb[0];
        grid.dims = 1;
    }
    return grid;
}

GridCursor::GridCursor(const Grid & grid, int64_t flat) : grid_(grid) {
    for (int i = 0; i < grid.dims; ++i) {
        at_[i] = flat % grid.n[i];
        flat /= grid.n[i];
        offset_ += size_t(at_[i]) * grid.stride[i];
    }
}

void GridCursor::advance(int64_t n) {
    at_[0] += n;
    offset_ += size_t(n) * grid_.stride[0];
    for (int i = 0; at_[i] == grid_.n[i] && i + 1 < grid_.dims; ++i) {
        offset_ += grid_.stride[i + 1] - size_t(at_[i]) * grid_.stride[i];
        at_[i] = 0;
        ++at_[i + 1];
    }
}

int64_t LoopNest::total() const {
    int64_t total = 1;
    for (int i = 0; i < count; ++i) total *= loop[i].n;
    return total;
}

void LoopNest::simplify() {
    Loop * end = std::remove_if(loop, loop + count, [](const Loop & l) { return l.n == 1; });
    if (end == loop) {
        loop[0].n = 1;
        count = 1;
        return;
    }
    std::stable_sort(loop, end, [](const Loop & a, const Loop & b) { return a.dst < b.dst; });
    Loop * last = loop;
    for (Loop * next = loop + 1; next != end; ++next) {
        if (next->src == last->src * size_t(last->n) && next->dst == last->dst * size_t(last->n)) {
            last->n *= next->n;
        } else {
            *++last = *next;
        }
    }
    count = int(last - loop) + 1;
}

bool common_loops(const Grid & src, const Grid & dst, LoopNest & nest) {
    Grid s = src, d = dst;
    nest.count = 0;
    for (int i = 0, j = 0; i < s.dims && j < d.dims;) {
        const int64_t n = std::min(s.n[i], d.n[j]);
        if (n == 0) break;
        if (s.n[i] % n != 0 || d.n[j] % n != 0) return false;
        nest.add(n, s.stride[i], d.stride[j]);
        // What is left of a dimension continues after the n steps just taken.
        s.n[i] /= n;
        s.stride[i] *= size_t(n);
        d.n[j] /= n;
        d.stride[j] *= size_t(n);
        if (s.n[i] == 1) ++i;
        if (d.n[j] == 1) ++j;
    }
    if (nest.count == 0) nest.add(0, 0, 0);
    return true;
}

} // namespace ggml::cpu
