// For the tests of operator rooms: inputs with every layout, a graph over them run on the CPU through a
// scheduler, and the operator's reference. Uses the public API only, as an application would.
//
//   Inputs in;
//   ggml_tensor * x = in.floats({40, 3, 2, 1}, Rows::padded);
//   const Build build = [&](ggml_context * ctx) { return ggml_ext_modulate(ctx, x, nullptr, s); };
//   const Outcome got = run(build, {.n_threads = 2, .disabled = all_but(names, "sd.modulate.scalar")});
//   expect_same_floats(got, reference(build, modulate_reference), "scalar");
//
// Failures to build, allocate or compute are in the outcome's status and fail no test by themselves.
#pragma once

#include "ggml-cpp.h"
#include "ggml-ext.h"

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace sd::test {

// The CPU with everything of the engine registered, once in the process.
ggml_backend_dev_t cpu_device();

using Sizes = std::array<int64_t, GGML_MAX_DIMS>;

enum class Rows {
    contiguous,
    padded,   // a view of a wider tensor: a gap after each row, and data that starts inside the owner
    permuted, // dimensions 1 and 2 swapped in memory
    sparse,   // every second element of wider rows: nb[0] is twice the element size
};

// Tensors with CPU storage that live as long as this object; any number of graphs may read them.
class Inputs {
  public:
    explicit Inputs(uint32_t seed = 1);

    // Zeroed; not contiguous: a view of a tensor that is.
    ggml_tensor * tensor(ggml_type type, Sizes ne, Rows rows = Rows::contiguous);
    // Uniform in [lo, hi), the gaps too.
    ggml_tensor * floats(Sizes ne, Rows rows = Rows::contiguous, float lo = -1.0f, float hi = 1.0f);
    ggml_tensor * bytes(Sizes ne); // I8, all 256 values

    std::mt19937 & random() { return random_; }

  private:
    ggml_context_ptr ctx_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
    std::mt19937 random_;
};

// Element of a tensor with host storage; floats only.
float & at(ggml_tensor * t, int64_t i0, int64_t i1 = 0, int64_t i2 = 0, int64_t i3 = 0);

// Makes the nodes in ctx, which gives no storage, and returns the result. Called once for each run.
using Build = std::function<ggml_tensor *(ggml_context * ctx)>;

struct RunOptions {
    int n_threads = 1;
    bool fusion = true;
    std::vector<std::string> disabled = {}; // kernels and rules not to be used
    // The result lies in the storage of this contiguous input, from this byte on. The input has its old
    // contents again when run returns.
    ggml_tensor * result_in = nullptr;
    size_t result_offset = 0;
    ggml_abort_callback abort = nullptr;
    // Called with the graph before it is allocated, to mark or reorder what `build` made.
    std::function<void(ggml_cgraph *)> edit = {};
};

struct Outcome {
    ggml_status status = GGML_STATUS_FAILED;
    Sizes ne = {};
    std::vector<uint8_t> bytes; // of the contiguous result
    std::vector<float> floats() const;
};

// All of `names` except `name`: RunOptions::disabled for a run that must use this one.
std::vector<std::string> all_but(const std::vector<std::string> & names, const std::string & name);

Outcome run(const Build & build, const RunOptions & options = {});

// Nodes of the graph that are left without storage because a fusion computes them on the way; -1 when the
// graph cannot be allocated.
int fused_away(const Build & build, const RunOptions & options = {});

// The result by the operator's reference. Its sources are inputs or views of inputs.
Outcome reference(const Build & build, ggml_ext_reference_t compute);

// Bit for bit; a NaN equals every NaN. False, with a failure of the test that names the first difference.
bool expect_same_floats(const Outcome & actual, const Outcome & expected, const std::string & what);
// |a - b| <= max_abs + max_rel * |b|, infinities exactly.
bool expect_close_floats(const Outcome & actual, const Outcome & expected, double max_abs, double max_rel,
                         const std::string & what);

} // namespace sd::test
