#include "runtime/tools/parity.h"

#include "runtime/ext/verdict/guard.h"
#include "runtime/tools/compare.h"
#include "runtime/tools/watch.h"

#include <deque>
#include <memory>
#include <optional>

namespace ggml::tools {
namespace {

// What the caller gets, with what it points into.
struct ParityResult : ggml_ext_parity_result {
    std::vector<ggml_ext_parity_step> list;
    std::deque<std::string> names;
};

// Computes each extension step a second time.
class Checker : public sched::StepObserver {
  public:
    Checker(ParityResult & result, const ggml_ext_tolerance & tolerance)
        : result_(result), tolerance_(tolerance) {}

    bool before(const ext::Plan & plan, const ext::Step & step) override;
    bool after(const ext::Plan & plan, const ext::Step & step) override;

  private:
    ParityResult & result_;
    const ggml_ext_tolerance & tolerance_;
    std::optional<Mirror> mirror_; // of the step under way
};

// Now, because the step may write over what it reads.
bool Checker::before(const ext::Plan & plan, const ext::Step & step) {
    mirror_.emplace(plan.nodes_of(step));
    return true;
}

bool Checker::after(const ext::Plan & plan, const ext::Step & step) {
    const ggml_tensor * node = plan.graph.nodes[step.first + step.n - 1];
    ggml_ext_parity_step checked = {};
    checked.kernel = step.kernel->name.c_str();
    checked.first = step.first;
    checked.n_nodes = step.n;
    checked.result = result_.names.emplace_back(node->name).c_str();
    checked.difference.first_bad = -1;
    if (mirror_->has_reference()) {
        const ggml_status status = mirror_->compute();
        if (status != GGML_STATUS_SUCCESS) {
            return ext::refuse(&why, GGML_EXT_REASON_EXECUTE_FAILED, step.first, "the reference of '%s': %s",
                               node->name, ggml_status_to_string(status));
        }
        const Bytes values = read_bytes(node);
        checked.difference = difference(node, values.data(), mirror_->of(node)->data, tolerance_);
        checked.compared = true;
        checked.good = is_good(checked.difference, tolerance_);
    }
    result_.list.push_back(checked);
    mirror_.reset();
    return true;
}

ggml_ext_status check_steps(sched::Scheduler & s, const ggml_ext_tolerance & tolerance,
                            ParityResult & result) {
    Checker checker(result, tolerance);
    const Watch watch(s, checker);
    const ggml_status status = sched::run(s);
    sched::wait_for_all(s);
    if (status == GGML_STATUS_SUCCESS) return GGML_EXT_SUCCESS;
    if (!checker.why.refused()) {
        ext::refuse(&checker.why, GGML_EXT_REASON_NATIVE_FAILED, -1, "the graph: %s",
                    ggml_status_to_string(status));
    }
    return ext::answer(GGML_EXT_FAILED, std::move(checker.why));
}

ggml_ext_status parity(sched::Scheduler & s, const ggml_cgraph * graph, const ggml_ext_tolerance & tolerance,
                       bool search, ggml_ext_parity_result ** out) {
    if (s.stage != sched::Stage::kAllocated || s.graph != graph) {
        return ext::answer(GGML_EXT_REFUSED, GGML_EXT_REASON_NOT_ALLOCATED,
                           "a graph of %d nodes, allocate it and set its inputs first", graph->n_nodes);
    }
    auto result = std::make_unique<ParityResult>();
    result->first_that_matters = -1;
    sched::wait_for_all(s);
    // Taken first: an execution may write over its inputs.
    std::optional<LeafContents> leafs;
    if (search) leafs.emplace(graph);
    ggml_ext_status status = check_steps(s, tolerance, *result);
    if (status == GGML_EXT_SUCCESS && search)
        status = bisect(s, graph, *leafs, tolerance, result->first_that_matters);
    if (status != GGML_EXT_SUCCESS) return status;
    result->steps = result->list.data();
    result->n_steps = result->list.size();
    *out = result.release();
    return status;
}

} // namespace
} // namespace ggml::tools

extern "C" {

ggml_ext_status ggml_ext_parity(ggml_backend_sched_t sched, ggml_cgraph * graph,
                                const ggml_ext_tolerance * tolerance, bool bisect,
                                ggml_ext_parity_result ** result) {
    using namespace ggml;
    if (result != nullptr) *result = nullptr;
    if (sched == nullptr || graph == nullptr || tolerance == nullptr || result == nullptr) {
        return ext::answer(
            GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
            "ggml_ext_parity takes a scheduler, a graph, a tolerance and a place for the result");
    }
    ext::Verdict why;
    if (!tools::makes_sense(*tolerance, &why)) return ext::answer(GGML_EXT_INVALID, std::move(why));
    return ext::guarded("compare with the reference",
                        [&] { return tools::parity(*sched, graph, *tolerance, bisect, result); });
}

void ggml_ext_parity_free(ggml_ext_parity_result * result) {
    delete static_cast<ggml::tools::ParityResult *>(result);
}

} // extern "C"
