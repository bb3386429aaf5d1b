// Computing a test device's graph: the nodes are mirrored with host addresses and run by the CPU.
#pragma once

#include "tests/support/test_device.h"

#include <functional>

namespace ggml::test {

// Null when a node or a source does not lie in memory of this device. What is returned may be run after the
// graph object is gone, as long as the memory stays.
std::function<bool()> mirror_graph(TestDevice & device, const ggml_cgraph * graph);

bool lies_in(const TestDevice & device, const ggml_tensor * tensor);

} // namespace ggml::test
