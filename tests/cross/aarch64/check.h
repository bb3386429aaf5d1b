// What the checks of this program share: one line of output per check, an exit at the first failure, and
// numbers to feed kernels with. There is no GoogleTest here: the program must link without any library of the
// emulated machine.
#pragma once

#include "backends/cpu/isa/cpu_features.h"
#include "ggml.h"

#include <cstdint>
#include <vector>

namespace ggml::cross {

// Reports a check that passed.
GGML_ATTRIBUTE_FORMAT(1, 2)
void passed(const char * format, ...);

// Prints the reason and ends the program with status 1 unless `ok`.
GGML_ATTRIBUTE_FORMAT(2, 3)
void require(bool ok, const char * format, ...);

// Distance in units of the last place of the float nearest to `want`.
double ulps(float got, double want);

// Equal numbers up to `bound` ulp, both NaN, or the same infinity.
bool agrees(float got, double want, double bound);

// |got - want| <= abs + rel * max(|got|, |want|), or both NaN.
bool is_close(double got, double want, double abs, double rel = 0);

// The same numbers on every run.
class Random {
  public:
    explicit Random(uint32_t seed) : state_(seed) {}
    uint32_t bits();
    float uniform(float low, float high);
    std::vector<float> floats(int64_t n, float low = -1.0f, float high = 1.0f);

  private:
    uint32_t state_;
};

// The levels of this processor, lowest first.
std::vector<cpu::Isa> levels();

// Each prints what it checked. Those that depend on the level go through all of them.
void check_quant_kernels();
void check_quant_product();
void check_vector_math();
void check_row_kernels();
void check_gates();
void check_attention();
void check_int8_gemm();
void check_w4_kernels();
void check_rotate_quantize();

} // namespace ggml::cross
