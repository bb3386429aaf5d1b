// Memory of test devices: buffers whose addresses are shifted far outside what the host can access.
#pragma once

#include "runtime/backend/interface.h"
#include "tests/support/test_device.h"

namespace ggml::test {

// Where the bytes of a shifted address really are.
char * real_memory(const void * fake);

ggml_backend_buffer_type make_buffer_type(TestDevice & device);

} // namespace ggml::test
