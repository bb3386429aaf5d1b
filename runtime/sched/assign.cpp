// Who computes each node. The order of the passes is part of ggml's semantics: programs place weights and
// expect nodes to follow them.
#include "runtime/sched/sched.h"

#include "runtime/base/log.h"

namespace ggml::sched {
namespace {

constexpr int kRefused = -2; // storage is fixed and nobody who can use it runs the operator

// First backend that can use the buffer and run the node.
int backend_at(Scheduler & s, ggml_backend_buffer_t buffer, int32_t node) {
    if (buffer == nullptr) return kNoBackend;
    for (int b = 0; b < s.n_backends; ++b) {
        if (ggml_backend_supports_buft(s.backends[size_t(b)], ggml_backend_buffer_get_type(buffer)) &&
            supports(s, b, node)) {
            return b;
        }
    }
    return kNoBackend;
}

// Weights in host memory may still be worth copying to a faster backend that asks for the node.
int backend_taking_over(Scheduler & s, int32_t node) {
    for (int b = 0; b + 1 < s.n_backends; ++b) {
        if (supports(s, b, node) && ggml_backend_offload_op(s.backends[size_t(b)], s.tensors[node].tensor))
            return b;
    }
    return kNoBackend;
}

int backend_of_weights(Scheduler & s, int32_t slot) {
    const ggml_tensor * node = s.tensors[slot].tensor;
    // The buffers of these operators' optional sources (frequencies, sinks) are too small to decide anything.
    if (node->op == GGML_OP_ROPE || node->op == GGML_OP_FLASH_ATTN_EXT) return kNoBackend;
    for (const ggml_tensor * src : node->src) {
        if (src == nullptr || src->buffer == nullptr) continue;
        if (ggml_backend_buffer_get_usage(src->buffer) != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) continue;
        const int backend = backend_at(s, buffer_of(src), slot);
        if (s.op_offload && backend == s.n_backends - 1 && ggml_backend_buffer_is_host(src->buffer)) {
            const int other = backend_taking_over(s, slot);
            if (other != kNoBackend) return other;
        }
        return backend;
    }
    return kNoBackend;
}

int backend_from_location(Scheduler & s, int32_t slot) {
    const ggml_tensor * t = s.tensors[slot].tensor;
    if (ggml_backend_buffer_t buffer = buffer_of(t)) {
        const int backend = backend_at(s, buffer, slot);
        if (backend != kNoBackend) return backend;
        ext::refuse(&s.refusal, GGML_EXT_REASON_NO_BACKEND, -1,
                    "'%s' lies in a %s buffer, and no backend that can use it runs %s", t->name,
                    ggml_backend_buffer_name(buffer), ggml_op_desc(t));
        return kRefused;
    }
    // Inputs are written by the host.
    if ((t->flags & GGML_TENSOR_FLAG_INPUT) != 0) return s.n_backends - 1;
    return backend_of_weights(s, slot);
}

bool assign_fixed(Scheduler & s, std::span<const int32_t> slots) {
    for (int32_t slot : slots) {
        if (backend_of(s, slot) != kNoBackend) continue;
        const int backend = backend_from_location(s, slot);
        if (backend == kRefused) return false;
        backend_of(s, slot) = int16_t(backend);
    }
    return true;
}

// Unassigned nodes join the neighbour met last, when it can run them. The last backend is the fallback: with
// `spread_last` false it neither spreads nor lets others spread across it.
void expand(Scheduler & s, const ggml_cgraph * graph, bool down, bool spread_last) {
    int current = kNoBackend;
    for (int k = 0; k < graph->n_nodes; ++k) {
        const int i = down ? k : graph->n_nodes - 1 - k;
        if (is_view_op(graph->nodes[i]->op)) continue;
        const int32_t slot = s.index.nodes[size_t(i)];
        int16_t & backend = backend_of(s, slot);
        if (backend != kNoBackend) {
            const bool fallback = backend == s.n_backends - 1;
            current = fallback && !spread_last ? kNoBackend : backend;
        } else if (current != kNoBackend && supports(s, current, slot)) {
            backend = int16_t(current);
        }
    }
}

// Nobody next to the node can run it: the backend that needs the fewest copies.
int backend_with_most_sources(Scheduler & s, int node, int32_t slot) {
    int best = kNoBackend, best_count = -1;
    for (int b = 0; b < s.n_backends; ++b) {
        if (!supports(s, b, slot)) continue;
        int count = 0;
        for (const Edge & e : s.index.sources(node)) count += can_read(s, e.slot, b);
        if (count > best_count) best = b, best_count = count;
    }
    return best;
}

// An earlier backend that computes in the same memory and can read every source costs no copy and wins.
int better_backend(Scheduler & s, int node, int32_t slot) {
    const int current = backend_of(s, slot);
    for (int b = 0; b < current; ++b) {
        if (s.bufts[size_t(b)] != s.bufts[size_t(current)] || !supports(s, b, slot)) continue;
        bool reads_all = true;
        for (const Edge & e : s.index.sources(node)) reads_all = reads_all && can_read(s, e.slot, b);
        if (reads_all) return b;
    }
    return current;
}

void settle_nodes(Scheduler & s, const ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        if (is_view_op(graph->nodes[i]->op)) continue;
        const int32_t slot = s.index.nodes[size_t(i)];
        int16_t & backend = backend_of(s, slot);
        if (backend == kNoBackend) {
            backend = int16_t(backend_with_most_sources(s, i, slot));
        } else if (s.tensors[slot].group == kNoSlot) {
            // The rest of a group may read what another backend cannot.
            backend = int16_t(better_backend(s, i, slot));
        }
    }
}

// Views are where their owner is; sources without a home go to their first reader.
void settle_sources(Scheduler & s, int node) {
    const auto follow_owner = [&](int32_t slot) {
        const int32_t owner = s.tensors[slot].owner;
        int16_t & backend = backend_of(s, slot);
        if (backend == kNoBackend && owner != kNoSlot) backend = backend_of(s, owner);
    };
    const int32_t slot = s.index.nodes[size_t(node)];
    follow_owner(slot);
    for (const Edge & e : s.index.sources(node)) {
        follow_owner(e.slot);
        if (backend_of(s, e.slot) != kNoBackend) continue;
        backend_of(s, e.slot) = backend_of(s, slot);
        const int32_t owner = s.tensors[e.slot].owner;
        if (owner != kNoSlot) backend_of(s, owner) = backend_of(s, slot);
    }
}

// What the kernels registered for the node say, for the message.
std::string why_nowhere(const Scheduler & s, const ggml_tensor * node) {
    std::string text;
    for (int b = 0; b < s.n_backends; ++b) {
        for (const ext::Candidate & refused : refusals(s, b, node)) {
            if (refused.kernel == nullptr) continue;
            text.append("; ").append(refused.kernel->name).append(" on ");
            text.append(ggml_backend_name(s.backends[size_t(b)])).append(": ") += refused.verdict.message();
        }
    }
    return text;
}

bool settle_rest(Scheduler & s, const ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        settle_sources(s, i);
        const int32_t slot = s.index.nodes[size_t(i)];
        int16_t & backend = backend_of(s, slot);
        for (int b = 0; b < s.n_backends && backend == kNoBackend; ++b) {
            if (supports(s, b, slot)) backend = int16_t(b);
        }
        if (backend != kNoBackend) continue;
        ext::refuse(&s.refusal, GGML_EXT_REASON_NO_BACKEND, i, "no backend runs %s (node '%s')%s",
                    ggml_op_desc(graph->nodes[i]), graph->nodes[i]->name,
                    why_nowhere(s, graph->nodes[i]).c_str());
        return false;
    }
    // A source may have waited for a node that only now has a backend.
    for (int i = 0; i < graph->n_nodes; ++i) settle_sources(s, i);
    for (int32_t leaf : s.index.leafs) {
        // A leaf nobody reads has to lie somewhere.
        if (backend_of(s, leaf) == kNoBackend) backend_of(s, leaf) = int16_t(s.n_backends - 1);
    }
    return true;
}

} // namespace

bool can_read(Scheduler & s, int32_t slot, int backend) {
    const TensorState & state = s.tensors[slot];
    if (ggml_backend_buffer_t buffer = buffer_of(state.tensor)) {
        return ggml_backend_supports_buft(s.backends[size_t(backend)], ggml_backend_buffer_get_type(buffer));
    }
    int home = backend_of(s, slot);
    if (home == kNoBackend && state.owner != kNoSlot) home = backend_of(s, state.owner);
    return home != kNoBackend && (s.reads_buft_of[size_t(backend)] & (1u << home)) != 0;
}

namespace {

bool assign_all(Scheduler & s, const ggml_cgraph * graph) {
    if (!assign_fixed(s, s.index.leafs) || !assign_fixed(s, s.index.nodes)) return false;
    expand(s, graph, /*down=*/true, /*spread_last=*/false);
    expand(s, graph, /*down=*/false, /*spread_last=*/false);
    expand(s, graph, /*down=*/true, /*spread_last=*/true);
    expand(s, graph, /*down=*/false, /*spread_last=*/true);
    settle_nodes(s, graph);
    if (!settle_rest(s, graph)) return false;
    settle_groups(s);
    return true;
}

} // namespace

bool assign(Scheduler & s, const ggml_cgraph * graph) {
    if (assign_all(s, graph)) {
        if (s.n_backends > 1 && !s.dry_run) report_fallbacks(s, graph);
        return true;
    }
    if (!s.dry_run) GGML_LOG_ERROR("scheduler: %s\n", s.refusal.words.c_str());
    return false;
}

} // namespace ggml::sched
