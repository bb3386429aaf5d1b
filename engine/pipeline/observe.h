// Looking at nodes of graphs while they are computed, for statistics.
#pragma once

#include "ggml-backend.h"

namespace sd {

// While one exists, the callback sees nodes of all graphs whose Runner this thread makes or gives new memory
// (ggml_backend_sched_set_eval_callback; nothing is fused then). One at a time for a thread.
class Observation {
  public:
    Observation(ggml_backend_sched_eval_callback callback, void * data);
    ~Observation();
    Observation(const Observation &) = delete;
    Observation & operator=(const Observation &) = delete;

    // For Runner.
    static void attach(ggml_backend_sched_t scheduler);

  private:
    ggml_backend_sched_eval_callback callback_;
    void * data_;
};

} // namespace sd
