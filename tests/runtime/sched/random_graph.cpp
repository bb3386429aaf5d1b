#include "tests/runtime/sched/random_graph.h"

namespace ggml::test {
namespace {

class Builder {
  public:
    Builder(ggml_context * ctx, const std::vector<ggml_tensor *> & weights, uint32_t seed)
        : ctx_(ctx), weights_(weights), random_(seed) {}

    ggml_tensor * input() {
        ggml_tensor * t = ggml_new_tensor_2d(ctx_, GGML_TYPE_F32, kSide, kSide);
        ggml_set_input(t);
        values_.push_back(t);
        return t;
    }

    ggml_tensor * node() {
        ggml_tensor * t = make();
        values_.push_back(t);
        return t;
    }

  private:
    size_t below(size_t n) { return random_() % n; }
    // Recent values more often, so that graphs are deep and old values live long.
    ggml_tensor * any() {
        const size_t n = values_.size();
        return values_[below(3) != 0 ? n - 1 - below(n < 6 ? n : 6) : below(n)];
    }
    ggml_tensor * weight() { return weights_[below(weights_.size())]; }

    ggml_tensor * halves_swapped(ggml_tensor * a) {
        a = ggml_cont(ctx_, a);
        ggml_tensor * top = ggml_view_2d(ctx_, a, kSide, kSide / 2, a->nb[1], 0);
        ggml_tensor * bottom =
            ggml_view_2d(ctx_, a, kSide, kSide / 2, a->nb[1], size_t(kSide / 2) * a->nb[1]);
        return ggml_concat(ctx_, bottom, top, 1);
    }

    ggml_tensor * make() {
        switch (below(12)) {
        case 0: return ggml_add(ctx_, any(), any());
        case 1: return ggml_mul(ctx_, any(), weight());
        case 2: return ggml_sub(ctx_, any(), any());
        case 3: return ggml_scale(ctx_, any(), 0.5f);
        case 4: return ggml_silu(ctx_, any());
        case 5:
        case 6: return ggml_mul_mat(ctx_, weight(), any());
        case 7: return ggml_rms_norm(ctx_, any(), 1e-5f);
        case 8: return ggml_soft_max(ctx_, any());
        case 9: return ggml_cont(ctx_, ggml_transpose(ctx_, any()));
        case 10: return halves_swapped(any());
        // In place on a value nobody else reads.
        default: return ggml_add_inplace(ctx_, ggml_scale(ctx_, any(), 0.25f), any());
        }
    }

    ggml_context * ctx_;
    const std::vector<ggml_tensor *> & weights_;
    std::mt19937 random_;
    std::vector<ggml_tensor *> values_;
};

} // namespace

RandomGraph make_random_graph(ggml_context * ctx, const std::vector<ggml_tensor *> & weights, int n_nodes,
                              uint32_t seed) {
    Builder builder(ctx, weights, seed);
    RandomGraph g;
    g.graph = ggml_new_graph_custom(ctx, size_t(n_nodes) * 6, false);
    for (int i = 0; i < 3; ++i) g.inputs.push_back(builder.input());
    for (int i = 0; i < n_nodes; ++i) {
        g.nodes.push_back(builder.node());
        if (i % 7 == 0 || i + 1 == n_nodes) {
            g.outputs.push_back(g.nodes.back());
            ggml_set_output(g.nodes.back());
        }
        ggml_build_forward_expand(g.graph, g.nodes.back());
    }
    return g;
}

std::vector<float> random_matrix(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(size_t(kSide * kSide));
    for (float & v : values) v = float(random() % 2001) / 1000.0f - 1.0f;
    return values;
}

} // namespace ggml::test
