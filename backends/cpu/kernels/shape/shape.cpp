#include "backends/cpu/kernels/shape/shape.h"

namespace ggml::cpu {
namespace {

constexpr OpKernels kShape[] = {
    {GGML_OP_CONCAT, concat_supports, concat_kernel, concat_reference},
    {GGML_OP_REPEAT, repeat_supports, repeat_kernel, repeat_reference},
    {GGML_OP_PAD, pad_supports, pad_kernel, pad_reference},
    {GGML_OP_PAD_REFLECT_1D, pad_reflect_supports, pad_reflect_kernel, pad_reflect_reference},
    {GGML_OP_ROLL, roll_supports, pad_kernel, pad_reference},
    {GGML_OP_WIN_PART, win_part_supports, win_part_kernel, win_part_reference},
    {GGML_OP_WIN_UNPART, win_unpart_supports, win_unpart_kernel, win_unpart_reference},
    {GGML_OP_GET_REL_POS, get_rel_pos_supports, get_rel_pos_kernel, get_rel_pos_reference},
    {GGML_OP_ADD_REL_POS, add_rel_pos_supports, add_rel_pos_kernel, add_rel_pos_reference},
};

} // namespace

Family family_shape() { return kShape; }

} // namespace ggml::cpu
