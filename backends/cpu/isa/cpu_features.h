// What the processor can run, found once at first use. Binaries are compiled for the oldest processor of the
// architecture; everything newer is chosen here at run time. GGML_CPU_ISA (environment) lowers the level.
#pragma once

namespace ggml::cpu {

// Levels in the order of GGML_CPU_ISA's values. A level includes the ones before it that the processor has.
enum class Isa : int { baseline, avx2, avxvnni, avx512, avx512vnni, neon, dotprod, all };

struct CpuFeatures {
    bool avx2 = false;       // AVX2, FMA, F16C, BMI2
    bool avxvnni = false;    // 256-bit VPDPBUSD with VEX encoding
    bool avx512 = false;     // F, BW, DQ, VL, CD
    bool avx512vnni = false; // VPDPBUSD in 512-bit registers, with VBMI
    bool neon = false;
    bool dotprod = false; // SDOT
};

// The features kernels may use: the processor's, lowered by the cap.
const CpuFeatures & cpu_features();

// The processor's own features, whatever the cap.
const CpuFeatures & detected_features();

// Lowers (or restores, with Isa::all) the level for the whole process, Highway kernels included. For tests;
// not while a graph runs. Returns false when the processor lacks that level, and changes nothing.
bool set_isa_cap(Isa cap);

// "avx512vnni" and so on, as in GGML_CPU_ISA.
const char * isa_name(Isa isa);

} // namespace ggml::cpu
