#include "backends/cpu/kernels/generate/generate.h"

namespace ggml::cpu {
namespace {

constexpr OpKernels kGenerate[] = {
    {GGML_OP_ARANGE, arange_supports, arange_kernel, arange_reference},
    {GGML_OP_TIMESTEP_EMBEDDING, timestep_embedding_supports, timestep_embedding_kernel,
     timestep_embedding_reference, timestep_embedding_scratch},
    {GGML_OP_FILL, fill_supports, fill_kernel, fill_reference},
    {GGML_OP_TRI, tri_supports, tri_kernel, tri_reference},
    {GGML_OP_DIAG, diag_supports, diag_kernel, diag_reference},
};

} // namespace

Family family_generate() { return kGenerate; }

} // namespace ggml::cpu
