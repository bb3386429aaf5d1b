// Every operator room, one line each.
#pragma once

#include "ops/channel_rms_norm/schema.h"
#include "ops/common/register.h"
#include "ops/gated_residual/rule.h"
#include "ops/linear_i8/schema.h"
#include "ops/linear_w4/schema.h"
#include "ops/low_rank_add/rule.h"
#include "ops/modulate/schema.h"
#include "ops/quantize_i8_convrot/schema.h"
#include "ops/rope_apply/schema.h"
#include "ops/sage_attn/schema.h"
#include "ops/sol_attn/schema.h"

#include <initializer_list>

namespace sd {

inline constexpr std::initializer_list<RegisterRoom> kRooms = {
    register_linear_i8,      register_linear_w4,           register_modulate,  register_channel_rms_norm,
    register_rope_apply,     register_quantize_i8_convrot, register_sage_attn, register_sol_attn,
    register_gated_residual, register_low_rank_add,
};

} // namespace sd
