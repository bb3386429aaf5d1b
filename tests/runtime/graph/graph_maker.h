// Tensors with any operator and edges, made directly: graph and allocation logic looks at metadata only, so
// its tests do not need operator constructors or their shape rules.
#pragma once

#include "ggml.h"
#include "runtime/tensor/context.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace ggml::test {

class GraphMaker {
  public:
    explicit GraphMaker(size_t n_tensors = 512, size_t n_graph_slots = 16384) {
        const size_t bytes = n_tensors * ggml_tensor_overhead() +
                             4 * ggml_graph_overhead_custom(n_graph_slots, false) + (1u << 16);
        ctx_ = ggml_init({bytes, nullptr, /*no_alloc=*/true});
    }
    ~GraphMaker() { ggml_free(ctx_); }
    GraphMaker(const GraphMaker &) = delete;
    GraphMaker & operator=(const GraphMaker &) = delete;

    ggml_context * ctx() const { return ctx_; }

    ggml_tensor * leaf(int64_t elements = 64) { return ggml_new_tensor_1d(ctx_, GGML_TYPE_I8, elements); }

    ggml_tensor * node(ggml_op op, const std::vector<ggml_tensor *> & src, int64_t elements = 64) {
        return connect(leaf(elements), op, src);
    }

    // Elements [offset, offset + elements) of another tensor's bytes. src[0] is what is shown, as ggml's own
    // view operators do it.
    ggml_tensor * view(ggml_tensor * shown, int64_t elements, size_t offset = 0, ggml_op op = GGML_OP_VIEW) {
        return connect(new_tensor_impl(ctx_, GGML_TYPE_I8, 1, &elements, shown, offset), op, {shown});
    }

    // An operator that writes its result over `target`.
    ggml_tensor * write_over(ggml_tensor * target, ggml_op op, const std::vector<ggml_tensor *> & src) {
        return connect(new_tensor_impl(ctx_, target->type, GGML_MAX_DIMS, target->ne, target, 0), op, src);
    }

    static ggml_tensor * connect(ggml_tensor * t, ggml_op op, const std::vector<ggml_tensor *> & src) {
        t->op = op;
        std::copy(src.begin(), src.end(), t->src);
        return t;
    }

    ggml_cgraph * graph(std::initializer_list<ggml_tensor *> results, size_t size = 4096) {
        ggml_cgraph * g = ggml_new_graph_custom(ctx_, size, false);
        for (ggml_tensor * t : results) ggml_build_forward_expand(g, t);
        return g;
    }

  private:
    ggml_context * ctx_;
};

} // namespace ggml::test
