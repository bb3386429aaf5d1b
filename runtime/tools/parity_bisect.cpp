// Results with the first k steps: good for k = 0, which is what they are compared with, bad for all of them.
// Halving keeps a good k below a bad one, so that in the end the step between the two has been seen to
// matter. Steps that nobody else can run stay in every execution.
#include "runtime/base/log.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/verdict/verdict.h"
#include "runtime/tools/compare.h"
#include "runtime/tools/parity.h"
#include "runtime/tools/parity_graph.h"

namespace ggml::tools {
namespace {

class Bisection {
  public:
    Bisection(const sched::Scheduler & s, const ggml_cgraph * graph, const LeafContents & leafs,
              const ggml_ext_tolerance & tolerance)
        : s_(s), graph_(graph), leafs_(leafs), tolerance_(tolerance), results_(result_nodes(s, graph)),
          steps_(planned_steps(s)) {}

    ggml_ext_status run(int & first);

  private:
    using Values = std::vector<Bytes>; // of the result nodes

    ggml_ext_status execute(size_t n_steps, Values & values);
    ggml_ext_status try_steps(size_t n_steps, bool & good);
    ggml_backend_sched_ptr new_scheduler(size_t n_steps) const;
    void pin(ggml_backend_sched_t sched, const GraphTwin & twin) const;

    const sched::Scheduler & s_;
    const ggml_cgraph * graph_;
    const LeafContents & leafs_;
    const ggml_ext_tolerance & tolerance_;
    const std::vector<int> results_;
    const std::vector<PlannedStep> steps_;
    Values reference_;
};

// Fuses where the caller's does, replays nothing.
ggml_backend_sched_ptr Bisection::new_scheduler(size_t n_steps) const {
    auto backends = s_.backends;
    auto bufts = s_.bufts;
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends.data(), bufts.data(), s_.n_backends,
                                                        size_t(graph_->n_nodes), /*parallel=*/false,
                                                        s_.op_offload));
    if (sched == nullptr) return sched;
    sched->policy = s_.policy;
    sched->policy.replay = false;
    sched->policy.fusion = s_.policy.fusion && s_.n_copies == 1 && s_.callback == nullptr;
    sched->policy.most_steps = n_steps;
    return sched;
}

// Every tensor where the caller's scheduler has it, so that the splits are the same.
void Bisection::pin(ggml_backend_sched_t sched, const GraphTwin & twin) const {
    auto * callers = const_cast<ggml_backend_sched_t>(&s_);
    const auto pin_one = [&](ggml_tensor * t) {
        ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(callers, t);
        if (backend == nullptr || ext::is_placed(twin.of(t))) return;
        ggml_backend_sched_set_tensor_backend(sched, twin.of(t), backend);
    };
    for (int i = 0; i < graph_->n_leafs; ++i) pin_one(graph_->leafs[i]);
    for (int i = 0; i < graph_->n_nodes; ++i) pin_one(graph_->nodes[i]);
}

ggml_ext_status Bisection::execute(size_t n_steps, Values & values) {
    GraphTwin twin;
    if (!twin.build(s_, graph_, leafs_)) {
        return ext::answer(GGML_EXT_FAILED, GGML_EXT_REASON_PARITY_OTHER_PLAN,
                           "the graph of %d nodes could not be built again", graph_->n_nodes);
    }
    const ggml_backend_sched_ptr sched = new_scheduler(n_steps);
    if (sched == nullptr)
        return ext::answer(GGML_EXT_NO_MEMORY, GGML_EXT_REASON_NO_MEMORY, "no second scheduler");
    pin(sched.get(), twin);
    if (!ggml_backend_sched_alloc_graph(sched.get(), twin.graph())) {
        return ext::answer(GGML_EXT_FAILED, GGML_EXT_REASON_NO_MEMORY,
                           "the graph could not be allocated with %zu extension steps", n_steps);
    }
    if (n_steps >= steps_.size() && planned_steps(*sched) != steps_) {
        return ext::answer(GGML_EXT_FAILED, GGML_EXT_REASON_PARITY_OTHER_PLAN,
                           "%zu extension steps the first time, %zu the second", steps_.size(),
                           planned_steps(*sched).size());
    }
    leafs_.for_each(
        [&](const ggml_tensor * leaf, const Bytes & bytes) { write_bytes(twin.of(leaf), bytes); });
    const ggml_status status = ggml_backend_sched_graph_compute(sched.get(), twin.graph());
    if (status != GGML_STATUS_SUCCESS) {
        return ext::answer(GGML_EXT_FAILED, GGML_EXT_REASON_EXECUTE_FAILED,
                           "the graph with its first %zu extension steps: %s", n_steps,
                           ggml_status_to_string(status));
    }
    values.clear();
    for (int i : results_) values.push_back(read_bytes(twin.graph()->nodes[i]));
    return GGML_EXT_SUCCESS;
}

ggml_ext_status Bisection::try_steps(size_t n_steps, bool & good) {
    Values values;
    const ggml_ext_status status = execute(n_steps, values);
    if (status != GGML_EXT_SUCCESS) return status;
    good = true;
    for (size_t i = 0; i < values.size() && good; ++i) {
        const ggml_tensor * layout = graph_->nodes[results_[i]];
        good = is_good(difference(layout, values[i].data(), reference_[i].data(), tolerance_), tolerance_);
    }
    return status;
}

ggml_ext_status Bisection::run(int & first) {
    first = -1;
    size_t good_steps = 0, bad_steps = steps_.size();
    bool good = true;
    ggml_ext_status status = execute(good_steps, reference_);
    if (status == GGML_EXT_SUCCESS) status = try_steps(bad_steps, good);
    if (status != GGML_EXT_SUCCESS || good) return status;
    status = try_steps(0, good);
    if (status != GGML_EXT_SUCCESS) return status;
    if (!good) {
        return ext::answer(GGML_EXT_FAILED, GGML_EXT_REASON_PARITY_UNSTABLE,
                           "%zu results, executed twice from the same inputs", results_.size());
    }
    while (bad_steps - good_steps > 1) {
        const size_t middle = good_steps + (bad_steps - good_steps) / 2;
        status = try_steps(middle, good);
        if (status != GGML_EXT_SUCCESS) return status;
        (good ? good_steps : bad_steps) = middle;
    }
    first = int(bad_steps) - 1;
    return GGML_EXT_SUCCESS;
}

} // namespace

std::vector<PlannedStep> planned_steps(const sched::Scheduler & s) {
    std::vector<PlannedStep> steps;
    for (const sched::Split & split : s.splits) {
        if (split.plan < 0) continue;
        for (const ext::Step & step : s.plans[size_t(split.plan)]->plan.steps) {
            if (step.kernel != nullptr) steps.push_back({step.kernel, step.first, step.n});
        }
    }
    return steps;
}

ggml_ext_status bisect(const sched::Scheduler & s, const ggml_cgraph * graph, const LeafContents & leafs,
                       const ggml_ext_tolerance & tolerance, int & first) {
    return Bisection(s, graph, leafs, tolerance).run(first);
}

} // namespace ggml::tools
