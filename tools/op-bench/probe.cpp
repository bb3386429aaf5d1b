#include "tools/op-bench/probe.h"

#include "ggml-cpu.h"
#include "sd-ggml-ops.h"
#include "tools/op-bench/explain_file.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/silent_log.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace op_bench {
namespace {

constexpr size_t kTensors = 64; // operands, their owners and views, the node

// The node without storage.
class Metadata {
  public:
    Metadata(const OpCase & op, const NodeSpec & spec)
        : ctx_(ggml_init({kTensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})) {
        if (ctx_ == nullptr) throw Failure("no memory for a graph");
        operands_ = make_operands(ctx_.get(), spec);
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, op.build(ctx_.get(), spec, operands_));
    }
    ggml_cgraph * graph() const { return graph_; }

    // What its owners of storage take, the result left out.
    uint64_t operand_bytes() const {
        uint64_t bytes = 0;
        for (ggml_tensor * t = ggml_get_first_tensor(ctx_.get()); t != nullptr;
             t = ggml_get_next_tensor(ctx_.get(), t)) {
            if (t->view_src == nullptr && t->op == GGML_OP_NONE) bytes += ggml_nbytes(t);
        }
        return bytes;
    }

  private:
    ggml_context_ptr ctx_;
    std::vector<ggml_tensor *> operands_;
    ggml_cgraph * graph_ = nullptr;
};

// Empty: no backend runs the node.
std::optional<ExplainDocument> explain(ggml_backend_sched_t sched, const Metadata & node) {
    const std::unique_ptr<char, void (*)(char *)> text(
        ggml_ext_explain(sched, node.graph(), GGML_EXT_FORMAT_JSON), ggml_ext_text_free);
    if (text == nullptr) return std::nullopt;
    return parse_explain(text.get());
}

std::string who(const ExplainNode & node) { return node.by.empty() ? kNative : node.by; }

// Whether `name` runs the node when those that are considered earlier are disabled. Those that come later
// stay, so that there is a plan whose list has the words of a refusal.
Implementation probe(ggml_backend_t cpu, const std::string & name, const std::vector<std::string> & earlier,
                     const Metadata & node) {
    Implementation out{name, false, "", 0};
    const ggml_backend_sched_ptr sched = scheduler_without(cpu, earlier);
    const auto document = explain(sched.get(), node);
    if (!document.has_value()) {
        out.refusal = ggml_ext_last_message();
        return out;
    }
    const ExplainNode & found = document->nodes.back();
    const uint64_t operands = node.operand_bytes();
    out.bytes = document->memory_bytes - std::min(operands, document->memory_bytes);
    if (who(found) == name) return out;
    out.refusal = "does not run this node";
    for (const ExplainNode::Rejected & rejected : found.rejected) {
        if (rejected.kernel == name) out.refusal = rejected.words;
    }
    return out;
}

// Kernels in the order they are considered: those that were refused, the chosen one, those it outranked.
std::vector<std::string> names_of(const ExplainNode & node) {
    std::vector<std::string> before, behind;
    for (const ExplainNode::Rejected & rejected : node.rejected) {
        const bool outranked = rejected.reason == ggml_ext_reason_name(GGML_EXT_REASON_OUTRANKED);
        (outranked ? behind : before).push_back(rejected.kernel);
    }
    if (!node.by.empty()) before.push_back(node.by);
    before.insert(before.end(), behind.begin(), behind.end());
    return before;
}

} // namespace

ggml_backend_ptr open_cpu(int n_threads) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (device == nullptr || sd_ggml_register_extensions(device) != GGML_EXT_SUCCESS)
        throw Failure(std::string("the CPU is not there: ") + ggml_ext_last_message());
    ggml_backend_ptr cpu(ggml_backend_dev_init(device, nullptr));
    if (cpu == nullptr) throw Failure("the CPU does not start");
    ggml_backend_cpu_set_n_threads(cpu.get(), n_threads);
    return cpu;
}

ggml_backend_sched_ptr scheduler_without(ggml_backend_t cpu, const std::vector<std::string> & kernels) {
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(&cpu, nullptr, 1, kTensors, false, true));
    if (sched == nullptr) throw Failure("no memory for a scheduler");
    std::vector<const char *> disabled;
    for (const std::string & name : kernels) disabled.push_back(name.c_str());
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.kernels = true;
    policy.fusion = policy.replay = false;
    policy.disabled = disabled.data();
    policy.n_disabled = disabled.size();
    if (ggml_ext_sched_set_policy(sched.get(), &policy) != GGML_EXT_SUCCESS)
        throw Failure(ggml_ext_last_message());
    return sched;
}

std::vector<Implementation> implementations_of(ggml_backend_t cpu, const OpCase & op, const NodeSpec & spec) {
    const SilentLog silent;
    const Metadata node(op, spec);
    const auto document = explain(scheduler_without(cpu, {}).get(), node);
    if (!document.has_value()) throw Failure(spec.op + " is not run here: " + ggml_ext_last_message());
    const ExplainNode & found = document->nodes.back();
    const std::vector<std::string> names = names_of(found);
    std::vector<Implementation> list;
    std::vector<std::string> earlier;
    for (const std::string & name : names) {
        list.push_back(probe(cpu, name, earlier, node));
        earlier.push_back(name);
    }
    Implementation native = probe(cpu, kNative, names, node);
    if (native.refusal.empty()) list.push_back(std::move(native));
    for (Implementation & i : list) i.chosen = i.name == who(found);
    return list;
}

std::vector<std::string> kernel_names(const std::vector<Implementation> & list) {
    std::vector<std::string> names;
    for (const Implementation & i : list) {
        if (i.name != kNative) names.push_back(i.name);
    }
    return names;
}

} // namespace op_bench
