// The runtime without any device: what the fuzzed parsers need.
#include "runtime/backend/interface.h"

namespace ggml {

const BackendRegFn kBuiltinBackends[] = {nullptr};

} // namespace ggml
