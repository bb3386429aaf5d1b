// A thread pool in ggml's API is a configuration here: threads belong to the OpenMP runtime, which keeps them
// between graphs and lets them sleep when idle. Affinity, priority and polling are left to OMP_* variables.
#pragma once

#include "ggml-cpu.h"

struct ggml_threadpool {
    ggml_threadpool_params params;
    bool paused;
};
