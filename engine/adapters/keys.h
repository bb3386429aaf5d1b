// Names of tensors in adapter files: which module, and which role the tensor has for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sd {

enum class AdapterRole {
    down, // LoRA's A: [rank, in]
    up,   // LoRA's B: [out, rank]
    mid,  // LoRA's core between them
    alpha,
    scale,
    difference,
    bias_difference,
    hada_w1_a,
    hada_w1_b,
    hada_w2_a,
    hada_w2_b,
    hada_t1,
    hada_t2,
    lokr_w1,
    lokr_w1_a,
    lokr_w1_b,
    lokr_w2,
    lokr_w2_a,
    lokr_w2_b,
    lokr_t2,
    unsupported, // a known kind of adapter that is not run here
};

struct AdapterKey {
    std::string module; // as written, without the role's ending
    AdapterRole role;
    std::string_view kind; // unsupported: what it is, for people
};

// Nothing for names that are no adapter's.
std::optional<AdapterKey> parse_adapter_key(std::string_view name);

} // namespace sd
