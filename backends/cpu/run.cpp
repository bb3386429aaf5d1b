#include "backends/cpu/run.h"

#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/base/text.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/blocks.h"
#include "runtime/tensor/types.h"

namespace ggml::cpu {
namespace {

bool runs_code(const ggml_tensor * node) {
    return !op_is_metadata_only(node->op) && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 &&
           !ggml_is_empty(node);
}

// A node in a device buffer, or one never allocated, has no host address: an error of whoever built the
// graph.
bool has_addresses(const ggml_tensor * node) {
    if (node->data == nullptr) return false;
    for (const ggml_tensor * src : node->src) {
        if (src != nullptr && src->data == nullptr && !ggml_is_empty(src)) return false;
    }
    return true;
}

// What addresses of elements must be multiples of, since kernels read elements as what they are. Blocks start
// with or end in half-precision scales, those of Q8_K with a float.
size_t element_alignment(ggml_type type) {
    const TypeInfo & info = type_info(type);
    if (!info.quantized) return info.bytes;
    return type == GGML_TYPE_Q8_K ? alignof(BlockQ8_K) : alignof(BlockQ8_0);
}

// Views with odd offsets or strides are legal, and files may place tensors anywhere.
bool is_aligned(const ggml_tensor * t) {
    uintptr_t bits = reinterpret_cast<uintptr_t>(t->data);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (t->ne[i] > 1) bits |= t->nb[i];
    }
    return (bits & (element_alignment(t->type) - 1)) == 0;
}

const ggml_tensor * first_misaligned(const ggml_tensor * node) {
    if (!is_aligned(node)) return node;
    for (const ggml_tensor * src : node->src) {
        if (src != nullptr && !ggml_is_empty(src) && !is_aligned(src)) return src;
    }
    return nullptr;
}

std::string describe_sources(const ggml_tensor * node) {
    std::string text;
    for (const ggml_tensor * src : node->src) {
        if (src != nullptr) text += (text.empty() ? "" : ", ") + describe_tensor(src);
    }
    return text.empty() ? "nothing" : text;
}

} // namespace

ScratchNeed scratch_need(ggml_tensor * const * nodes, int n_nodes, int n_threads, bool use_ref) {
    ScratchNeed most{0, nullptr};
    for (int i = 0; i < n_nodes; ++i) {
        if (!runs_code(nodes[i])) continue;
        const OpKernels * kernels = find_kernels(nodes[i]->op);
        if (kernels == nullptr) continue;
        const ScratchFn scratch = use_ref ? kernels->reference_scratch : kernels->scratch;
        if (scratch == nullptr || !kernels->supports(nodes[i])) continue;
        const size_t bytes = scratch(nodes[i], n_threads);
        if (bytes > most.bytes) most = {bytes, nodes[i]};
    }
    if (most.bytes > 0) most.bytes = saturating_add(most.bytes, kScratchAlignment);
    return most;
}

ggml_status report_no_scratch(const ScratchNeed & need) {
    const char *op = ggml_op_desc(need.node), *name = need.node->name;
    if (need.bytes == SIZE_MAX)
        GGML_LOG_ERROR("CPU: %s '%s' needs more scratch memory than can be counted\n", op, name);
    else
        GGML_LOG_ERROR("CPU: no memory for %zu bytes of scratch that %s '%s' needs\n", need.bytes, op, name);
    return GGML_STATUS_ALLOC_FAILED;
}

ggml_status run_node(const KernelContext & ctx, ggml_tensor * node, bool use_ref) {
    if (!runs_code(node)) return GGML_STATUS_SUCCESS;
    const OpKernels * kernels = find_kernels(node->op);
    if (kernels == nullptr || !kernels->supports(node)) {
        GGML_LOG_ERROR("CPU: no kernel for %s '%s' with these types, shapes and parameters: %s from %s\n",
                       ggml_op_desc(node), node->name, describe_tensor(node).c_str(),
                       describe_sources(node).c_str());
        return GGML_STATUS_FAILED;
    }
    if (!has_addresses(node)) {
        GGML_LOG_ERROR("CPU: %s '%s' or one of its inputs has no memory\n", ggml_op_desc(node), node->name);
        return GGML_STATUS_FAILED;
    }
    if (const ggml_tensor * t = first_misaligned(node)) {
        GGML_LOG_ERROR("CPU: %s '%s': %s '%s' has an address or a stride that is no multiple of %zu bytes\n",
                       ggml_op_desc(node), node->name, ggml_type_name(t->type), t->name,
                       element_alignment(t->type));
        return GGML_STATUS_FAILED;
    }
    return use_ref ? kernels->reference(ctx, node) : kernels->kernel(ctx, node);
}

ggml_status run_nodes(const KernelContext & ctx, ggml_tensor * const * nodes, int n_nodes, bool use_ref) {
    for (int i = 0; i < n_nodes; ++i) {
        if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
        const ggml_status status = run_node(ctx, nodes[i], use_ref);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
