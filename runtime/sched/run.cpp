// Running the splits. Order between streams: a split starts after all earlier splits of other backends, by an
// event the stream waits for where the two are of one family, else by the host waiting. Between graphs that
// order is kept only without parallel copies; with them the copies and their events keep graphs apart.
#include "runtime/backend/interface.h"
#include "runtime/base/trace.h"
#include "runtime/sched/sched.h"

namespace ggml::sched {
namespace {

ggml_backend_event_t event_of(const Scheduler & s, int backend) {
    return s.events[size_t(backend)][size_t(s.cur_copy)];
}

// Events are opaque to other families.
bool can_wait_in_stream(const Scheduler & s, int waiter, int other) {
    ggml_backend_t a = s.backends[size_t(waiter)], b = s.backends[size_t(other)];
    return event_of(s, other) != nullptr && a->iface.event_wait != nullptr &&
           a->device->reg == b->device->reg;
}

void wait_for_others(Scheduler & s, int backend) {
    for (int b = 0; b < s.n_backends; ++b) {
        if (b == backend || !s.pending[size_t(b)]) continue;
        if (can_wait_in_stream(s, backend, b)) {
            // Still pending for third parties: only this stream has waited.
            ggml_backend_event_wait(s.backends[size_t(backend)], event_of(s, b));
            continue;
        }
        ggml_backend_synchronize(s.backends[size_t(b)]);
        s.pending[size_t(b)] = false;
    }
}

// The host may write the copy's storage once its last reader is done.
void wait_for_readers(const Scheduler & s, int backend) {
    if (event_of(s, backend) != nullptr) {
        ggml_backend_event_synchronize(event_of(s, backend));
    } else {
        ggml_backend_synchronize(s.backends[size_t(backend)]);
    }
}

void copy_input(Scheduler & s, const Split & split, int32_t slot) {
    ggml_tensor * input = s.tensors[slot].tensor;
    ggml_tensor * copy = copy_of(s, slot, split.backend, s.cur_copy);
    const int home = s.tensors[slot].backend;
    ggml_backend_t from = s.backends[size_t(home)];
    ggml_backend_t to = s.backends[size_t(split.backend)];
    const TraceScope scope("copy", [&]() -> TraceWords {
        return {input->name, ggml_backend_name(to), ggml_backend_name(from)};
    });
    // The caller may overwrite an input as soon as this call returns, so it is copied now.
    const bool callers = (input->flags & GGML_TENSOR_FLAG_INPUT) != 0;
    if (!callers && to->iface.cpy_tensor_async != nullptr) {
        // The source's stream writes where earlier splits of the destination may still read.
        if (can_wait_in_stream(s, home, split.backend)) {
            ggml_backend_event_wait(from, event_of(s, split.backend));
        } else {
            wait_for_readers(s, split.backend);
        }
        if (to->iface.cpy_tensor_async(from, to, input, copy)) return;
    }
    if (!callers) ggml_backend_synchronize(from);
    wait_for_readers(s, split.backend);
    ggml_backend_tensor_copy(input, copy);
}

} // namespace

void wait_for_all(Scheduler & s) {
    for (int b = 0; b < s.n_backends; ++b) ggml_backend_synchronize(s.backends[size_t(b)]);
    s.pending.fill(false);
    s.in_flight = false;
}

ggml_status run(Scheduler & s) {
    const TraceScope scope("run", "execute graph");
    s.in_flight = true;
    if (s.n_copies > 1) s.pending.fill(false);
    for (Split & split : s.splits) {
        wait_for_others(s, split.backend);
        for (int k = 0; k < split.n_inputs; ++k) {
            copy_input(s, split, s.split_inputs[size_t(split.first_input + k)]);
        }
        const ggml_status status = execute_split(s, split);
        s.pending[size_t(split.backend)] = true;
        if (event_of(s, split.backend) != nullptr) {
            ggml_backend_event_record(event_of(s, split.backend), s.backends[size_t(split.backend)]);
        }
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    if (s.observer != nullptr) return GGML_STATUS_SUCCESS; // none that the caller counts
    ++s.executions;
    if (s.expectations.empty() || meets_replay_expectations(s)) return GGML_STATUS_SUCCESS;
    return GGML_STATUS_FAILED;
}

} // namespace ggml::sched
