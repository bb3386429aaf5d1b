#include "runtime/ext/plan/fingerprint.h"

#include <cstring>

namespace ggml::ext {
namespace {

// Multiply and fold (the mixing step of wyhash): a change of any bit changes about half the bits of the
// result.
uint64_t mix(uint64_t hash, uint64_t value) {
    const auto product = static_cast<unsigned __int128>(hash ^ value) * 0x9e3779b97f4a7c15u;
    return uint64_t(product) ^ uint64_t(product >> 64) ^ hash;
}

uint64_t mix_layout(uint64_t hash, const ggml_tensor * t) {
    hash = mix(hash, uint64_t(t->type) << 32 | uint32_t(t->flags & GGML_TENSOR_FLAG_COMPUTE));
    for (int i = 0; i < GGML_MAX_DIMS; ++i) hash = mix(mix(hash, uint64_t(t->ne[i])), t->nb[i]);
    return hash;
}

uint64_t mix_node(uint64_t hash, const ggml_tensor * node) {
    hash = mix(mix_layout(hash, node), uint64_t(node->op));
    for (size_t i = 0; i < sizeof(node->op_params); i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char *>(node->op_params) + i, sizeof(word));
        hash = mix(hash, word);
    }
    for (const ggml_tensor * src : node->src) {
        hash = mix(hash, uint64_t(reinterpret_cast<uintptr_t>(src)));
        if (src != nullptr) hash = mix_layout(hash, src);
    }
    return hash;
}

} // namespace

uint64_t fingerprint(const ggml_ext_step & step) noexcept {
    uint64_t hash = uint64_t(step.n_nodes);
    for (int i = 0; i < step.n_nodes; ++i) hash = mix_node(hash, step.nodes[i]);
    return hash;
}

} // namespace ggml::ext
