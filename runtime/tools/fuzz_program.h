// The graph under attack: a copy of the caller's example without storage, which mutations edit. Promise: the
// caller's tensors are never changed; after a successful settle() every node is what a constructor would have
// made of its sources, nodes come behind their sources, and no node reads bytes that it half overwrites.
#pragma once

#include "ggml-cpp.h"
#include "ggml-ext-tools.h"
#include "runtime/ext/verdict/verdict.h"
#include "runtime/tensor/layout.h"

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ggml::tools {

// A tensor that nobody computes.
struct FuzzLeaf {
    ggml_tensor * tensor = nullptr;
    bool placed = false; // lies in the backend's memory beforehand; false: an input the scheduler places
    std::vector<uint8_t> contents; // the caller's; empty: random
    std::vector<float> specials;   // scattered among random contents
};

// What a node was like when it was made, for operators whose shape rules are not known here.
struct FuzzSignature {
    struct Operand {
        bool present = false, contiguous = false;
        ggml_type type = GGML_TYPE_COUNT;
        Shape ne = {};
        bool operator==(const Operand &) const = default;
    };
    Operand result;
    std::array<Operand, GGML_MAX_SRC> sources;

    static Operand operand_of(const ggml_tensor * t);
    static FuzzSignature of(const ggml_tensor * node);
    bool same_sources(const ggml_tensor * node) const;
};

class FuzzProgram {
  public:
    static constexpr int kMostNodes = 512;            // of an example
    static constexpr int64_t kMostElements = 1 << 20; // of a tensor of a mutated graph

    // Null, with the reason in `why`, when the builder makes nothing that can be attacked.
    static std::unique_ptr<FuzzProgram> of_example(ggml_ext_build_t build, void * user_data,
                                                   ext::Verdict & why);

    ggml_context * ctx() const { return ctx_.get(); }
    std::vector<ggml_tensor *> order;                 // nodes as they run
    std::vector<ggml_tensor *> example;               // those of the example, in this order too
    std::unordered_set<const ggml_tensor *> anywhere; // nodes that the scheduler may put on any backend
    std::deque<FuzzLeaf> leafs;

    FuzzLeaf & add_leaf(ggml_type type, const Shape & ne, bool placed);
    FuzzLeaf * leaf_of(const ggml_tensor * t); // null: computed

    // Puts a new node before the one at `at`, which may be the end.
    void insert(size_t at, ggml_tensor * node);
    size_t position(const ggml_tensor * node) const; // order.size(): not in it

    // The same operation on other sources; every source is kept at first.
    ggml_tensor * clone(const ggml_tensor * node);

    // May something write here without anybody taking the result for row numbers and the like?
    bool is_writable(const ggml_tensor * t);

    // Works out types, shapes and strides again from the leafs on. False: no constructor would build this.
    bool settle();

  private:
    FuzzProgram() = default;
    bool settle_leafs();
    bool comes_after_sources(const ggml_tensor * node, const std::unordered_set<const ggml_tensor *> & done);

    ggml_context_ptr ctx_;
    std::unordered_map<const ggml_tensor *, FuzzSignature> signatures_;
};

// The tensor that owns the storage.
ggml_tensor * fuzz_root(ggml_tensor * t);

// The tensor whose values these are: behind views and copies.
ggml_tensor * fuzz_origin(ggml_tensor * t);

// Source of a node that writes into another tensor's storage which says where: the destination.
int fuzz_destination(const ggml_tensor * node);

// Works out one node again. False: its constructor would refuse the sources.
bool fuzz_infer(ggml_tensor * node, const FuzzSignature & made);

} // namespace ggml::tools
