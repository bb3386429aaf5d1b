// The scheduler's C API. Memory that runs out inside the rooms arrives here as bad_alloc and leaves as an
// answer.
#include "runtime/sched/sched.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

using ggml::sched::Stage;

ggml_backend_sched::~ggml_backend_sched() {
    ggml::sched::drop_plans(*this);
    for (auto & of_backend : events) {
        for (ggml_backend_event_t event : of_backend) ggml_backend_event_free(event);
    }
    ggml_gallocr_free(galloc);
}

namespace ggml::sched {

void reset(Scheduler & s) {
    drop_plans(s);
    s.tensors.clear();
    s.rewired.clear();
    s.graph = nullptr;
    s.stage = Stage::kFresh;
}

namespace {

template <class Fn>
bool without_exceptions(Fn && fn) {
    try {
        return fn();
    } catch (const std::exception & e) { // bad_alloc, or length_error where a caller's size is no memory's
        GGML_LOG_ERROR("scheduler: out of memory (%s)\n", e.what());
        return false;
    }
}

int id_of(const Scheduler & s, ggml_backend_t backend) {
    for (int b = 0; b < s.n_backends; ++b) {
        if (s.backends[size_t(b)] == backend) return b;
    }
    return kNoBackend;
}

int required_id_of(const Scheduler * s, ggml_backend_t backend) {
    GGML_ASSERT(s != nullptr);
    const int id = id_of(*s, backend);
    if (id == kNoBackend) {
        ggml_abort(__FILE__, __LINE__, "scheduler: backend %s is not one of its backends",
                   ggml_backend_name(backend));
    }
    return id;
}

bool set_up(Scheduler & s, ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts, size_t graph_size) {
    for (int b = 0; b < s.n_backends; ++b) {
        const size_t i = size_t(b);
        s.backends[i] = backends[b];
        s.bufts[i] = bufts != nullptr ? bufts[b] : ggml_backend_get_default_buffer_type(backends[b]);
        if (!ggml_backend_supports_buft(backends[b], s.bufts[i])) {
            GGML_LOG_ERROR("scheduler: backend %s cannot use %s buffers\n", ggml_backend_name(backends[b]),
                           ggml_backend_buft_name(s.bufts[i]));
            return false;
        }
        // Both halves are needed, and a backend may implement one without the other.
        if (backends[b]->iface.event_record == nullptr || backends[b]->iface.event_wait == nullptr) continue;
        for (int c = 0; c < s.n_copies; ++c)
            s.events[i][size_t(c)] = ggml_backend_event_new(backends[b]->device);
    }
    for (int b = 0; b < s.n_backends; ++b) {
        for (int owner = 0; owner < s.n_backends; ++owner) {
            const bool reads = ggml_backend_supports_buft(s.backends[size_t(b)], s.bufts[size_t(owner)]);
            s.reads_buft_of[size_t(b)] |= uint16_t(reads ? 1u << owner : 0u);
        }
    }
    s.tensors.reserve(graph_size);
    s.galloc = ggml_gallocr_new_n(s.bufts.data(), s.n_backends);
    return s.galloc != nullptr;
}

// A graph that is only measured, or could not be placed, is given back as it was.
void give_back(Scheduler & s) {
    restore_sources(s);
    reset(s);
}

void synchronize_backends(Scheduler & s) {
    wait_for_all(s);
    // A graph allocated after a wait always uses copy 0, which keeps addresses equal from graph to graph.
    if (s.stage != Stage::kAllocated) s.next_copy = 0;
}

// Drops the last graph but keeps what the caller assigned for the next one.
void forget_last_graph(Scheduler & s) {
    if (s.stage != Stage::kFresh) reset(s);
}

template <class Fn>
bool measure(Scheduler & s, ggml_cgraph * graph, Fn && with_layout) {
    synchronize_backends(s);
    forget_last_graph(s);
    const bool ok = without_exceptions([&] { return split(s, graph) && with_layout(); });
    give_back(s);
    return ok;
}

} // namespace
} // namespace ggml::sched

using namespace ggml::sched;

extern "C" {

ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts,
                                            int n_backends, size_t graph_size, bool parallel,
                                            bool op_offload) {
    if (backends == nullptr || n_backends < 1 || n_backends > kMaxBackends) {
        GGML_LOG_ERROR("scheduler: %d backends, between 1 and %d are possible\n", n_backends, kMaxBackends);
        return nullptr;
    }
    std::unique_ptr<Scheduler> s(new (std::nothrow) Scheduler);
    if (s == nullptr) return nullptr;
    s->n_backends = n_backends;
    s->n_copies = parallel ? kMaxCopies : 1;
    s->op_offload = op_offload;
    const bool ok = without_exceptions([&] { return set_up(*s, backends, bufts, graph_size); });
    return ok ? s.release() : nullptr;
}

void ggml_backend_sched_free(ggml_backend_sched_t sched) { delete sched; }

bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, ggml_cgraph * measure_graph) {
    GGML_ASSERT(sched != nullptr && measure_graph != nullptr);
    return measure(*sched, measure_graph, [&] { return reserve_storage(*sched); });
}

void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, ggml_cgraph * measure_graph,
                                     size_t * sizes) {
    GGML_ASSERT(sched != nullptr && measure_graph != nullptr && sizes != nullptr);
    std::fill(sizes, sizes + sched->n_backends, 0);
    AllocGraph & alloc = sched->alloc;
    (void)measure(*sched, measure_graph, [&] {
        ggml_gallocr_reserve_n_size(sched->galloc, &alloc.graph, alloc.node_ids.data(), alloc.leaf_ids.data(),
                                    sizes);
        for (int b = 0; b < sched->n_backends; ++b) {
            sizes[b] = ggml::saturating_add(
                sizes[b],
                ggml::ext::Workspace::allocated_bytes(sched->bufts[size_t(b)], workspace_bytes(*sched, b)));
        }
        return true;
    });
}

int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != nullptr);
    return sched->n_backends;
}

ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i) {
    GGML_ASSERT(sched != nullptr && i >= 0 && i < sched->n_backends);
    return sched->backends[size_t(i)];
}

int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != nullptr);
    return int(sched->splits.size());
}

int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != nullptr);
    return sched->n_copies;
}

ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                              ggml_backend_t backend) {
    return sched->bufts[size_t(required_id_of(sched, backend))];
}

size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend) {
    const int id = required_id_of(sched, backend);
    const auto & workspace = sched->workspaces[size_t(id)];
    return ggml_gallocr_get_buffer_size(sched->galloc, id) +
           (workspace != nullptr ? ggml_backend_buffer_get_size(workspace->buffer()) : 0);
}

void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, ggml_tensor * node,
                                           ggml_backend_t backend) {
    const int id = required_id_of(sched, backend);
    GGML_ASSERT(node != nullptr);
    const bool ok = without_exceptions([&] {
        sched->tensors[sched->tensors.insert(node)].backend = int16_t(id);
        return true;
    });
    if (!ok) GGML_LOG_ERROR("scheduler: the backend of '%s' could not be noted\n", node->name);
}

ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched, ggml_tensor * node) {
    GGML_ASSERT(sched != nullptr);
    const int32_t slot = sched->tensors.find(node);
    if (slot == kNoSlot || sched->tensors[slot].backend == kNoBackend) return nullptr;
    return sched->backends[size_t(sched->tensors[slot].backend)];
}

void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, ggml_cgraph * graph) {
    GGML_ASSERT(sched != nullptr && graph != nullptr);
    if (!without_exceptions([&] { return split(*sched, graph); })) give_back(*sched);
}

bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, ggml_cgraph * graph) {
    GGML_ASSERT(sched != nullptr && graph != nullptr);
    if (sched->stage == Stage::kAllocated) {
        GGML_LOG_ERROR("scheduler: a graph is allocated already, ggml_backend_sched_reset is missing\n");
        return false;
    }
    sched->cur_copy = sched->next_copy;
    sched->next_copy = (sched->next_copy + 1) % sched->n_copies;
    if (!without_exceptions([&] { return split_as_expected(*sched, graph) && place(*sched); })) {
        give_back(*sched);
        return false;
    }
    sched->stage = Stage::kAllocated;
    sched->executions = 0;
    return true;
}

ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, ggml_cgraph * graph) {
    const ggml_status status = ggml_backend_sched_graph_compute_async(sched, graph);
    ggml_backend_sched_synchronize(sched);
    return status;
}

ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched, ggml_cgraph * graph) {
    GGML_ASSERT(sched != nullptr && graph != nullptr);
    if (sched->stage != Stage::kAllocated && !ggml_backend_sched_alloc_graph(sched, graph)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    ggml_status status = GGML_STATUS_ALLOC_FAILED;
    (void)without_exceptions([&] {
        status = run(*sched);
        return true;
    });
    return status;
}

void ggml_backend_sched_synchronize(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != nullptr);
    synchronize_backends(*sched);
}

void ggml_backend_sched_reset(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != nullptr);
    reset(*sched);
}

void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                          ggml_backend_sched_eval_callback callback, void * user_data) {
    GGML_ASSERT(sched != nullptr);
    sched->callback = callback;
    sched->callback_data = user_data;
}

} // extern "C"
