#include "ops/common/output.h"

#include <algorithm>
#include <cstring>

namespace sd {
namespace {

ggml_tensor * result_of(const ggml_ext_step & step) { return step.nodes[step.n_nodes - 1]; }

bool overlaps_an_input(const ggml_ext_step & step) {
    ggml_tensor * const * const end = step.nodes + step.n_nodes;
    for (ggml_tensor * const * node = step.nodes; node != end; ++node) {
        for (const ggml_tensor * src : (*node)->src) {
            if (src == nullptr || std::find(step.nodes, end, src) != end) continue;
            if (ggml_ext_tensor_overlap(src, result_of(step)) != GGML_EXT_OVERLAP_NONE) return true;
        }
    }
    return false;
}

} // namespace

size_t Output::scratch_bytes(const ggml_ext_prepare_params & params) {
    return params.output_is_fresh ? 0 : ggml_nbytes(result_of(params.step));
}

Output::Output(const ggml_ext_step & step, void * scratch) : result_(result_of(step)), data_(result_->data) {
    if (scratch != nullptr && overlaps_an_input(step)) data_ = scratch;
}

void Output::finish() const {
    if (data_ != result_->data) std::memcpy(result_->data, data_, ggml_nbytes(result_));
}

} // namespace sd
