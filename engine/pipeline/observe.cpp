#include "pipeline/observe.h"

namespace sd {
namespace {

thread_local Observation * current = nullptr;

} // namespace

Observation::Observation(ggml_backend_sched_eval_callback callback, void * data)
    : callback_(callback), data_(data) {
    current = this;
}

Observation::~Observation() { current = nullptr; }

void Observation::attach(ggml_backend_sched_t scheduler) {
    if (current != nullptr)
        ggml_backend_sched_set_eval_callback(scheduler, current->callback_, current->data_);
}

} // namespace sd
