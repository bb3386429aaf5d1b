// Reserving, running, observing.
#include "runtime/sched/sched.h"

#include "tests/runtime/sched/model.h"
#include "tests/support/log_capture.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

namespace ggml::test {
namespace {

TEST(reserve_size, equals_what_is_allocated) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    size_t sizes[2] = {1, 1};
    ggml_backend_sched_reserve_size(m.sched.get(), g.graph, sizes);
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(m.sched.get(), m.backend(0)), 0u);
    ASSERT_TRUE(ggml_backend_sched_reserve(m.sched.get(), g.graph));
    EXPECT_GT(sizes[0], 0u);
    EXPECT_GT(sizes[1], 0u);
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(m.sched.get(), m.backend(0)), sizes[0]);
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(m.sched.get(), m.cpu()), sizes[1]);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(m.sched.get(), m.backend(0)), sizes[0]);
    EXPECT_EQ(ggml_backend_sched_get_buffer_size(m.sched.get(), m.cpu()), sizes[1]);
}

TEST(reserve, leaves_the_graph_as_it_was_and_usable) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    ASSERT_TRUE(ggml_backend_sched_reserve(m.sched.get(), g.graph));
    EXPECT_EQ(g.h->src[1], g.x);
    EXPECT_EQ(g.squared->src[0], g.h);
    EXPECT_EQ(g.x->data, nullptr);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
}

TEST(reserve, honours_backends_set_before_it) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    ggml_backend_sched_set_tensor_backend(m.sched.get(), g.y, m.cpu());
    ASSERT_TRUE(ggml_backend_sched_reserve(m.sched.get(), g.graph));
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 4);
}

TEST(out_of_memory, is_an_answer_and_the_scheduler_goes_on) {
    TestDeviceOptions options = device_without("A", GGML_OP_SQR);
    options.memory = kSize * kSize * 4 + 300; // the weight and a little
    Machine m({options});
    const Model model(m);
    Model::Graph g = model.build();
    {
        const LogCapture log;
        EXPECT_FALSE(ggml_backend_sched_reserve(m.sched.get(), g.graph));
        EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
        EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_ALLOC_FAILED);
        EXPECT_NE(log.text.find("no memory for the buffers"), std::string::npos) << log.text;
    }
    EXPECT_EQ(g.h->src[1], g.x);
    // Without the device nodes it fits.
    ggml_context_ptr ctx = make_context();
    ggml_tensor * x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kSize);
    ggml_set_input(x);
    ggml_tensor * y = ggml_sqr(ctx.get(), x);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, y);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), graph));
    write(x, counting(kSize));
    ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(y)[3], 9.0f);
}

TEST(allocation, of_a_second_graph_without_reset_is_refused) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build(), other = model.build();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    const LogCapture log;
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched.get(), other.graph));
    EXPECT_NE(log.text.find("ggml_backend_sched_reset is missing"), std::string::npos) << log.text;
}

TEST(splitting, twice_gives_the_same_splits) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    ggml_backend_sched_split_graph(m.sched.get(), g.graph);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 3);
    EXPECT_NE(g.squared->src[0], g.h);
    ggml_backend_sched_split_graph(m.sched.get(), g.graph);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 3);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
}

TEST(scheduler, reuses_its_buffers_for_graphs_of_the_same_shape) {
    Machine m = make_machine();
    const Model model(m);
    const void * address = nullptr;
    for (int round = 0; round < 4; ++round) {
        ggml_backend_sched_reset(m.sched.get());
        Model::Graph g = model.build();
        ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
        if (round == 0) address = g.y->data;
        EXPECT_EQ(g.y->data, address);
        ggml_backend_sched_reset(m.sched.get());
    }
}

TEST(scheduler, refuses_impossible_backend_lists) {
    const LogCapture log;
    EXPECT_EQ(ggml_backend_sched_new(nullptr, nullptr, 1, 16, false, false), nullptr);
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_t backends[] = {cpu.get()};
    EXPECT_EQ(ggml_backend_sched_new(backends, nullptr, 0, 16, false, false), nullptr);
    TestDevice device;
    ggml_backend_buffer_type_t types[] = {device.buffer_type()};
    EXPECT_EQ(ggml_backend_sched_new(backends, types, 1, 16, false, false), nullptr);
    ggml_backend_sched_free(nullptr);
}

TEST(scheduler, refuses_a_size_hint_that_no_memory_holds) {
    LogCapture log;
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_t backends[] = {cpu.get()};
    EXPECT_EQ(ggml_backend_sched_new(backends, nullptr, 1, SIZE_MAX, false, false), nullptr);
    EXPECT_NE(log.text.find("out of memory"), std::string::npos) << log.text;
}

TEST(scheduler, tells_what_it_was_made_of) {
    Machine m = make_machine();
    EXPECT_EQ(ggml_backend_sched_get_n_backends(m.sched.get()), 2);
    EXPECT_EQ(ggml_backend_sched_get_backend(m.sched.get(), 1), m.cpu());
    EXPECT_EQ(ggml_backend_sched_get_buffer_type(m.sched.get(), m.backend(0)), m.devices[0]->buffer_type());
    EXPECT_EQ(ggml_backend_sched_get_n_copies(m.sched.get()), 1);
    EXPECT_EQ(ggml_backend_sched_get_n_copies(make_machine(true).sched.get()), 4);
}

TEST(scheduler, returns_the_error_of_a_node) {
    // The device claims a node and then finds a source that is not in its memory.
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    ggml_tensor * copy = g.h->src[1];
    g.h->src[1] = g.x;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_FAILED);
    g.h->src[1] = copy;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
}

struct Observer {
    std::vector<const ggml_tensor *> wanted, asked, seen;
    std::vector<std::vector<float>> values;
    const ggml_tensor * stop_at = nullptr;

    static bool call(ggml_tensor * t, bool ask, void * self) {
        Observer & o = *static_cast<Observer *>(self);
        if (ask) {
            o.asked.push_back(t);
            return std::find(o.wanted.begin(), o.wanted.end(), t) != o.wanted.end();
        }
        o.seen.push_back(t);
        o.values.push_back(read(t));
        return t != o.stop_at;
    }
};

TEST(eval_callback, sees_the_nodes_it_asked_for_computed_and_in_order) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    Observer observer;
    observer.wanted = {g.h, g.y};
    ggml_backend_sched_set_eval_callback(m.sched.get(), Observer::call, &observer);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(observer.asked.size(), size_t(ggml_graph_n_nodes(g.graph)));
    EXPECT_EQ(observer.seen, (std::vector<const ggml_tensor *>{g.h, g.y}));
    EXPECT_EQ(observer.values[0][5], 10.0f);
    EXPECT_EQ(observer.values[1], Model::expected(counting(kSize)));
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
}

TEST(eval_callback, groups_nodes_nobody_asked_for) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    Observer observer;
    ggml_backend_sched_set_eval_callback(m.sched.get(), Observer::call, &observer);
    ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(m.devices[0]->counters.graphs, 2); // one per split on the device
    EXPECT_TRUE(observer.seen.empty());
}

TEST(eval_callback, ends_the_computation_by_returning_false) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    Observer observer;
    observer.wanted = {g.h, g.squared, g.y};
    observer.stop_at = g.h;
    ggml_backend_sched_set_eval_callback(m.sched.get(), Observer::call, &observer);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_ABORTED);
    EXPECT_EQ(observer.seen, std::vector<const ggml_tensor *>{g.h});
    ggml_backend_sched_set_eval_callback(m.sched.get(), nullptr, nullptr);
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
}

TEST(eval_callback, may_remove_itself_when_it_has_seen_enough) {
    for (const bool while_asked : {false, true}) {
        Machine m = make_machine();
        const Model model(m);
        Model::Graph g = model.build();
        std::function<void(bool)> called = [&](bool ask) {
            if (ask == while_asked) ggml_backend_sched_set_eval_callback(m.sched.get(), nullptr, nullptr);
        };
        const auto call = [](ggml_tensor *, bool ask, void * data) {
            (*static_cast<std::function<void(bool)> *>(data))(ask);
            return true;
        };
        ggml_backend_sched_set_eval_callback(m.sched.get(), call, &called);
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
        write(g.x, counting(kSize));
        EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
        EXPECT_EQ(read(g.y), Model::expected(counting(kSize)));
    }
}

} // namespace
} // namespace ggml::test
