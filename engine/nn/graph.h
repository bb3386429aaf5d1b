// One graph while it is built: where its tensors are described, what goes in, what comes out, and what layers
// share. Tensors get storage from whoever runs the graph.
#pragma once

#include "ggml-cpp.h"
#include "ggml.h"

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sd {

class Graph {
  public:
    explicit Graph(size_t max_nodes);

    ggml_context * ctx() const { return ctx_.get(); }
    ggml_cgraph * graph() const { return graph_; }

    // A tensor whose values are set before the graph runs.
    ggml_tensor * input(const std::string & name, ggml_type type, std::initializer_list<int64_t> ne);

    // A result: everything it needs becomes part of the graph, and its values last until the next run.
    ggml_tensor * output(const std::string & name, ggml_tensor * tensor);

    // The same without a name: it is no result of the model.
    ggml_tensor * keep(ggml_tensor * tensor);

    // The same for results that are only looked at (dumps); nothing unless `watched` was asked for before
    // building.
    void watch(const std::string & name, ggml_tensor * tensor);
    void watch_everything() { watching_ = true; }

    // x rotated by runs of `group` and quantized: sd.quantize_i8_convrot.v1. One node for each tensor and
    // group, whoever asks.
    ggml_tensor * packed(ggml_tensor * x, int group);

    // weight times x, one node whoever asks.
    ggml_tensor * shared_product(ggml_tensor * weight, ggml_tensor * x);

    const std::map<std::string, ggml_tensor *> & inputs() const { return inputs_; }
    const std::vector<std::pair<std::string, ggml_tensor *>> & outputs() const { return outputs_; }

  private:
    ggml_context_ptr ctx_;
    ggml_cgraph * graph_;
    bool watching_ = false;
    std::map<std::string, ggml_tensor *> inputs_;
    std::vector<std::pair<std::string, ggml_tensor *>> outputs_;
    std::map<std::pair<ggml_tensor *, int>, ggml_tensor *> packed_;
    std::map<std::pair<ggml_tensor *, ggml_tensor *>, ggml_tensor *> products_;
};

} // namespace sd
