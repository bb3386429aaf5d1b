#include "nn/graph.h"

#include "nn/operators.h"

#include <array>
#include <new>

namespace sd {

Graph::Graph(size_t max_nodes) {
    const size_t bytes = max_nodes * ggml_tensor_overhead() + ggml_graph_overhead_custom(max_nodes, false);
    ctx_.reset(ggml_init({bytes, nullptr, true}));
    if (ctx_ == nullptr) throw std::bad_alloc();
    graph_ = ggml_new_graph_custom(ctx_.get(), max_nodes, false);
}

ggml_tensor * Graph::input(const std::string & name, ggml_type type, std::initializer_list<int64_t> ne) {
    std::array<int64_t, GGML_MAX_DIMS> sizes = {1, 1, 1, 1};
    std::copy(ne.begin(), ne.end(), sizes.begin());
    ggml_tensor * tensor = ggml_new_tensor(ctx(), type, GGML_MAX_DIMS, sizes.data());
    ggml_set_name(tensor, name.c_str());
    ggml_set_input(tensor);
    inputs_[name] = tensor;
    return tensor;
}

ggml_tensor * Graph::keep(ggml_tensor * tensor) {
    ggml_set_output(tensor);
    ggml_build_forward_expand(graph_, tensor);
    return tensor;
}

ggml_tensor * Graph::output(const std::string & name, ggml_tensor * tensor) {
    ggml_set_name(tensor, name.c_str());
    outputs_.emplace_back(name, tensor);
    return keep(tensor);
}

void Graph::watch(const std::string & name, ggml_tensor * tensor) {
    if (watching_) output(name, tensor);
}

ggml_tensor * Graph::packed(ggml_tensor * x, int group) {
    ggml_tensor *& node = packed_[{x, group}];
    if (node == nullptr) node = quantize_i8_convrot(*this, x, group);
    return node;
}

ggml_tensor * Graph::shared_product(ggml_tensor * weight, ggml_tensor * x) {
    ggml_tensor *& node = products_[{weight, x}];
    if (node == nullptr) node = ggml_mul_mat(ctx(), weight, x);
    return node;
}

} // namespace sd
