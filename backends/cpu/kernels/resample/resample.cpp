#include "backends/cpu/kernels/resample/resample.h"

namespace ggml::cpu {
namespace {

constexpr OpKernels kResample[] = {
    {GGML_OP_POOL_1D, pool_supports, pool_kernel, pool_reference},
    {GGML_OP_POOL_2D, pool_supports, pool_kernel, pool_reference},
    {GGML_OP_UPSCALE, upscale_supports, upscale_kernel, upscale_reference, upscale_scratch,
     upscale_reference_scratch},
};

} // namespace

Family family_resample() { return kResample; }

} // namespace ggml::cpu
