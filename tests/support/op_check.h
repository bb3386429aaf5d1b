// Harness for kernels: builds a small graph with odd layouts, computes it with the scalar reference and with
// the kernel at every instruction-set level and thread count, and compares. Failures are reported through
// GoogleTest.
#pragma once

#include "backends/cpu/isa/cpu_features.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "runtime/tensor/layout.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ggml::test {

enum class Layout {
    contiguous,
    padded_rows,  // a gap after each row (a view of a wider tensor), and data that starts past the owner's
                  // start
    transposed01, // dimensions 0 and 1 swapped in memory (nb[0] is not the element size)
    permuted12,   // dimensions 1 and 2 swapped in memory (rows stay contiguous)
    permuted23,
};

const char * layout_name(Layout layout);

// |a - b| <= abs + rel * max(|a|, |b|), or at most `ulp` representable F32 values apart. NaN equals NaN;
// infinities must match exactly. Integer results are compared exactly.
struct Tolerance {
    double abs = 0;
    double rel = 0;
    int64_t ulp = 0;
};

inline constexpr Tolerance kExact{};

struct RunOptions {
    std::vector<int> threads = {1, 2, 3, 8};
    bool all_isa_levels = true;
    // Kernels of one ISA level must give the same bytes for every thread count.
    bool identical_across_threads = true;
};

class OpCheck {
  public:
    explicit OpCheck(size_t arena_bytes = 16u << 20);
    ~OpCheck();
    OpCheck(const OpCheck &) = delete;
    OpCheck & operator=(const OpCheck &) = delete;

    ggml_context * ctx() { return ctx_; }

    // A tensor of this shape, filled with uniform random values in [lo, hi] (quantized types: quantized from
    // them; integer types: whole numbers). Layouts other than contiguous need a plain (not block-quantized)
    // type.
    ggml_tensor * input(ggml_type type, Shape ne, Layout layout = Layout::contiguous, float lo = -1.0f,
                        float hi = 1.0f);

    // I32/I64 tensor with the given values, 1-dimensional unless a shape is given.
    ggml_tensor * indices(const std::vector<int64_t> & values, ggml_type type = GGML_TYPE_I32);
    ggml_tensor * indices(const std::vector<int64_t> & values, Shape ne, ggml_type type = GGML_TYPE_I32);

    // F32 tensor with the given values in ggml order.
    ggml_tensor * values(const std::vector<float> & values, Shape ne);

    // Reference against kernel, over ISA levels and thread counts. Inputs are restored before each run, so
    // in-place operators can be checked. False when any comparison failed (details are in the test log).
    bool check(ggml_tensor * result, const Tolerance & tolerance, const RunOptions & options = {});

    // Computes `result` and returns its elements in ggml order as doubles. use_ref chooses the scalar
    // reference.
    std::vector<double> compute(ggml_tensor * result, bool use_ref, int n_threads = 1);

    // Like compute, but returns only the status.
    ggml_status compute_status(ggml_tensor * result, bool use_ref, int n_threads = 1);

    uint32_t & seed() { return seed_; }

  private:
    struct Saved {
        ggml_tensor * tensor;
        std::vector<uint8_t> bytes;
    };

    void prepare(ggml_tensor * result);
    void restore();

    ggml_context * ctx_;
    uint32_t seed_ = 12345;
    ggml_cgraph * graph_ = nullptr;
    ggml_tensor * graph_result_ = nullptr;
    std::vector<Saved> saved_;
};

// Elements of a host tensor in ggml order; quantized types are dequantized.
std::vector<double> read_elements(const ggml_tensor * t);

// Elements' bytes in ggml order, without the gaps of strided layouts.
std::vector<uint8_t> read_bytes(const ggml_tensor * t);

// Sets one element of a plain-typed host tensor.
void set_element(ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3, double value);

// Compares element by element; on failure adds a GoogleTest failure naming the first bad index. `what` goes
// into it.
bool expect_close(const std::vector<double> & actual, const std::vector<double> & expected,
                  const Tolerance & tolerance, const std::string & what);

// Calls fn once per instruction-set level this processor has, lowest first, with the cap set; restores it
// afterwards.
void for_each_isa(const std::function<void(cpu::Isa)> & fn);

} // namespace ggml::test
