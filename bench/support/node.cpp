#include "bench/support/node.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace bench {
namespace {

void fill(ggml_tensor * t) {
    uint32_t state = 1;
    const auto next = [&state] { return float(int32_t(state = state * 1664525u + 1013904223u)) * 0x1p-31f; };
    for (int64_t i = 0; i < ggml_nelements(t); ++i) {
        if (t->type == GGML_TYPE_F32) static_cast<float *>(t->data)[i] = next();
        if (t->type == GGML_TYPE_F16) static_cast<ggml_fp16_t *>(t->data)[i] = ggml_fp32_to_fp16(next());
    }
}

} // namespace

Node::Node(size_t bytes, const ggml::cpu::Team & team,
           const std::function<ggml_tensor *(ggml_context *)> & build)
    : team_(team), ctx_(ggml_init({bytes + (1 << 20), nullptr, false})), dst_(build(ctx_.get())),
      kernels_(ggml::cpu::find_kernels(dst_->op)) {
    for (ggml_tensor * src : dst_->src) {
        if (src != nullptr) fill(src);
    }
    if (kernels_ == nullptr || !kernels_->supports(dst_)) {
        std::fprintf(stderr, "%s: the CPU has no kernel for this node\n", ggml_op_name(dst_->op));
        std::abort();
    }
    const size_t scratch = kernels_->scratch != nullptr ? kernels_->scratch(dst_, team.n_threads()) : 0;
    scratch_.resize(scratch + 64);
}

void Node::run() {
    void * memory = scratch_.data();
    size_t space = scratch_.size();
    std::align(64, 1, memory, space);
    const ggml::cpu::KernelContext ctx{team_, {static_cast<std::byte *>(memory), space}};
    if (kernels_->kernel(ctx, dst_) != GGML_STATUS_SUCCESS) std::abort();
}

} // namespace bench
