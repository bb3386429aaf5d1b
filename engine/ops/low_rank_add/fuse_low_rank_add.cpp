#include "ops/common/chain.h"
#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "ops/low_rank_add/rule.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

// Beyond, products have enough to compute, and libraries do that better.
constexpr int64_t kMostRank = 256;
// Below, there is nothing to save.
constexpr int64_t kLeastColumns = 64, kLeastRows = 4;
constexpr int64_t kPanelFloats = 32 * 1024; // 128 KiB: stays in the second-level cache
constexpr size_t kAlignment = 64;

struct Parts {
    const ggml_tensor *product, *add;

    const ggml_tensor * up() const { return product->src[0]; }
    const ggml_tensor * z() const { return product->src[1]; }
    const ggml_tensor * base() const { return add->src[0] == product ? add->src[1] : add->src[0]; }
    Chain chain() const { return {{product, add}, 2}; }

    static bool is(const ggml_tensor * add) {
        return add->op == GGML_OP_ADD &&
               (add->src[0]->op == GGML_OP_MUL_MAT || add->src[1]->op == GGML_OP_MUL_MAT);
    }
    // Of two products the second one is the correction, which is added to what is there.
    static Parts of(const ggml_tensor * add) {
        return {add->src[1]->op == GGML_OP_MUL_MAT ? add->src[1] : add->src[0], add};
    }

    int64_t rank() const { return up()->ne[0]; }
    int64_t columns() const { return add->ne[0]; }
    int64_t rows() const { return add->ne[1]; }
    int64_t panel_tiles() const { return std::max<int64_t>(1, kPanelFloats / (rank() * LowRankRows::kTile)); }
    size_t panel_bytes() const { return size_t(panel_tiles() * rank() * LowRankRows::kTile) * sizeof(float); }
};

bool fits(const Parts & parts, ggml_ext_why_t why) {
    for (const ggml_tensor * t : {parts.up(), parts.z(), parts.base()}) {
        if (!is_float_aligned(t) || !walks(Steps::unit, t) || t->ne[2] != 1 || t->ne[3] != 1) {
            ggml_ext_refuse_match(why, 1, "'%s', %s, is no matrix with rows of plain floats", t->name,
                                  shape_text(t).c_str());
            return false;
        }
        if (!parts.chain().has(t)) continue;
        ggml_ext_refuse_match(why, 1, "'%s' is used twice in the chain", t->name);
        return false;
    }
    if (!ggml_are_same_shape(parts.base(), parts.product) || !ggml_are_same_shape(parts.add, parts.product)) {
        ggml_ext_refuse_match(why, 1, "the product is %s and is added to %s",
                              shape_text(parts.product).c_str(), shape_text(parts.base()).c_str());
        return false;
    }
    if (parts.rank() <= kMostRank && parts.columns() >= kLeastColumns && parts.rows() >= kLeastRows)
        return true;
    ggml_ext_refuse_match(why, 1, "the product, of a matrix %s, is left to others",
                          shape_text(parts.up()).c_str());
    return false;
}

int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void *) {
    constexpr ggml_op kOps[] = {GGML_OP_MUL_MAT, GGML_OP_ADD};
    if (ggml_ext_match_ops(graph, first, kOps, 2, why) < 2) return 0;
    const Parts parts = Parts::of(ggml_graph_node(const_cast<ggml_cgraph *>(graph), first + 1));
    if (!Parts::is(parts.add) || !parts.chain().is_at(graph, first))
        return ggml_ext_refuse_match(why, 1, "'%s' does not add the product", parts.add->name);
    return fits(parts, why) ? 2 : 0;
}

void optimize(ggml_backend_dev_t, ggml_cgraph * graph, void *) {
    for (int i = 1; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor * add = ggml_graph_node(graph, i);
        if (Parts::is(add) && fits(Parts::of(add), nullptr)) bring_together(graph, Parts::of(add).chain(), i);
    }
}

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// What execute needs to know of prepare: threads may be added in between.
struct Layout {
    size_t output; // bytes before the panels
    int threads;
};

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    const Parts parts = Parts::of(params->step.nodes[1]);
    auto * layout =
        new (std::nothrow) Layout{aligned(Output::scratch_bytes(*params)), cpu_threads(params->backend)};
    if (layout == nullptr) return GGML_STATUS_ALLOC_FAILED;
    prepared->state = layout;
    prepared->workspace_bytes = layout->output + size_t(layout->threads) * aligned(parts.panel_bytes());
    return GGML_STATUS_SUCCESS;
}

void destroy(void * state, void *) { delete static_cast<Layout *>(state); }

// Every element is read before it is written, by the same thread: over the base there is no need of a copy.
bool may_write_at_once(const Parts & parts) {
    const auto overlap = [&](const ggml_tensor * t) { return ggml_ext_tensor_overlap(t, parts.add); };
    return overlap(parts.base()) != GGML_EXT_OVERLAP_PARTIAL && overlap(parts.z()) == GGML_EXT_OVERLAP_NONE &&
           overlap(parts.up()) == GGML_EXT_OVERLAP_NONE;
}

// Rows [first, first + n) of `up` as the columns of a panel.
void pack(const ggml_tensor * up, int64_t first, int64_t n, float * panel) {
    constexpr int64_t kTile = LowRankRows::kTile;
    const int64_t rank = up->ne[0];
    for (int64_t j = 0; j < (n + kTile - 1) / kTile * kTile; ++j) {
        float * to = panel + j / kTile * kTile * rank + j % kTile;
        const float * from = j < n ? row_start(up, {first + j, 0, 0}) : nullptr;
        for (int64_t r = 0; r < rank; ++r) to[r * kTile] = from != nullptr ? from[r] : 0.0f;
    }
}

void compute(const Parts & parts, Range range, float * panel, float * out) {
    const int64_t columns = parts.columns(), step = parts.panel_tiles() * LowRankRows::kTile;
    for (int64_t first = 0; first < columns; first += step) {
        LowRankRows g = {};
        g.n = std::min(step, columns - first);
        pack(parts.up(), first, g.n, panel);
        g.panel = panel;
        g.rank = parts.rank();
        g.z = row_start(parts.z(), {range.begin, 0, 0});
        g.z_row = float_step(parts.z(), 1);
        g.base = row_start(parts.base(), {range.begin, 0, 0}) + first;
        g.base_row = float_step(parts.base(), 1);
        g.out = out + range.begin * columns + first;
        g.out_row = columns;
        g.rows = range.end - range.begin;
        low_rank_rows_simd(g);
    }
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void *) {
    constexpr int64_t kTask = 16384; // multiply-adds worth waking a thread for
    const Parts parts = Parts::of(params->step.nodes[1]);
    const Layout & layout = *static_cast<const Layout *>(state);
    auto * workspace = static_cast<char *>(params->workspace_base);
    const Output output(params->step, layout.output > 0 && !may_write_at_once(parts) ? workspace : nullptr);
    const int64_t work = parts.rows() * parts.columns() * parts.rank();
    const int tasks =
        int(std::clamp<int64_t>(work / kTask, 1, std::min<int64_t>(layout.threads, parts.rows())));
    const ggml_status status = cpu_run(params->backend, tasks, [&](int ith, int nth) {
        char * panel = workspace + layout.output + size_t(ith) * aligned(parts.panel_bytes());
        compute(parts, part_of(parts.rows(), ith, nth), reinterpret_cast<float *>(panel),
                static_cast<float *>(output.data()));
    });
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

} // namespace

ggml_ext_status register_low_rank_add(ggml_backend_dev_t device) {
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.op = GGML_OP_MUL_MAT;
    desc.match = match;
    desc.optimize = optimize;
    desc.prepare = prepare;
    desc.execute = execute;
    desc.destroy = destroy;
#define X(rule_name)                                                                                         \
    desc.name = rule_name;                                                                                   \
    if (const ggml_ext_status status = add_kernel(device, desc); status != GGML_EXT_SUCCESS) return status;
#include "ops/low_rank_add/fusions.inc"
#undef X
    return GGML_EXT_SUCCESS;
}

} // namespace sd
