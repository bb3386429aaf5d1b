// Whatever is accepted can be computed without storage for the skipped nodes and nobody notices: random
// graphs full of aliases run node by node, and again with the accepted ranges computed elsewhere, where only
// the final node's bytes come out of. Storage of skipped nodes is a pattern that must neither matter nor
// change.
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/fusion.h"
#include "runtime/graph/graph.h"
#include "tests/runtime/ext/effects/aliasing_graph.h"
#include "tests/support/op_check.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <set>

namespace ggml::ext {
namespace {

using test::AliasingGraph;
using test::Bytes;

struct Range {
    int first, n;
};

struct Selection {
    std::vector<Range> ranges;
    std::vector<ggml_tensor *> skipped;
};

// What the accepted ranges were like, so that the test cannot pass on easy ones alone.
struct Tally {
    int ranges = 0, retained = 0, copies_outside = 0, in_place = 0, views = 0, conversions = 0;
    int refused[GGML_EXT_REASON_COUNT] = {};

    void add(const ggml_cgraph * graph, const Range & r, const std::vector<ggml_tensor *> & skipped) {
        ++ranges;
        const ggml_tensor * final_node = graph->nodes[r.first + r.n - 1];
        retained += int(skipped.size()) < r.n - 1;
        copies_outside += final_node->view_src != nullptr && int(skipped.size()) == r.n - 1;
        for (int i = r.first; i + 1 < r.first + r.n; ++i) {
            const ggml_tensor * node = graph->nodes[i];
            const bool shows = op_is_metadata_only(node->op);
            views += shows;
            in_place += !shows && node->view_src != nullptr;
            conversions += node->src[1] == node;
        }
    }
};

// Ranges that do not touch each other, long ones first tried.
Selection select(const AliasingGraph & g, Tally & tally) {
    Selection selection;
    const Legality legality(g.graph());
    for (int i = 0; i < g.graph()->n_nodes;) {
        int taken = 0;
        for (int n = 6; n >= 2 && taken == 0; --n) {
            Verdict why;
            std::vector<ggml_tensor *> skipped;
            if (!legality.check(i, n, &why, &skipped)) {
                ++tally.refused[why.reason];
                continue;
            }
            taken = n;
            selection.ranges.push_back({i, n});
            selection.skipped.insert(selection.skipped.end(), skipped.begin(), skipped.end());
            tally.add(g.graph(), {i, n}, skipped);
        }
        i += std::max(taken, 1);
    }
    return selection;
}

class FusedRun {
  public:
    FusedRun(AliasingGraph & g, const Selection & selection)
        : g_(g), selection_(selection), skipped_(selection.skipped.begin(), selection.skipped.end()) {
        for (ggml_tensor * t : skipped_) {
            if (t->view_src != nullptr) continue;
            poison_.emplace_back(ggml_nbytes(t), uint8_t(0xff)); // NaN
            g_.move_storage(t, poison_.back().data());
        }
    }

    void run() {
        int next = 0;
        for (const Range & range : selection_.ranges) {
            g_.run(next, range.first - next);
            run_elsewhere(range);
            next = range.first + range.n;
        }
        g_.run(next, g_.graph()->n_nodes - next);
        for (const Bytes & bytes : poison_) {
            ASSERT_EQ(std::count(bytes.begin(), bytes.end(), 0xff), std::ptrdiff_t(bytes.size()))
                << "somebody wrote storage that does not exist";
        }
    }

    bool skips(ggml_tensor * t) const { return skipped_.count(t) != 0; }

  private:
    void run_elsewhere(const Range & range) {
        struct Moved {
            ggml_tensor * owner;
            void * home;
            Bytes scratch;
        };
        std::vector<Moved> moved;
        for (int i = range.first; i < range.first + range.n; ++i) {
            ggml_tensor * node = g_.graph()->nodes[i];
            if (node->view_src == nullptr)
                moved.push_back({node, node->data, Bytes(ggml_nbytes(node), uint8_t(0xcd))});
        }
        for (Moved & m : moved) g_.move_storage(m.owner, m.scratch.data());
        g_.run(range.first, range.n);
        for (Moved & m : moved) {
            g_.move_storage(m.owner, m.home);
            if (!skips(m.owner)) std::memcpy(m.home, m.scratch.data(), m.scratch.size());
        }
    }

    AliasingGraph & g_;
    const Selection & selection_;
    std::set<ggml_tensor *> skipped_;
    std::vector<Bytes> poison_;
};

void run_plainly(AliasingGraph & g) {
    g.place_apart();
    g.fill_leafs();
    g.run(0, g.graph()->n_nodes);
}

bool same_bytes(const ggml_tensor * a, const ggml_tensor * b) {
    return std::memcmp(a->data, b->data, ggml_nbytes(a)) == 0;
}

void expect_hard_cases(const Tally & tally) {
    EXPECT_GT(tally.ranges, 1000);
    EXPECT_GT(tally.retained, 100);
    EXPECT_GT(tally.copies_outside, 50);
    EXPECT_GT(tally.in_place, 100);
    EXPECT_GT(tally.views, 50);
    EXPECT_GT(tally.conversions, 50);
    for (const ggml_ext_reason reason :
         {GGML_EXT_REASON_MATCH_LENGTH, GGML_EXT_REASON_MATCH_NOT_COMPUTED, GGML_EXT_REASON_NOT_PURE,
          GGML_EXT_REASON_OUTPUT_FLAG, GGML_EXT_REASON_VIEW_OUTSIDE, GGML_EXT_REASON_IN_PLACE_OUTSIDE,
          GGML_EXT_REASON_FINAL_VIEW, GGML_EXT_REASON_FINAL_OUTSIDE, GGML_EXT_REASON_WRITEBACK_PARTIAL,
          GGML_EXT_REASON_OWNER_READ_OUTSIDE, GGML_EXT_REASON_EXTERNAL_USE, GGML_EXT_REASON_UNUSED_RESULT}) {
        EXPECT_GT(tally.refused[reason], 10) << ggml_ext_reason_name(reason);
    }
}

constexpr uint32_t kGraphs = 1000;

TEST(ext_fusion, random_matches_leave_every_other_tensor_as_it_was) {
    Tally tally;
    for (uint32_t seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
        AliasingGraph plain(seed), fused(seed);
        const Selection selection = select(fused, tally);
        run_plainly(plain);
        fused.place_apart();
        fused.fill_leafs();
        FusedRun run(fused, selection);
        run.run();
        ASSERT_EQ(plain.results(), fused.results()) << "seed " << seed;
        for (size_t i = 0; i < plain.tensors().size(); ++i) {
            ggml_tensor *a = plain.tensors()[i], *b = fused.tensors()[i];
            if (a->view_src != nullptr || run.skips(b)) continue;
            ASSERT_TRUE(same_bytes(a, b)) << "seed " << seed << ", " << a->name;
        }
    }
    expect_hard_cases(tally);
}

// What a caller may fetch after a run: marked tensors, and what no node reads.
bool may_be_fetched(const ggml_cgraph * graph, const ggml_tensor * node) {
    if ((node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return false;
    return (node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || use_count(graph, node) == 0;
}

TEST(ext_fusion, random_matches_are_right_in_the_storage_that_is_allocated_without_them) {
    Tally tally;
    size_t fetched = 0;
    for (uint32_t seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
        AliasingGraph plain(seed), fused(seed);
        const Selection selection = select(fused, tally);
        run_plainly(plain);
        ggml_gallocr_t galloc = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
        ggml_gallocr_set_skipped_tensors(galloc, selection.skipped.data(), selection.skipped.size());
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, fused.graph()));
        fused.fill_leafs();
        FusedRun run(fused, selection);
        run.run();
        ASSERT_EQ(plain.results(), fused.results()) << "seed " << seed;
        for (int i = 0; i < fused.graph()->n_nodes; ++i) {
            ggml_tensor * b = fused.graph()->nodes[i];
            if (!may_be_fetched(fused.graph(), b)) continue;
            ASSERT_FALSE(run.skips(b));
            const ggml_tensor * a = plain.tensors()[fused.index_of(b)];
            ASSERT_EQ(test::read_bytes(a), test::read_bytes(b)) << "seed " << seed << ", " << a->name;
            ++fetched;
        }
        ggml_gallocr_free(galloc);
    }
    EXPECT_GT(fetched, size_t(kGraphs));
    expect_hard_cases(tally);
}

} // namespace
} // namespace ggml::ext
