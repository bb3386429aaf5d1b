// What registered kernels get from the CPU backend, by name (ggml-ext.h describes each).
#pragma once

namespace ggml::cpu {

// Null for a name that is no service.
void * service(const char * name);

} // namespace ggml::cpu
