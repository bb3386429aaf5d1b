// Random graphs of real operators that alias on purpose: in-place forms, copies into halves and every other
// row, views of views, views nobody has an edge to, conversions, nodes nobody computes. And their execution
// node by node on the CPU's reference kernels.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace ggml::test {

using Bytes = std::vector<uint8_t>;

// The same seed gives the same graph in every instance, with tensors in the same order.
class AliasingGraph {
  public:
    explicit AliasingGraph(uint32_t seed, int n_nodes = 24);

    ggml_cgraph * graph() const { return graph_; }
    const std::vector<ggml_tensor *> & tensors() const { return tensors_; } // all of them
    size_t index_of(const ggml_tensor * tensor) const { return index_.at(tensor); }

    // Storage for every tensor, shared with nobody, filled alike in every instance.
    void place_apart();

    // The inputs' contents. Their storage exists.
    void fill_leafs() const;

    // Storage of an owner, and of everything that shows it, from now on.
    void move_storage(ggml_tensor * owner, void * data) const;

    // Runs nodes [first, first + n) of the graph and keeps what each computed one gave.
    void run(int first, int n);
    const std::map<size_t, Bytes> & results() const { return results_; } // by number of the tensor

  private:
    size_t below(size_t n) { return random_() % n; }
    ggml_tensor * any();
    ggml_tensor * any_like(const ggml_tensor * tensor);
    ggml_tensor * any_full();
    ggml_tensor * part_of(ggml_tensor * full);
    ggml_tensor * shown(ggml_tensor * tensor);
    ggml_tensor * overwrite(ggml_tensor * target);
    ggml_tensor * make();

    struct ContextEnd {
        void operator()(ggml_context * ctx) const { ggml_free(ctx); }
    };
    std::unique_ptr<ggml_context, ContextEnd> owned_ctx_;
    ggml_context * ctx_;
    ggml_cgraph * graph_;
    std::mt19937 random_;
    ggml_tensor * row_numbers_;
    std::vector<ggml_tensor *> values_; // F32, candidates for operands
    std::vector<ggml_tensor *> tensors_;
    std::map<const ggml_tensor *, size_t> index_;
    std::vector<Bytes> storage_;
    std::map<size_t, Bytes> results_;
};

} // namespace ggml::test
