// A graph of the audit's caller, built, allocated and executed as a program would do it, in a scheduler of
// its own. Promise: what a trial had is overwritten when it ends or moves, so that whoever still reads it
// does not get what was there; storage the builder brought is left as it was.
#pragma once

#include "ggml-cpp.h"
#include "runtime/sched/sched.h"
#include "runtime/tools/audit_inputs.h"
#include "runtime/tools/host_copy.h"

#include "ggml-ext-tools.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ggml::tools {

// Memory of metadata. Kept to the end of the audit, overwritten with zeros: shapes of no elements, so that a
// kernel that reads an old tensor computes nothing instead of running through memory.
struct Arena {
    size_t used = 0; // measured by the first graph
    std::vector<std::unique_ptr<char[]>> old;
};

struct AuditRequest {
    ggml_backend_t backend = nullptr, cpu = nullptr; // cpu may be null
    ggml_ext_build_t build = nullptr;
    void * user_data = nullptr;
    ggml_ext_tolerance tolerance = {};
    std::vector<std::string> disabled; // kernels that are not used
    Arena * arena = nullptr;
};

// What a check came to.
struct Finding {
    ext::Verdict verdict; // refused: a promise that was not kept, or why the check could not be carried out
    bool carried_out = true;

    bool is_clean() const { return carried_out && !verdict.refused(); }
    // Notes why the check cannot go on; false.
    bool stop(ext::Verdict && why);
};

class Trial {
  public:
    Trial(const AuditRequest & request, bool replay) : request_(request), replay_(replay) {}
    ~Trial();
    Trial(const Trial &) = delete;
    Trial & operator=(const Trial &) = delete;

    bool make(Finding & finding);

    // Executes with these inputs and reads the result. False: the check ends here.
    bool run(Fill fill, Finding & finding);
    const Bytes & values() const { return values_; }
    const ggml_tensor * result() const { return result_; }

    // The plan ends and is made again, for the same graph in the same memory; or the graph itself is built
    // again elsewhere.
    bool plan_again(Finding & finding);
    bool build_again(Finding & finding);

    void poison_workspaces();
    void poison_tensors();

    sched::Scheduler & scheduler() { return *sched_; }
    std::vector<sched::SplitPlan *> plans(); // with extensions, of the audited backend
    bool is_reusable();

    // Why the last execution was no replay of every plan; reason NONE where it was.
    ext::Verdict miss();

  private:
    bool build(Finding & finding);
    void pin();
    bool allocate(Finding & finding);
    void bury();

    const AuditRequest & request_;
    const bool replay_;
    std::unique_ptr<char[]> memory_;
    size_t memory_bytes_ = 0;
    ggml_context_ptr ctx_;
    ggml_cgraph * graph_ = nullptr;
    ggml_tensor * result_ = nullptr;
    std::vector<ggml_tensor *> inputs_;
    std::optional<LeafContents> leafs_;
    ggml_backend_sched_ptr sched_;
    Bytes values_;
};

} // namespace ggml::tools
