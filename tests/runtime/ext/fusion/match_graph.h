// What the tests of fusion legality share: inputs, a graph of exactly the given nodes, and the answer for a
// range of it.
#pragma once

#include "runtime/ext/fusion/fusion.h"
#include "runtime/graph/graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace ggml::test {

inline constexpr ggml_ext_reason kAccepted = GGML_EXT_REASON_NONE;

class MatchGraph {
    GraphMaker m_; // first: the inputs live in it
    ggml_cgraph * graph_ = nullptr;

  public:
    ggml_context * ctx() { return m_.ctx(); }
    GraphMaker & maker() { return m_; }
    ggml_tensor * matrix() { return ggml_new_tensor_2d(ctx(), GGML_TYPE_F32, 8, 8); }
    ggml_tensor *x = matrix(), *y = matrix(), *z = matrix();

    MatchGraph & nodes(const std::vector<ggml_tensor *> & nodes) {
        graph_ = ggml_new_graph_custom(ctx(), 64, false);
        for (ggml_tensor * node : nodes) ggml_build_forward_expand(graph_, node);
        EXPECT_EQ(std::vector<ggml_tensor *>(graph_->nodes, graph_->nodes + graph_->n_nodes), nodes);
        return *this;
    }
    ggml_cgraph * graph() { return graph_; }

    // Why the range is refused; kAccepted when it is not.
    ggml_ext_reason check(int first, int n) { return check(graph_, first, n); }
    ggml_ext_reason check(const ggml_cgraph * graph, int first, int n) {
        const ext::Legality legality(graph);
        ext::Verdict why;
        skipped_.clear();
        const bool legal = legality.check(first, n, &why, &skipped_);
        EXPECT_EQ(legal, !why.refused());
        EXPECT_EQ(legality.check(first, n, nullptr, nullptr), legal) << "asking why changed the answer";
        if (!legal) {
            EXPECT_TRUE(skipped_.empty()) << "a refusal left nodes to skip";
            EXPECT_FALSE(why.words.empty());
        }
        return why.reason;
    }

    // Of the last check.
    bool skips(std::vector<ggml_tensor *> expected) {
        std::sort(expected.begin(), expected.end());
        std::sort(skipped_.begin(), skipped_.end());
        return skipped_ == expected;
    }

  private:
    std::vector<ggml_tensor *> skipped_;
};

} // namespace ggml::test
