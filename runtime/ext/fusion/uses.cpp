// Who reads intermediates. The recorded counts are those of the whole graph, so what the match itself does
// not account for is a reader outside, in this device's part of the graph or not.
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {
namespace {

struct Uses {
    int inside = 0;     // edges from nodes of the match
    int of_others = 0;  // the same without a node that names itself (a type conversion does)
    int recorded = 0;   // edges in the whole graph
    bool shown = false; // something shows its storage without reading it
};

// Of every node of the match, in one pass over its edges.
std::vector<Uses> uses_of(const FusionMatch & match) {
    std::vector<Uses> uses(size_t(match.n));
    for (int i = 0; i < match.n; ++i) {
        for (const ggml_tensor * src : match.node(i)->src) {
            const int at = src != nullptr ? match.find(src) : -1;
            if (at < 0) continue;
            ++uses[size_t(at)].inside;
            uses[size_t(at)].of_others += match.node(i) != src;
        }
        uses[size_t(i)].recorded = use_count(match.graph, match.node(i));
        uses[size_t(i)].shown = match.shown_without_edge.count(match.node(i)) != 0;
    }
    return uses;
}

const char * reader_outside(const FusionMatch & match, const ggml_tensor * tensor) {
    for (int i = 0; i < match.graph->n_nodes; ++i) {
        const ggml_tensor * node = match.graph->nodes[i];
        if (match.find(node) >= 0) continue;
        for (const ggml_tensor * src : node->src) {
            if (src == tensor) return node->name;
        }
    }
    return "something outside this part of the graph";
}

bool refuse_use(const FusionMatch & match, int position, const Uses & uses, Verdict * why) {
    if (why == nullptr) return false;
    const ggml_tensor * node = match.node(position);
    const ggml_ext_reason reason =
        node == match.retained_owner() ? GGML_EXT_REASON_OWNER_READ_OUTSIDE : GGML_EXT_REASON_EXTERNAL_USE;
    const int number = match.first + position;
    if (uses.shown)
        return refuse(why, reason, number, "a view without an edge shows node %d '%s'", number, node->name);
    // Counts of graphs that were put together node by node are 0 until somebody copies them.
    if (uses.recorded < uses.inside) {
        return refuse(why, reason, number, "the graph counts %d uses of node %d '%s', the match has %d",
                      uses.recorded, number, node->name, uses.inside);
    }
    return refuse(why, reason, number, "node %d '%s' has %d uses, %d in the match; also read by %s", number,
                  node->name, uses.recorded, uses.inside, reader_outside(match, node));
}

} // namespace

bool used_inside_only(const FusionMatch & match, Verdict * why) {
    const std::vector<Uses> all = uses_of(match);
    for (int i = 0; i + 1 < match.n; ++i) {
        const ggml_tensor * node = match.node(i);
        const Uses & uses = all[size_t(i)];
        if (uses.shown || uses.recorded != uses.inside) return refuse_use(match, i, uses, why);
        if (uses.of_others > 0) continue;
        // Callers fetch what nobody reads without marking it.
        return refuse(why, GGML_EXT_REASON_UNUSED_RESULT, match.first + i, "nobody reads node %d '%s'",
                      match.first + i, node->name);
    }
    return true;
}

} // namespace ggml::ext
