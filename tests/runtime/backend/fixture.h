// Small helpers shared by the tests of this folder.
#pragma once

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"

#include <numeric>
#include <vector>

namespace ggml::test {

inline ggml_context_ptr make_context(size_t tensors = 64) {
    const size_t bytes = tensors * ggml_tensor_overhead() + ggml_graph_overhead();
    return ggml_context_ptr(ggml_init({bytes, nullptr, /*no_alloc=*/true}));
}

// first, first + 1, ...
inline std::vector<float> counting(size_t n, float first = 0) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), first);
    return values;
}

inline void write(ggml_tensor * t, const std::vector<float> & values) {
    ggml_backend_tensor_set(t, values.data(), 0, values.size() * sizeof(float));
}

inline std::vector<float> read(const ggml_tensor * t) {
    std::vector<float> values(ggml_nbytes(t) / sizeof(float));
    ggml_backend_tensor_get(t, values.data(), 0, ggml_nbytes(t));
    return values;
}

} // namespace ggml::test
