#include "runtime/ext/reorder/reorder.h"

#include "runtime/ext/effects/effects.h"
#include "runtime/graph/graph.h"

#include <algorithm>
#include <utility>

namespace ggml::ext {
namespace {

// Nodes that are not to be computed count as if they were: somebody may still mark them, and then their order
// matters.
bool accesses_storage(const ggml_tensor * node) { return !op_is_metadata_only(node->op); }

bool shares_bytes(const ggml_tensor * a, const ggml_tensor * b) {
    return overlap(a, b) != GGML_EXT_OVERLAP_NONE;
}

// What `writer` writes, against everything `other` reads or writes. The destination of a copy shows the bytes
// of the result, unless the node was put together by hand.
const ggml_tensor * touched_by_both(const ggml_tensor * writer, const ggml_tensor * other) {
    const auto touched = [other](const ggml_tensor * written) -> const ggml_tensor * {
        if (shares_bytes(written, other)) return other;
        for (const ggml_tensor * src : other->src) {
            if (src != nullptr && shares_bytes(written, src)) return src;
        }
        return nullptr;
    };
    if (const ggml_tensor * t = touched(writer)) return t;
    for (int j = 0; j < GGML_MAX_SRC; ++j) {
        if (writer->src[j] == nullptr || !source_is_destination(writer, j)) continue;
        if (const ggml_tensor * t = touched(writer->src[j])) return t;
    }
    return nullptr;
}

bool is_or_shows(const ggml_tensor * tensor, const ggml_tensor * shown) {
    for (; tensor != nullptr; tensor = tensor->view_src) {
        if (tensor == shown) return true;
    }
    return false;
}

bool needs(const ggml_tensor * node, const ggml_tensor * earlier) {
    // A tensor that is listed twice needs itself.
    const auto uses = [earlier](const ggml_tensor * t) { return is_or_shows(t, earlier); };
    return uses(node) || std::any_of(node->src, node->src + GGML_MAX_SRC, uses);
}

class Delay {
  public:
    Delay(const ggml_cgraph * graph, int first, int n, int after, Verdict * why)
        : nodes_(graph->nodes), first_(first), end_(first + n), after_(after), why_(why) {}

    bool allowed() const {
        for (int i = first_; i <= after_; ++i) {
            if (!effects_of(nodes_[i]).known) {
                return refuse(why_, GGML_EXT_REASON_DELAY_EFFECT, i, "node %d '%s' (%s) may touch anything",
                              i, nodes_[i]->name, ggml_op_desc(nodes_[i]));
            }
        }
        for (int crossed = end_; crossed <= after_; ++crossed) {
            for (int moved = first_; moved < end_; ++moved) {
                if (!may_swap(moved, crossed)) return false;
            }
        }
        return true;
    }

  private:
    bool may_swap(int moved, int crossed) const {
        const ggml_tensor *m = nodes_[moved], *c = nodes_[crossed];
        if (needs(c, m) || needs(m, c)) {
            return refuse(why_, GGML_EXT_REASON_DELAY_DEPENDENCY, crossed,
                          "node %d '%s' and node %d '%s' depend on each other", moved, m->name, crossed,
                          c->name);
        }
        if (!accesses_storage(m) || !accesses_storage(c)) return true;
        const ggml_tensor * both = touched_by_both(m, c);
        const bool moved_writes = both != nullptr;
        if (!moved_writes) both = touched_by_both(c, m);
        if (both == nullptr) return true;
        const int writer = moved_writes ? moved : crossed, other = moved_writes ? crossed : moved;
        return refuse(why_, GGML_EXT_REASON_DELAY_ALIAS, crossed,
                      "node %d '%s' writes bytes of '%s', which node %d '%s' also uses", writer,
                      nodes_[writer]->name, both->name, other, nodes_[other]->name);
    }

    ggml_tensor * const * nodes_;
    int first_, end_, after_;
    Verdict * why_;
};

ggml_ext_status status_of(ggml_ext_reason reason) {
    return reason == GGML_EXT_REASON_DELAY_RANGE ? GGML_EXT_INVALID : GGML_EXT_REFUSED;
}

} // namespace

bool delay(ggml_cgraph * graph, int first, int n, int after, Verdict * why) {
    const bool inside = first >= 0 && n >= 1 && n <= graph->n_nodes - first;
    if (!inside || after < first + n - 1 || after >= graph->n_nodes) {
        return refuse(why, GGML_EXT_REASON_DELAY_RANGE, -1,
                      "%d nodes from number %d on cannot move behind number %d of %d nodes", n, first, after,
                      graph->n_nodes);
    }
    if (after == first + n - 1) return true;
    if (!Delay(graph, first, n, after, why).allowed()) return false;
    std::rotate(graph->nodes + first, graph->nodes + first + n, graph->nodes + after + 1);
    graph->uid = 0; // what somebody prepared for the old order does not fit the new one
    return true;
}

} // namespace ggml::ext

ggml_ext_status ggml_ext_graph_delay(ggml_cgraph * graph, int first, int n, int after) {
    using namespace ggml::ext;
    if (graph == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_graph_delay: no graph");
    }
    Verdict why;
    if (delay(graph, first, n, after, &why)) return GGML_EXT_SUCCESS;
    const ggml_ext_status status = status_of(why.reason);
    return answer(status, std::move(why));
}
