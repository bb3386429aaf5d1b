#include "runtime/tools/host_copy.h"

#include "ggml-cpu.h"
#include "runtime/base/math.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/registry/registry.h"
#include "runtime/ext/schema/schema.h"
#include "runtime/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace ggml::tools {
namespace {

constexpr size_t kAlignment = 64; // what kernels of the CPU expect at most

ggml_backend_buffer_t buffer_of(const ggml_tensor * t) { return ext::storage_owner(t)->buffer; }

ggml_status run_on_cpu(ggml_tensor * node) {
    ggml_cgraph graph = {};
    graph.size = graph.n_nodes = 1;
    graph.nodes = &node;
    ggml_cplan plan = ggml_graph_plan(&graph, GGML_DEFAULT_N_THREADS, nullptr);
    plan.use_ref = true;
    Bytes work(plan.work_size);
    plan.work_data = work.data();
    return ggml_graph_compute(&graph, &plan);
}

bool runs_on_cpu(const ggml_tensor * node) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return cpu != nullptr && ggml_ext_dev_supports_native_op(cpu, node);
}

} // namespace

Bytes read_bytes(const ggml_tensor * t) {
    Bytes bytes(ggml_nbytes(t));
    if (bytes.empty()) return bytes;
    // Tensors of a context with storage have an address and no buffer.
    if (buffer_of(t) == nullptr) {
        std::memcpy(bytes.data(), t->data, bytes.size());
    } else {
        ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    }
    return bytes;
}

void write_bytes(ggml_tensor * t, const Bytes & bytes) {
    if (bytes.empty()) return;
    if (buffer_of(t) == nullptr) {
        std::memcpy(t->data, bytes.data(), bytes.size());
    } else {
        ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
    }
}

Mirror::Mirror(const ggml_ext_step & step) : step_(step) {
    for (int i = 0; i < step.n_nodes; ++i) nodes_.push_back(copy(step.nodes[i]));
}

bool Mirror::is_in_step(const ggml_tensor * t) const {
    return std::find(step_.nodes, step_.nodes + step_.n_nodes, t) != step_.nodes + step_.n_nodes;
}

// What lies outside the step is data, whatever made it.
ggml_tensor * Mirror::copy(const ggml_tensor * t) {
    if (const auto found = copies_.find(t); found != copies_.end()) return found->second;
    ggml_tensor & copied = tensors_.emplace_back(*t);
    copies_.emplace(t, &copied);
    copied.buffer = nullptr;
    copied.extra = nullptr;
    std::fill(std::begin(copied.src), std::end(copied.src), nullptr);
    if (is_in_step(t)) {
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (t->src[j] != nullptr) copied.src[j] = copy(t->src[j]);
        }
    } else {
        copied.op = GGML_OP_NONE;
    }
    if (t->view_src != nullptr) {
        copied.view_src = copy(t->view_src);
        copied.data = static_cast<char *>(copied.view_src->data) + t->view_offs;
    } else {
        place(t, copied);
    }
    return &copied;
}

void Mirror::place(const ggml_tensor * t, ggml_tensor & copied) {
    const size_t bytes = ggml_nbytes(t);
    char * memory = storage_.emplace_back(std::make_unique<char[]>(bytes + kAlignment)).get();
    const auto address = reinterpret_cast<uintptr_t>(memory);
    copied.data = memory + (align_up(address, uintptr_t(kAlignment)) - address);
    if (is_in_step(t) || bytes == 0) return;
    if (t->data == nullptr && t->buffer == nullptr) {
        complete_ = false;
        return;
    }
    const Bytes contents = read_bytes(t);
    std::memcpy(copied.data, contents.data(), contents.size());
}

bool Mirror::has_reference() const {
    if (!complete_) return false;
    return std::all_of(nodes_.begin(), nodes_.end(), [](const ggml_tensor * node) {
        const ext::Effects effects = ext::effects_of(node);
        if (!effects.runs_code) return true;
        if (!effects.known) return false;
        const ggml_ext_op * op = ext::op_of(node);
        return op != nullptr ? op->reference != nullptr : runs_on_cpu(node);
    });
}

ggml_status Mirror::compute() {
    for (ggml_tensor * node : nodes_) {
        if (!ext::effects_of(node).runs_code) continue;
        const ggml_ext_op * op = ext::op_of(node);
        const ggml_status status = op != nullptr ? op->reference(node, op->user_data) : run_on_cpu(node);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

LeafContents::LeafContents(const ggml_cgraph * graph) {
    std::unordered_set<const ggml_tensor *> written;
    for (int i = 0; i < graph->n_nodes; ++i) {
        if (ext::effects_of(graph->nodes[i]).writes_view) written.insert(ext::storage_owner(graph->nodes[i]));
    }
    for (int i = 0; i < graph->n_leafs; ++i) {
        auto * owner = const_cast<ggml_tensor *>(ext::storage_owner(graph->leafs[i]));
        if (owner->data == nullptr || bytes_.count(owner) != 0) continue;
        const bool weights = owner->buffer != nullptr && ggml_backend_buffer_get_usage(owner->buffer) ==
                                                             GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
        if (weights && written.count(owner) == 0) continue;
        bytes_.emplace(owner, read_bytes(owner));
    }
}

void LeafContents::restore() const {
    for (const auto & [leaf, bytes] : bytes_) write_bytes(leaf, bytes);
}

} // namespace ggml::tools
