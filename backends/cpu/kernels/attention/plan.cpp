#include "backends/cpu/kernels/attention/plan.h"

#include "backends/cpu/kernels/attention/few.h"
#include "backends/cpu/kernels/attention/tile.h"
#include "runtime/base/math.h"

#include <algorithm>

namespace ggml::cpu::attention {
namespace {

// Keys a panel: long enough that a tile's sums are loaded and stored rarely, short enough that its scores and
// the rows a register tile walks over stay in the first-level cache.
constexpr int64_t kPanelKeys = 128;
constexpr int64_t kChunkKeys = 512;
constexpr int64_t kMaxChunks = 64;
// Tiles of one item share converted panels; together they should leave the second-level cache room for those.
constexpr int64_t kItemBytes = 384 * 1024;
constexpr int64_t kWantedItems = 16;

// An odd number of cache lines a row: columns of a panel do not fall into the same cache sets.
int64_t padded_stride(int64_t n) { return (ceil_div(n, 16) | 1) * 16; }

bool needs_floats(const ggml_tensor * t, bool few) {
    if (t->type == GGML_TYPE_F32) return false;
    return !few || (t->type != GGML_TYPE_F16 && t->type != GGML_TYPE_BF16);
}

} // namespace

Plan::Plan(const AttentionShape & s) {
    n_units = s.n_batch * (s.n_head / s.group);
    queries_per_unit = s.group * s.n_q;
    few = queries_per_unit <= kFewQueries;
    panel = few ? std::max(kChunkKeys, ceil_div(s.n_kv, kMaxChunks)) : kPanelKeys;
    n_panels = std::max<int64_t>(1, ceil_div(s.n_kv, panel));

    const auto tile_floats =
        int64_t(std::min<size_t>(saturating_mul(s.d + s.dv + 2, kTileQueries), INT64_MAX));
    const int64_t tiles = ceil_div(queries_per_unit, kTileQueries);
    const int64_t fitting = std::max<int64_t>(1, kItemBytes / int64_t(sizeof(float)) / tile_floats);
    tiles_per_item = std::clamp<int64_t>(tiles * n_units / kWantedItems, 1, std::min(fitting, tiles));
    items_per_unit = ceil_div(tiles, tiles_per_item);

    query_floats = tiles_per_item * kTileQueries * int64_t(sizeof(Query) / sizeof(float));

    convert_k = needs_floats(s.k, few);
    convert_v = needs_floats(s.v, few);
    k_stride = padded_stride(s.d);
    v_stride = padded_stride(s.dv);
    const int64_t keys = std::min(panel, s.n_kv);
    const size_t rows = saturating_add(convert_k ? saturating_mul(keys, k_stride) : 0,
                                       convert_v ? saturating_mul(keys, v_stride) : 0);
    const size_t work = few ? saturating_mul(score_stride(keys), kFewQueries + 1)
                            : saturating_add(saturating_mul(keys, 2 * kTileQueries),
                                             saturating_mul(tiles_per_item, tile_floats), query_floats);
    thread_bytes = saturating_align_up(saturating_mul(saturating_add(rows, work), sizeof(float)), 64);
    const size_t partial =
        few ? saturating_mul(n_units, n_panels, Partials::floats(int(queries_per_unit), s.dv)) : 0;
    shared_bytes = saturating_align_up(saturating_mul(partial, sizeof(float)), 64);
}

} // namespace ggml::cpu::attention
