// aarch64_kernels LEVEL: checks every kernel at all levels up to LEVEL ("neon" or "dotprod"), which must be
// what this processor has. On a processor without dot products a wrong choice ends in an illegal instruction.
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "tests/cross/aarch64/check.h"

#include <cstring>

namespace ggml::cross {
namespace {

void check_dispatch(const char * level) {
    const bool dotprod = std::strcmp(level, "dotprod") == 0;
    require(dotprod || std::strcmp(level, "neon") == 0, "'%s' is neither neon nor dotprod", level);
    const cpu::CpuFeatures & features = cpu::detected_features();
    require(features.neon, "no NEON found");
    require(features.dotprod == dotprod, "dot products: expected %d, found %d", dotprod, features.dotprod);
    const char * expected = dotprod ? "dotprod" : "portable";
    const char * chosen = cpu::matmul::quant_kernels().name;
    require(std::strcmp(chosen, expected) == 0, "integer kernels: expected %s, chosen %s", expected, chosen);
    require(cpu::set_isa_cap(cpu::Isa::dotprod) == dotprod, "a level this processor lacks was accepted");
    require(cpu::set_isa_cap(cpu::Isa::neon), "the level neon was refused");
    require(std::strcmp(cpu::matmul::quant_kernels().name, "portable") == 0, "neon must cap dot products");
    require(cpu::set_isa_cap(cpu::Isa::all), "the highest level was refused");
    passed("chooses the %s integer kernels", expected);
}

} // namespace
} // namespace ggml::cross

int main(int argc, char ** argv) {
    using namespace ggml::cross;
    require(argc == 2, "usage: aarch64_kernels neon|dotprod");
    check_dispatch(argv[1]);
    check_quant_kernels();
    check_quant_product();
    check_vector_math();
    check_row_kernels();
    check_gates();
    check_attention();
    check_int8_gemm();
    check_w4_kernels();
    check_rotate_quantize();
    return 0;
}
