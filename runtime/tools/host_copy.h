// Contents of tensors in host memory: to compute them a second time, and to put them back. Promise: tensors
// of the graph are only read, but by `restore`; views and in-place results of a mirrored step lie in the
// mirror of the storage they share.
#pragma once

#include "ggml-ext.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ggml::tools {

using Bytes = std::vector<uint8_t>;

// ggml_nbytes of a tensor wherever it lies; nobody may be writing it.
Bytes read_bytes(const ggml_tensor * tensor);
void write_bytes(ggml_tensor * tensor, const Bytes & bytes);

// The nodes of a step and everything they read.
class Mirror {
  public:
    // Copies what the step reads from outside, as it is now.
    explicit Mirror(const ggml_ext_step & step);
    Mirror(const Mirror &) = delete;
    Mirror & operator=(const Mirror &) = delete;

    // Can every node be computed here: by the CPU's reference, or by the reference of a registered operator?
    bool has_reference() const;
    ggml_status compute();

    // The counterpart of a node or of one of its sources, with a host address.
    ggml_tensor * of(const ggml_tensor * tensor) const { return copies_.at(tensor); }

  private:
    ggml_tensor * copy(const ggml_tensor * tensor);
    void place(const ggml_tensor * tensor, ggml_tensor & copied);
    bool is_in_step(const ggml_tensor * tensor) const;

    const ggml_ext_step step_;
    bool complete_ = true; // everything outside has contents
    std::deque<ggml_tensor> tensors_;
    std::unordered_map<const ggml_tensor *, ggml_tensor *> copies_;
    std::vector<std::unique_ptr<char[]>> storage_;
    std::vector<ggml_tensor *> nodes_;
};

// What a graph starts from: the contents of its leafs. Weights that no node writes are left out, since an
// execution cannot change them.
class LeafContents {
  public:
    explicit LeafContents(const ggml_cgraph * graph);

    bool holds(const ggml_tensor * leaf) const { return bytes_.count(const_cast<ggml_tensor *>(leaf)) != 0; }
    void restore() const;
    // For each leaf, fn(leaf, bytes).
    template <class Fn>
    void for_each(Fn fn) const {
        for (const auto & [leaf, bytes] : bytes_) fn(leaf, bytes);
    }

  private:
    std::unordered_map<ggml_tensor *, Bytes> bytes_; // by owner of the storage
};

} // namespace ggml::tools
