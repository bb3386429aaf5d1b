// Every operator room, one line each.
#pragma once

#include "ops/common/register.h"
#include "ops/linear_i8/schema.h"
#include "ops/modulate/schema.h"
#include "ops/quantize_i8_convrot/schema.h"
#include "ops/rope_apply/schema.h"

#include <initializer_list>

namespace sd {

inline constexpr std::initializer_list<RegisterRoom> kRooms = {
    register_linear_i8,
    register_modulate,
    register_rope_apply,
    register_quantize_i8_convrot,
};

} // namespace sd
