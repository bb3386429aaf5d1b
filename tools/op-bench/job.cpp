#include "tools/op-bench/job.h"

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/fill.h"
#include "tools/op-bench/memory.h"

#include <algorithm>
#include <cstdio>

namespace op_bench {
namespace {

constexpr size_t kTensors = 64;

bool is_stopped(void * stop) { return *static_cast<const std::atomic<bool> *>(stop); }

void require_memory(uint64_t needed) {
    const uint64_t available = available_memory();
    if (needed <= available) return;
    char text[128];
    std::snprintf(text, sizeof(text), "needs %.1f GB of memory, %.1f GB are available", double(needed) / 1e9,
                  double(available) / 1e9);
    throw Failure(text);
}

double normalized_error(const ggml_tensor * result, const ggml_tensor * reference) {
    const auto *a = static_cast<const float *>(result->data),
               *b = static_cast<const float *>(reference->data);
    double error = 0, size = 0;
    for (int64_t i = 0; i < ggml_nelements(result); ++i) {
        error += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
        size += double(b[i]) * double(b[i]);
    }
    return error == 0 ? 0 : error / size;
}

} // namespace

struct Job::Graph {
    // `all`: the node's kernels, of which `name` is one or none.
    Graph(const Job & job, ggml_backend_t cpu, const std::string & name, std::vector<std::string> all)
        : is_native(name == kNative),
          ctx(ggml_init({kTensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})),
          sched(scheduler_without(cpu, (std::erase(all, name), all))) {
        if (ctx == nullptr) throw Failure("no memory for a graph");
        node = job.op_.build(ctx.get(), job.spec_, job.operands_);
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, node);
        if (!ggml_backend_sched_alloc_graph(sched.get(), graph))
            throw Failure(name + ": no memory for its result and workspace");
    }

    bool is_native;
    ggml_context_ptr ctx;
    ggml_backend_sched_ptr sched;
    ggml_tensor * node = nullptr;
    ggml_cgraph * graph = nullptr;
};

Job::Job(const OpCase & op, const NodeSpec & spec, const std::vector<Implementation> & implementations,
         const std::vector<std::string> & all_kernels, int n_threads, bool verify,
         const std::atomic<bool> & stop)
    : op_(op), spec_(spec), stop_(stop), cpu_(open_cpu(n_threads)),
      operands_ctx_(ggml_init({kTensors * ggml_tensor_overhead(), nullptr, true})) {
    if (operands_ctx_ == nullptr) throw Failure("no memory for a context");
    ggml_backend_cpu_set_abort_callback(cpu_.get(), is_stopped,
                                        const_cast<void *>(static_cast<const void *>(&stop_)));
    operands_ = make_operands(operands_ctx_.get(), spec_);
    ggml_backend_buffer_type_t buft = ggml_backend_cpu_buffer_type();
    uint64_t needed = ggml_backend_alloc_ctx_tensors_from_buft_size(operands_ctx_.get(), buft);
    if (verify) needed *= 2; // parity copies what a step reads
    for (const Implementation & i : implementations) {
        const uint64_t bytes = std::min(i.bytes, UINT64_MAX / 1024);
        needed += verify ? 2 * bytes : bytes;
    }
    require_memory(needed);
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(operands_ctx_.get(), buft));
    if (buffer_ == nullptr) throw Failure("no memory for the operands");
    for (ggml_tensor * t = ggml_get_first_tensor(operands_ctx_.get()); t != nullptr;
         t = ggml_get_next_tensor(operands_ctx_.get(), t)) {
        if (t->view_src == nullptr) fill_random(t);
    }
    for (const Implementation & i : implementations)
        graphs_.push_back(std::make_unique<Graph>(*this, cpu_.get(), i.name, all_kernels));
    if (op_.prepare_inputs != nullptr) op_.prepare_inputs(node());
}

Job::~Job() = default;

const ggml_tensor * Job::node() const { return graphs_.front()->node; }

double Job::bytes() const {
    double bytes = double(element_bytes(Operand::of(node())));
    for (const Operand & o : spec_.inputs) {
        if (o.present) bytes += double(element_bytes(o));
    }
    return bytes;
}

void Job::run(size_t implementation) {
    Graph & g = *graphs_[implementation];
    const ggml_status status = ggml_backend_sched_graph_compute(g.sched.get(), g.graph);
    if (status == GGML_STATUS_SUCCESS || stop_) return;
    throw Failure(op_.op + ": computing ended with '" + ggml_status_to_string(status) + "'");
}

std::string Job::verify(size_t implementation) {
    Graph & g = *graphs_[implementation];
    return g.is_native ? verify_native(g) : verify_kernel(g);
}

// By the operator's own reference.
std::string Job::verify_kernel(Graph & g) {
    ggml_ext_parity_result * found = nullptr;
    if (ggml_ext_parity(g.sched.get(), g.graph, &op_.tolerance, false, &found) != GGML_EXT_SUCCESS)
        return stop_ ? "" : std::string("not compared: ") + ggml_ext_last_message();
    const std::unique_ptr<ggml_ext_parity_result, void (*)(ggml_ext_parity_result *)> result(
        found, ggml_ext_parity_free);
    if (result->n_steps != 1) return "not compared: no kernel ran";
    const ggml_ext_parity_step & step = result->steps[0];
    if (!step.compared) return "not compared: the operator has no reference";
    if (step.good) return "";
    char text[160];
    std::snprintf(text, sizeof(text), "WRONG: element %lld is %g and should be %g, nmse %g",
                  static_cast<long long>(step.difference.first_bad), step.difference.bad_value,
                  step.difference.bad_reference, step.difference.nmse);
    return text;
}

// By the backend's scalar reference of built-in operators, which parity has for extension steps alone.
std::string Job::verify_native(Graph & g) {
    const ggml_backend_ptr plain = open_cpu(1);
    ggml_backend_cpu_set_use_ref(plain.get(), true);
    ggml_backend_cpu_set_abort_callback(plain.get(), is_stopped,
                                        const_cast<void *>(static_cast<const void *>(&stop_)));
    Graph reference(*this, plain.get(), kNative, kernel_names(implementations_of(plain.get(), op_, spec_)));
    const ggml_status a = ggml_backend_sched_graph_compute(g.sched.get(), g.graph);
    const ggml_status b = ggml_backend_sched_graph_compute(reference.sched.get(), reference.graph);
    if (stop_) return "";
    if (a != GGML_STATUS_SUCCESS || b != GGML_STATUS_SUCCESS) return "not compared: computing failed";
    if (g.node->type != GGML_TYPE_F32) return "not compared: the result is not f32";
    const double error = normalized_error(g.node, reference.node);
    if (error <= op_.tolerance.max_nmse) return "";
    char text[80];
    std::snprintf(text, sizeof(text), "WRONG: nmse %g, at most %g", error, op_.tolerance.max_nmse);
    return text;
}

} // namespace op_bench
