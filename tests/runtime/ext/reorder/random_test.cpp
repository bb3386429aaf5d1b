// Whatever is accepted changes no result: random graphs full of aliases run in the old and in the new order,
// with storage of their own for every tensor and with storage the allocator reuses.
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "runtime/ext/reorder/reorder.h"
#include "runtime/graph/graph.h"
#include "tests/runtime/ext/effects/aliasing_graph.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>

namespace ggml::ext {
namespace {

using test::AliasingGraph;

struct GallocrEnd {
    void operator()(ggml_gallocr_t galloc) const { ggml_gallocr_free(galloc); }
};
using Gallocr = std::unique_ptr<ggml_gallocr, GallocrEnd>;

Gallocr allocate(AliasingGraph & g) {
    Gallocr galloc(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), g.graph()));
    return galloc;
}

struct Tally {
    int moved = 0;
    std::map<ggml_ext_reason, int> refused;
};

void move_at_random(AliasingGraph & g, uint32_t seed, Tally & tally) {
    std::mt19937 random(seed);
    const int nodes = g.graph()->n_nodes;
    for (int tries = 0; tries < 40; ++tries) {
        const int first = int(random() % uint32_t(nodes)), n = 1 + int(random() % 3);
        const int after = first + n - 1 + 1 + int(random() % 4);
        Verdict why;
        if (delay(g.graph(), first, n, after, &why))
            ++tally.moved;
        else
            ++tally.refused[why.reason];
    }
}

void expect_same_results(const AliasingGraph & a, const AliasingGraph & b, uint32_t seed) {
    ASSERT_EQ(a.results().size(), b.results().size());
    for (const auto & [number, bytes] : a.results()) {
        ASSERT_EQ(bytes, b.results().at(number)) << "seed " << seed << ", " << b.tensors()[number]->name
                                                 << " " << ggml_op_name(b.tensors()[number]->op);
    }
}

void expect_frequent(const Tally & tally, int graphs) {
    EXPECT_GT(tally.moved, 2 * graphs);
    for (const ggml_ext_reason reason : {GGML_EXT_REASON_DELAY_RANGE, GGML_EXT_REASON_DELAY_DEPENDENCY,
                                         GGML_EXT_REASON_DELAY_EFFECT, GGML_EXT_REASON_DELAY_ALIAS}) {
        EXPECT_GT(tally.refused.count(reason) != 0 ? tally.refused.at(reason) : 0, graphs / 4)
            << ggml_ext_reason_name(reason);
    }
}

constexpr uint32_t kGraphs = 300;

TEST(ext_reorder, random_moves_before_allocation_change_no_result) {
    Tally tally;
    for (uint32_t seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
        AliasingGraph plain(seed), moved(seed);
        move_at_random(moved, seed, tally);
        for (AliasingGraph * g : {&plain, &moved}) {
            g->place_apart();
            g->fill_leafs();
            g->run(0, g->graph()->n_nodes);
        }
        expect_same_results(plain, moved, seed);
        for (size_t i = 0; i < plain.tensors().size(); ++i) {
            const ggml_tensor *a = plain.tensors()[i], *b = moved.tensors()[i];
            if (a->view_src != nullptr) continue;
            ASSERT_EQ(std::memcmp(a->data, b->data, ggml_nbytes(a)), 0) << "seed " << seed << ", " << a->name;
        }
    }
    expect_frequent(tally, kGraphs);
}

TEST(ext_reorder, random_moves_are_right_for_the_storage_an_allocator_gives_afterwards) {
    Tally tally;
    for (uint32_t seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
        AliasingGraph plain(seed), moved(seed);
        move_at_random(moved, seed, tally);
        plain.place_apart();
        const Gallocr galloc = allocate(moved);
        for (AliasingGraph * g : {&plain, &moved}) {
            g->fill_leafs();
            g->run(0, g->graph()->n_nodes);
        }
        expect_same_results(plain, moved, seed);
    }
    expect_frequent(tally, kGraphs);
}

TEST(ext_reorder, random_moves_respect_storage_that_an_allocator_has_given_before) {
    Tally tally;
    for (uint32_t seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
        AliasingGraph plain(seed), moved(seed);
        plain.place_apart();
        const Gallocr galloc = allocate(moved);
        move_at_random(moved, seed, tally);
        for (AliasingGraph * g : {&plain, &moved}) {
            g->fill_leafs();
            g->run(0, g->graph()->n_nodes);
        }
        expect_same_results(plain, moved, seed);
    }
    expect_frequent(tally, kGraphs / 4);
}

} // namespace
} // namespace ggml::ext
