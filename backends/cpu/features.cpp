// ggml_cpu_has_*: what the processor offers, for programs that print it. Kernels ask isa/cpu_features.h
// instead.
#include "backends/cpu/isa/cpu_features.h"
#include "ggml-cpu.h"

#include <cstring>

#if defined(__x86_64__)
#    define GGML_X86_HAS(feature) (__builtin_cpu_init(), __builtin_cpu_supports(feature) ? 1 : 0)
#else
#    define GGML_X86_HAS(feature) 0
#endif

extern "C" {

void ggml_cpu_init(void) { ggml::cpu::cpu_features(); }

int ggml_cpu_has_sse3(void) { return GGML_X86_HAS("sse3"); }
int ggml_cpu_has_ssse3(void) { return GGML_X86_HAS("ssse3"); }
int ggml_cpu_has_avx(void) { return GGML_X86_HAS("avx"); }
int ggml_cpu_has_avx2(void) { return GGML_X86_HAS("avx2"); }
int ggml_cpu_has_bmi2(void) { return GGML_X86_HAS("bmi2"); }
int ggml_cpu_has_f16c(void) { return GGML_X86_HAS("f16c"); }
int ggml_cpu_has_fma(void) { return GGML_X86_HAS("fma"); }
int ggml_cpu_has_avx512(void) { return GGML_X86_HAS("avx512f"); }
int ggml_cpu_has_avx512_vbmi(void) { return GGML_X86_HAS("avx512vbmi"); }
int ggml_cpu_has_avx512_vnni(void) { return GGML_X86_HAS("avx512vnni"); }
int ggml_cpu_has_avx512_bf16(void) { return GGML_X86_HAS("avx512bf16"); }
int ggml_cpu_has_avx_vnni(void) { return ggml::cpu::detected_features().avxvnni; }
int ggml_cpu_has_neon(void) { return ggml::cpu::detected_features().neon; }
int ggml_cpu_has_dotprod(void) { return ggml::cpu::detected_features().dotprod; }
int ggml_cpu_has_arm_fma(void) { return ggml::cpu::detected_features().neon; }

} // extern "C"
