// The backends linked into this library, in the order devices are listed.
#include "ggml-cpu.h"
#include "runtime/backend/interface.h"

namespace ggml {

const BackendRegFn kBuiltinBackends[] = {ggml_backend_cpu_reg, nullptr};

} // namespace ggml
