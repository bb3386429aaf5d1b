// What the normalizations' kernels and references share: how sums become factors, and how channels form
// groups.
#pragma once

#include "backends/cpu/kernel.h"
#include "runtime/ops/params.h"

#include <cstdint>

namespace ggml::cpu {

struct Scaling {
    float mean, scale;
};

// 1 / sqrt(mean square + eps) and 1 / max(length, eps), computed in double: rows of huge values do not
// overflow.
Scaling norm_scaling(double sum_squares, double n, float eps, float mean);
Scaling l2_scaling(double sum_squares, float eps);

// Channels (dimension 2) in groups of ceil(channels / n_groups); the last group may be smaller.
struct Groups {
    int64_t count, per_group, channels;
    int64_t begin(int64_t group) const { return group * per_group; }
    int64_t end(int64_t group) const {
        return begin(group) + per_group < channels ? begin(group) + per_group : channels;
    }
};
Groups groups_of(const ggml_tensor * dst);

ggml_status norm_reference(const KernelContext & ctx, ggml_tensor * dst);
ggml_status group_norm_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
