#include "backends/cpu/convert.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/attention/few.h"
#include "backends/cpu/kernels/attention/plan.h"
#include "backends/cpu/kernels/attention/reference.h"
#include "backends/cpu/kernels/attention/shape.h"
#include "backends/cpu/kernels/attention/tile.h"
#include "runtime/base/math.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ggml::cpu {
namespace {

using namespace attention;

// Multiplications below which another thread costs more than it brings.
constexpr int64_t kTaskWork = 256 * 1024;

Params params_of(const AttentionShape & s) {
    return {s.d, s.dv, s.scale, s.softcap, s.mask != nullptr, s.sinks != nullptr};
}

int n_tasks(const AttentionShape & s, const Plan & plan, int n_threads) {
    const size_t work = saturating_mul(s.n_head, s.n_batch, s.n_q, s.n_kv, s.d + s.dv);
    return int(std::min<int64_t>({n_threads, plan.n_items(), 1 + int64_t(work / kTaskWork)}));
}

// Query number `i` of a unit. Heads come first: consecutive queries share a mask row's neighbourhood.
Query query_of(const AttentionShape & s, int64_t unit, int64_t i) {
    const int64_t groups = s.n_head / s.group;
    const int64_t batch = unit / groups, head = unit % groups * s.group + i / s.n_q, row = i % s.n_q;
    return {s.q_row(row, head, batch), s.mask_row(row, head, batch), s.slope(head),
            s.sinks != nullptr ? s.sink(head) : 0.0f, s.out_row(row, head, batch)};
}

struct Head {
    const char *k, *v;
};
Head head_of(const AttentionShape & s, int64_t unit) {
    const int64_t groups = s.n_head / s.group;
    return {s.k_head(unit % groups * s.group, unit / groups),
            s.v_head(unit % groups * s.group, unit / groups)};
}

void rows_to_float(const ggml_tensor * t, const char * src, int64_t n_rows, float * dst, int64_t stride) {
    for (int64_t i = 0; i < n_rows; ++i, src += t->nb[1], dst += stride) {
        if (t->type == GGML_TYPE_F16)
            half_to_float_row(reinterpret_cast<const uint16_t *>(src), dst, t->ne[0]);
        else if (t->type == GGML_TYPE_BF16)
            bf16_to_float_row(reinterpret_cast<const uint16_t *>(src), dst, t->ne[0]);
        else
            type_info(t->type).to_float(src, dst, t->ne[0]);
    }
}

// Rows where they lie, or converted into `floats` when that is not null. Sets `stride`, in floats.
const float * float_rows(const ggml_tensor * t, const char * src, int64_t n_rows, float * floats,
                         int64_t floats_stride, int64_t & stride) {
    stride = floats != nullptr ? floats_stride : int64_t(t->nb[1] / sizeof(float));
    if (floats == nullptr) return reinterpret_cast<const float *>(src);
    rows_to_float(t, src, n_rows, floats, floats_stride);
    return floats;
}

bool all_finite(const float * rows, int64_t stride, int64_t n_rows, int64_t n) {
    uint32_t special = 0;
    for (int64_t i = 0; i < n_rows; ++i) {
        for (int64_t e = 0; e < n; ++e) {
            special |= (std::bit_cast<uint32_t>(rows[i * stride + e]) & 0x7f800000u) == 0x7f800000u;
        }
    }
    return special == 0;
}

// Takes consecutive pieces of a thread's scratch.
struct Carver {
    float * next;
    float * take(int64_t n) {
        float * at = next;
        next += n;
        return at;
    }
};

// All panels of a unit against a run of its tiles.
void run_tiles(const AttentionShape & s, const Plan & plan, int64_t item, Carver scratch) {
    const Params p = params_of(s);
    const int64_t unit = item / plan.items_per_unit;
    const int64_t begin = item % plan.items_per_unit * plan.tiles_per_item * kTileQueries;
    const int64_t end = std::min(begin + plan.tiles_per_item * kTileQueries, plan.queries_per_unit);
    const int64_t keys = std::min(plan.panel, s.n_kv);
    const TileScratch work{scratch.take(keys * kTileQueries), scratch.take(keys * kTileQueries)};
    float * tiles = scratch.take(plan.tiles_per_item * (s.d + s.dv + 2) * kTileQueries);
    float * k_floats = plan.convert_k ? scratch.take(keys * plan.k_stride) : nullptr;
    float * v_floats = plan.convert_v ? scratch.take(keys * plan.v_stride) : nullptr;

    auto * queries = reinterpret_cast<Query *>(scratch.take(plan.query_floats));
    for (int64_t i = begin; i < end; ++i) queries[i - begin] = query_of(s, unit, i);

    const auto tile_at = [&](int64_t first) {
        Carver state{tiles + (first - begin) * (s.d + s.dv + 2)};
        return Tile{queries + (first - begin),      int(std::min<int64_t>(kTileQueries, end - first)),
                    state.take(s.d * kTileQueries), state.take(s.dv * kTileQueries),
                    state.take(kTileQueries),       state.take(kTileQueries)};
    };
    for (int64_t first = begin; first < end; first += kTileQueries) tile_begin(p, tile_at(first));

    // From the last tile on: with a causal mask that one sees most.
    const auto seen = [&](const Panel & panel) {
        int64_t first = begin + (end - 1 - begin) / kTileQueries * kTileQueries;
        while (first >= begin && visible_keys(tile_at(first), panel).end == 0) first -= kTileQueries;
        return first >= begin;
    };
    const Head head = head_of(s, unit);
    for (int64_t key = 0; key < s.n_kv; key += plan.panel) {
        Panel panel{nullptr, nullptr, 0, 0, key, std::min(plan.panel, s.n_kv - key), true};
        if (p.has_mask && !seen(panel)) continue;
        const char *k = head.k + size_t(key) * s.k->nb[1], *v = head.v + size_t(key) * s.v->nb[1];
        panel.k = float_rows(s.k, k, panel.count, k_floats, plan.k_stride, panel.k_stride);
        panel.v = float_rows(s.v, v, panel.count, v_floats, plan.v_stride, panel.v_stride);
        if (p.has_mask) panel.finite = all_finite(panel.v, panel.v_stride, panel.count, s.dv);
        for (int64_t first = begin; first < end; first += kTileQueries)
            tile_step(p, tile_at(first), panel, work);
    }
    for (int64_t first = begin; first < end; first += kTileQueries) tile_finish(p, tile_at(first));
}

RowType row_type(const ggml_tensor * t, bool converted) {
    if (converted || t->type == GGML_TYPE_F32) return RowType::f32;
    return t->type == GGML_TYPE_F16 ? RowType::f16 : RowType::bf16;
}

// One chunk of keys of one unit.
void run_few(const AttentionShape & s, const Plan & plan, int64_t item, Carver scratch,
             const Partial & result) {
    const int64_t unit = item / plan.n_panels, first = item % plan.n_panels * plan.panel;
    std::array<Query, kFewQueries> queries;
    for (int64_t i = 0; i < plan.queries_per_unit; ++i) queries[size_t(i)] = query_of(s, unit, i);
    const Head head = head_of(s, unit);
    KeyChunk c{row_type(s.k, plan.convert_k),
               row_type(s.v, plan.convert_v),
               head.k + size_t(first) * s.k->nb[1],
               head.v + size_t(first) * s.v->nb[1],
               s.k->nb[1],
               s.v->nb[1],
               first,
               std::min(plan.panel, s.n_kv - first)};
    const int64_t keys = std::min(plan.panel, s.n_kv);
    float * scores = scratch.take(score_stride(keys) * kFewQueries);
    const FewScratch work{scores, reinterpret_cast<int32_t *>(scratch.take(score_stride(keys)))};
    if (plan.convert_k) {
        float * rows = scratch.take(keys * plan.k_stride);
        rows_to_float(s.k, c.k, c.count, rows, plan.k_stride);
        c.k = reinterpret_cast<const char *>(rows), c.k_stride = size_t(plan.k_stride) * sizeof(float);
    }
    if (plan.convert_v) {
        float * rows = scratch.take(keys * plan.v_stride);
        rows_to_float(s.v, c.v, c.count, rows, plan.v_stride);
        c.v = reinterpret_cast<const char *>(rows), c.v_stride = size_t(plan.v_stride) * sizeof(float);
    }
    few_chunk(params_of(s), queries.data(), int(plan.queries_per_unit), c, work, result);
}

ggml_status flash_attn(const KernelContext & ctx, ggml_tensor * dst) {
    const AttentionShape s(dst);
    const Plan plan(s);
    std::byte * threads = ctx.scratch.data() + plan.shared_bytes;
    const Partials partials{reinterpret_cast<float *>(ctx.scratch.data()), int(plan.queries_per_unit), s.dv};
    std::atomic<int64_t> next{0};
    SectionStop stop(ctx.team);
    ctx.team.run(n_tasks(s, plan, ctx.team.n_threads()), [&](int ith, int) {
        const Carver scratch{reinterpret_cast<float *>(threads + size_t(ith) * plan.thread_bytes)};
        for (int64_t item = next++; item < plan.n_items() && !stop.asked(ith); item = next++) {
            if (plan.few)
                run_few(s, plan, item, scratch, partials[item]);
            else
                run_tiles(s, plan, item, scratch);
        }
    });
    if (stop.asked()) return GGML_STATUS_ABORTED;
    if (!plan.few) return GGML_STATUS_SUCCESS;
    const Params p = params_of(s);
    const int64_t grain = 1 + kParallelGrain / (plan.n_panels * s.dv + 1);
    ctx.team.parallel_for(plan.n_units * plan.queries_per_unit, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t unit = i / plan.queries_per_unit, row = i % plan.queries_per_unit;
            merge_partials(p, query_of(s, unit, row), int(row), partials, unit * plan.n_panels,
                           plan.n_panels);
        }
    });
    return GGML_STATUS_SUCCESS;
}

size_t flash_attn_scratch(const ggml_tensor * dst, int n_threads) {
    const AttentionShape s(const_cast<ggml_tensor *>(dst));
    const Plan plan(s);
    return saturating_add(plan.shared_bytes, saturating_mul(n_tasks(s, plan, n_threads), plan.thread_bytes));
}

// Rows are read whole, so elements must lie side by side; rows may lie anywhere their elements can be
// addressed.
bool rows_ok(const ggml_tensor * t) {
    const size_t unit = ggml_is_quantized(t->type) ? 1 : ggml_type_size(t->type);
    return t->nb[0] == ggml_type_size(t->type) && t->nb[1] % unit == 0 && t->nb[2] % unit == 0 &&
           t->nb[3] % unit == 0;
}

bool divides(int64_t part, int64_t whole) { return part > 0 && whole % part == 0; }

bool flash_attn_supports(const ggml_tensor * dst) {
    const ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2], *mask = dst->src[3],
                      *sinks = dst->src[4];
    if (q->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (!type_is_readable(k->type) || !type_is_readable(v->type)) return false;
    if (!rows_ok(q) || !rows_ok(k) || !rows_ok(v) || !rows_ok(dst)) return false;
    if (k->ne[0] != q->ne[0] || v->ne[1] != k->ne[1]) return false;
    if (!divides(k->ne[2], q->ne[2]) || !divides(v->ne[2], q->ne[2])) return false;
    if (!divides(k->ne[3], q->ne[3]) || !divides(v->ne[3], q->ne[3])) return false;
    if (dst->ne[0] != v->ne[0] || dst->ne[1] != q->ne[2] || dst->ne[2] != q->ne[1] || dst->ne[3] != q->ne[3])
        return false;
    if (mask != nullptr && (mask->type != GGML_TYPE_F16 || !rows_ok(mask) || mask->ne[0] < k->ne[1] ||
                            mask->ne[1] < q->ne[1] || mask->ne[2] < 1 || mask->ne[3] < 1))
        return false;
    return sinks == nullptr ||
           (sinks->type == GGML_TYPE_F32 && ggml_is_contiguous(sinks) && sinks->ne[0] == q->ne[2]);
}

constexpr OpKernels kAttention[] = {
    {GGML_OP_FLASH_ATTN_EXT, flash_attn_supports, flash_attn, flash_attn_reference, flash_attn_scratch,
     flash_attn_reference_scratch},
};

} // namespace

Family family_attention() { return kAttention; }

} // namespace ggml::cpu
