// Where a kernel writes the result of its step: in place when no input of the step has bytes there, otherwise
// in scratch memory that is copied at the end. Kernels that use it need not care in which order they read and
// write.
#pragma once

#include "ggml-ext.h"

namespace sd {

class Output {
  public:
    // For ggml_ext_prepared::workspace_bytes; the kernel's own scratch memory would lie behind it.
    static size_t scratch_bytes(const ggml_ext_prepare_params & params);

    // scratch: the first scratch_bytes of the step's workspace; NULL when there are none.
    Output(const ggml_ext_step & step, void * scratch);

    void * data() const { return data_; }
    void finish() const; // after the last write

  private:
    ggml_tensor * result_;
    void * data_;
};

} // namespace sd
