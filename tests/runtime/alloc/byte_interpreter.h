// Random graphs over bytes, and their execution without any kernel: a node's bytes are a hash of the bytes of
// its sources. Memory that is reused too early changes hashes downstream, whatever operator it was.
#pragma once

#include "tests/runtime/graph/graph_maker.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace ggml::test {

struct ByteGraphOptions {
    int n_leafs = 6;
    int n_nodes = 60;
    bool writers = true; // operators that write over a tensor or part of it
    bool skips = false;  // pick nodes to skip
};

// The same seed gives the same graph in every instance.
class ByteGraph {
  public:
    ByteGraph(uint32_t seed, const ByteGraphOptions & options);

    ggml_cgraph * graph() const { return graph_; }
    const std::vector<ggml_tensor *> & skipped() const { return skipped_; }

    // Storage for every tensor, shared with nobody.
    void give_separate_storage();
    void fill_leafs() const;

    // Hash of each executed node's result and, at the end, of everything the caller may look at.
    std::vector<uint64_t> run() const;

  private:
    ggml_tensor * any();
    void add_random_node();
    void choose_skipped();
    uint64_t hash_of_sources(const ggml_tensor * node) const;
    uint64_t value_of(const ggml_tensor * t) const;
    bool is_skipped(const ggml_tensor * t) const;

    GraphMaker m_;
    std::mt19937 random_;
    ByteGraphOptions options_;
    std::vector<ggml_tensor *> tensors_; // in order of creation
    std::vector<ggml_tensor *> skipped_;
    std::set<const ggml_tensor *> skip_set_;
    std::vector<std::vector<uint8_t>> storage_;
    ggml_cgraph * graph_ = nullptr;
};

} // namespace ggml::test
