#include "backends/cpu/kernels/reduce/reduce.h"

namespace ggml::cpu {
namespace {

constexpr OpKernels kReduce[] = {
    {GGML_OP_SUM, sum_supports, sum_kernel, sum_reference, sum_scratch},
    {GGML_OP_SUM_ROWS, row_sums_supports, row_sums_kernel, row_sums_reference},
    {GGML_OP_MEAN, row_sums_supports, row_sums_kernel, row_sums_reference},
    {GGML_OP_CUMSUM, cumsum_supports, cumsum_kernel, cumsum_reference},
    {GGML_OP_ARGMAX, argmax_supports, argmax_kernel, argmax_reference},
    {GGML_OP_COUNT_EQUAL, count_equal_supports, count_equal_kernel, count_equal_reference},
};

} // namespace

Family family_reduce() { return kReduce; }

} // namespace ggml::cpu
