#include "runtime/tools/fuzz_run.h"

#include "ggml-alloc.h"
#include "runtime/graph/graph.h"
#include "runtime/tools/compare.h"
#include "runtime/tools/fuzz_data.h"
#include "runtime/tools/fuzz_random.h"
#include "runtime/tools/fuzz_survey.h"
#include "runtime/tools/host_copy.h"

#include <algorithm>
#include <new>

namespace ggml::tools {
namespace {

// A conversion names itself as a source and is no reader of itself.
bool has_reader(const FuzzProgram & program, const ggml_tensor * t) {
    return std::any_of(program.order.begin(), program.order.end(), [t](const ggml_tensor * node) {
        return node != t && std::find(node->src, node->src + GGML_MAX_SRC, t) != node->src + GGML_MAX_SRC;
    });
}

// What the caller may fetch: what is marked, and what nobody reads.
bool may_be_read(const FuzzProgram & program, const ggml_tensor * node) {
    if ((node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0) return true;
    return node->view_src == nullptr && !op_is_metadata_only(node->op) && !has_reader(program, node);
}

class Execution {
  public:
    Execution(const FuzzMachine & machine, FuzzProgram & program, const FuzzSetting & setting, uint64_t seed)
        : machine_(machine), program_(program), setting_(setting), seed_(seed) {}

    bool prepare();
    FuzzSurvey survey(const char * rule);
    ggml_status compute();
    std::vector<FuzzReadout> read() const;

  private:
    void make_contents();
    bool place_leafs();
    void build_graph();
    bool make_scheduler();
    void assign();
    void write_leafs();

    const FuzzMachine & machine_;
    FuzzProgram & program_;
    const FuzzSetting & setting_;
    const uint64_t seed_;
    std::vector<Bytes> contents_; // of the leafs
    ggml_backend_buffer_ptr buffer_;
    ggml_context_ptr graph_ctx_;
    ggml_cgraph * graph_ = nullptr;
    ggml_backend_sched_ptr sched_; // ends before what it refers to
};

// Before a scheduler puts copies in the place of sources: who reads a leaf decides about its contents.
void Execution::make_contents() {
    for (const FuzzLeaf & leaf : program_.leafs)
        contents_.push_back(fuzz_contents(program_, leaf, seed_of_part(seed_, contents_.size())));
}

bool Execution::place_leafs() {
    ggml_backend_buffer_type_t buft = ggml_backend_get_default_buffer_type(machine_.attacked());
    const size_t alignment = ggml_backend_buft_get_alignment(buft);
    size_t bytes = alignment;
    for (FuzzLeaf & leaf : program_.leafs) {
        const size_t own = ggml_backend_buft_get_alloc_size(buft, leaf.tensor);
        if (leaf.placed) bytes += (own + alignment) / alignment * alignment;
        leaf.tensor->flags |= leaf.placed ? 0 : GGML_TENSOR_FLAG_INPUT;
    }
    buffer_.reset(ggml_backend_buft_alloc_buffer(buft, bytes));
    if (buffer_ == nullptr) return false;
    if (Random(seed_).one_in(2))
        ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_tallocr free_room = ggml_tallocr_new(buffer_.get());
    for (FuzzLeaf & leaf : program_.leafs) {
        if (leaf.placed && ggml_tallocr_alloc(&free_room, leaf.tensor) != GGML_STATUS_SUCCESS) return false;
    }
    return true;
}

void Execution::build_graph() {
    const size_t size = 2 * (program_.order.size() + program_.leafs.size());
    graph_ctx_.reset(ggml_init({ggml_graph_overhead_custom(size, false), nullptr, /*no_alloc=*/true}));
    if (graph_ctx_ == nullptr) throw std::bad_alloc();
    graph_ = ggml_new_graph_custom(graph_ctx_.get(), size, false);
    for (ggml_tensor * node : program_.order) build_forward(graph_, node);
}

bool Execution::make_scheduler() {
    std::vector<ggml_backend_t> backends = machine_.backends;
    sched_.reset(ggml_backend_sched_new(backends.data(), nullptr, int(backends.size()), program_.order.size(),
                                        /*parallel=*/false, /*op_offload=*/false));
    const ggml_ext_policy policy = {sizeof(policy),  setting_.kernels,         setting_.fusion,
                                    /*replay=*/true, setting_.disabled.data(), setting_.disabled.size()};
    return sched_ != nullptr && ggml_ext_sched_set_policy(sched_.get(), &policy) == GGML_EXT_SUCCESS;
}

// Without this, a graph whose inputs the host fills could run beside the backend under attack.
void Execution::assign() {
    for (ggml_tensor * node : program_.order) {
        if (node->view_src != nullptr || program_.anywhere.count(node) != 0) continue;
        if (ggml_backend_supports_op(machine_.attacked(), node))
            ggml_backend_sched_set_tensor_backend(sched_.get(), node, machine_.attacked());
    }
}

bool Execution::prepare() {
    make_contents();
    if (!place_leafs()) return false;
    build_graph();
    return fuzz_is_supported(machine_, program_) && make_scheduler();
}

FuzzSurvey Execution::survey(const char * rule) {
    assign();
    ggml_backend_sched_split_graph(sched_.get(), graph_);
    FuzzSurvey survey = fuzz_survey(*sched_, rule);
    sched::restore_sources(*sched_);
    return survey;
}

void Execution::write_leafs() {
    for (size_t i = 0; i < contents_.size(); ++i) {
        const FuzzLeaf & leaf = program_.leafs[i];
        const Bytes & bytes = contents_[i];
        // An input that nobody reads has no storage.
        if (!bytes.empty() && leaf.tensor->buffer != nullptr)
            ggml_backend_tensor_set(leaf.tensor, bytes.data(), 0, bytes.size());
    }
}

ggml_status Execution::compute() {
    ggml_backend_sched_reset(sched_.get());
    assign();
    if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) return GGML_STATUS_ALLOC_FAILED;
    for (int i = 0; i < setting_.executions; ++i) {
        write_leafs();
        const ggml_status status = ggml_backend_sched_graph_compute(sched_.get(), graph_);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

std::vector<FuzzReadout> Execution::read() const {
    std::vector<FuzzReadout> readouts;
    const auto add = [&](const ggml_tensor * t) {
        FuzzReadout & readout = readouts.emplace_back(FuzzReadout{*t, {}});
        readout.lost = !ggml_is_empty(t) && t->data == nullptr;
        if (!readout.lost && !ggml_is_empty(t)) readout.bytes = read_bytes(t);
    };
    for (const ggml_tensor * node : program_.order) {
        if (may_be_read(program_, node)) add(node);
    }
    for (const FuzzLeaf & leaf : program_.leafs) {
        if (leaf.placed) add(leaf.tensor);
    }
    return readouts;
}

} // namespace

FuzzOutcome fuzz_run(const FuzzMachine & machine, FuzzProgram & program, const FuzzSetting & setting,
                     const char * rule, uint64_t seed) {
    FuzzOutcome outcome;
    Execution execution(machine, program, setting, seed);
    if (!fuzz_indices_fit(program) || !execution.prepare()) return outcome;
    outcome.survey = execution.survey(rule);
    if (!outcome.survey.planned || !outcome.survey.disorder.empty()) return outcome;
    outcome.status = execution.compute();
    if (outcome.status == GGML_STATUS_SUCCESS) outcome.readouts = execution.read();
    return outcome;
}

std::string fuzz_difference(const FuzzOutcome & outcome, const FuzzOutcome & reference,
                            const ggml_ext_tolerance & tolerance) {
    if (!outcome.survey.disorder.empty()) return outcome.survey.disorder;
    if (!outcome.survey.planned) return "nobody runs one of the nodes any more";
    if (outcome.status != GGML_STATUS_SUCCESS)
        return std::string("the execution failed: ") + ggml_status_to_string(outcome.status);
    for (size_t i = 0; i < outcome.readouts.size(); ++i) {
        const FuzzReadout &got = outcome.readouts[i], &want = reference.readouts[i];
        const std::string name = std::string("'") + got.layout.name + "' (" + ggml_op_desc(&got.layout) + ")";
        if (want.lost || ggml_is_empty(&want.layout)) continue;
        if (got.lost) return name + " has no storage, so that nobody can fetch it";
        const ggml_ext_difference d = difference(&got.layout, got.bytes.data(), want.bytes.data(), tolerance);
        if (!is_good(d, tolerance)) return name + ": " + describe(d);
    }
    return {};
}

} // namespace ggml::tools
