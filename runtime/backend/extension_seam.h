// Where devices and backends ask the extension core, which lies above this room and defines these functions.
// Each starts with one load that tells whether anything is registered for the device.
#pragma once

#include "ggml-backend.h"

namespace ggml {

// The answer of a capability query, registered kernels of single nodes included.
bool device_supports_op(ggml_backend_dev_t device, const ggml_tensor * op);

// Computes a graph whose tensors have storage: as the backend itself does, or with kernels of single nodes
// where some are registered and chosen.
ggml_status compute_graph(ggml_backend_t backend, ggml_cgraph * graph);

// The backend is about to end.
void forget_backend(ggml_backend_t backend);

} // namespace ggml
