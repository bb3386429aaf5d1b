// Each extension step against its reference.
#include "tests/runtime/tools/parity_fixture.h"

#include <cstring>
#include <limits>

namespace ggml::test {
namespace {

struct parity_steps : testing::Test {
    ExtMachine m;
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();

    ggml_cgraph * allocated(std::initializer_list<ggml_tensor *> results) {
        ggml_cgraph * g = m.graph(results);
        EXPECT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
        return g;
    }
};

TEST_F(parity_steps, right_kernels_are_good) {
    add_kernel(m.device(), square("t.square"));
    add_kernel(m.device(), sum("t.sum"));
    RootOfSum graph(m);
    const ParityResult result = parity(m.sched(), graph.graph);
    ASSERT_EQ(result->n_steps, 2u);
    for (const ggml_ext_parity_step * step : {&result->steps[0], &result->steps[1]}) {
        EXPECT_TRUE(step->compared);
        EXPECT_TRUE(step->good);
        EXPECT_EQ(step->difference.count, kElements);
        EXPECT_EQ(step->difference.max_abs, 0);
    }
    EXPECT_EQ(result->first_that_matters, -1);
}

TEST_F(parity_steps, a_wrong_kernel_in_the_middle_of_a_chain_is_the_only_bad_one) {
    add_kernel(m.device(), square("t.square"));
    add_kernel(m.device(), sum("t.sum", 0.5f));
    add_kernel(m.device(), root("t.root"));
    RootOfSum graph(m);
    const ParityResult result = parity(m.sched(), graph.graph);
    ASSERT_EQ(result->n_steps, 3u);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_FALSE(result->steps[1].good);
    EXPECT_TRUE(result->steps[2].good) << "from the inputs it was given it is right";
    EXPECT_STREQ(result->steps[1].kernel, "t.sum");
    EXPECT_STREQ(result->steps[1].result, "added");
    EXPECT_EQ(result->steps[1].first, 1);
    EXPECT_EQ(result->steps[1].n_nodes, 1);
    EXPECT_EQ(result->steps[1].difference.max_abs, 0.5);
    EXPECT_EQ(result->first_that_matters, 1);
}

TEST_F(parity_steps, a_wrong_fusion_is_compared_by_its_result) {
    add_kernel(m.device(), mul_add("t.mul_add", calls, 2));
    ggml_tensor * product = ggml_mul(m.ctx.get(), m.weight(1), m.weight(2));
    ggml_cgraph * g = allocated({ggml_add(m.ctx.get(), product, m.weight(3))});
    const ParityResult result = parity(m.sched(), g);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_EQ(result->steps[0].n_nodes, 2);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->steps[0].difference.first_bad, 0);
    EXPECT_EQ(result->steps[0].difference.bad_value, 1 * 2 + 3 + 2);
    EXPECT_EQ(result->steps[0].difference.bad_reference, 1 * 2 + 3);
    EXPECT_EQ(result->first_that_matters, 0);
    EXPECT_EQ(product->data, nullptr) << "the caller's plan stays fused";
}

TEST_F(parity_steps, a_right_fusion_is_good) {
    add_kernel(m.device(), mul_add("t.mul_add", calls, 0));
    ggml_tensor * product = ggml_mul(m.ctx.get(), m.weight(1), m.weight(2));
    ggml_cgraph * g = allocated({ggml_add(m.ctx.get(), product, m.weight(3))});
    const ParityResult result = parity(m.sched(), g);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_EQ(result->first_that_matters, -1);
}

TEST_F(parity_steps, a_kernel_that_makes_nan_is_counted) {
    add_kernel(m.device(), kernel("t.root", GGML_OP_SQRT, [](const std::vector<float> & v) {
                   return v[0] > 60 ? std::nanf("") : std::sqrt(v[0]);
               }));
    ggml_cgraph * g = allocated({ggml_sqrt(m.ctx.get(), m.weight(0))});
    const ParityResult result = parity(m.sched(), g);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->steps[0].difference.n_nan, 3);
    EXPECT_EQ(result->steps[0].difference.first_bad, 61);
}

TEST_F(parity_steps, nan_that_the_reference_makes_too_is_good) {
    add_kernel(m.device(), root("t.root"));
    ggml_cgraph * g = allocated({ggml_sqrt(m.ctx.get(), m.weight(-8))});
    const ParityResult result = parity(m.sched(), g);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_EQ(result->steps[0].difference.n_nan, 0);
}

TEST_F(parity_steps, a_single_wrong_element_is_found) {
    KernelKit kit = square("t.square");
    kit.execute = [](const ggml_ext_execute_params & params, void *) {
        return queue_floats(params, {params.step.nodes[0]->src[0]},
                            [](float * out, const std::vector<const float *> & in, int64_t n) {
                                for (int64_t i = 0; i < n; ++i)
                                    out[i] = in[0][i] * in[0][i] * (i == 37 ? 1.001f : 1);
                            });
    };
    add_kernel(m.device(), kit);
    ggml_cgraph * g = allocated({ggml_sqr(m.ctx.get(), m.weight(1))});
    const ParityResult result = parity(m.sched(), g);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->steps[0].difference.first_bad, 37);
    EXPECT_NEAR(result->steps[0].difference.max_rel, 1e-3, 1e-5);
    EXPECT_EQ(result->first_that_matters, 0);
}

// MUL_MAT over decoded weights, times `factor`.
KernelKit product_of(const char * name, float factor) {
    KernelKit kit;
    kit.name = name;
    kit.op = GGML_OP_MUL_MAT;
    kit.supports = [](const ggml_tensor * t, ggml_ext_why_t) { return ggml_is_quantized(t->src[0]->type); };
    kit.execute = [factor](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor * node = params.step.nodes[0];
        const ggml_tensor *a = node->src[0], *b = node->src[1];
        const void * weights = real_address(a);
        return queue_floats(params, {b}, [=](float * out, const std::vector<const float *> & in, int64_t) {
            std::vector<float> row(size_t(a->ne[0]));
            for (int64_t r = 0; r < a->ne[1]; ++r) {
                ggml_get_type_traits(a->type)->to_float(
                    static_cast<const char *>(weights) + size_t(r) * a->nb[1], row.data(), a->ne[0]);
                for (int64_t column = 0; column < b->ne[1]; ++column) {
                    float dot = 0;
                    for (int64_t i = 0; i < a->ne[0]; ++i)
                        dot += row[size_t(i)] * in[0][column * b->ne[0] + i];
                    out[column * a->ne[1] + r] = factor * dot;
                }
            }
        });
    };
    return kit;
}

TEST_F(parity_steps, quantized_inputs_reach_the_reference_as_they_are) {
    for (const float factor : {1.0f, 1.5f}) {
        ExtMachine machine;
        add_kernel(machine.device(), product_of("t.product", factor));
        const ggml_context_ptr own = make_context(2);
        ggml_tensor * weights = ggml_new_tensor_2d(own.get(), GGML_TYPE_Q8_0, kElements, 5);
        const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(own.get(), machine.backend()));
        std::vector<float> values(size_t(kElements) * 5);
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i));
        std::vector<char> blocks(ggml_nbytes(weights));
        ggml_quantize_chunk(GGML_TYPE_Q8_0, values.data(), blocks.data(), 0, 5, kElements, nullptr);
        ggml_backend_tensor_set(weights, blocks.data(), 0, blocks.size());
        ggml_cgraph * g = machine.graph({ggml_mul_mat(machine.ctx.get(), weights, machine.weight(1))});
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(machine.sched(), g));
        // The reference rounds the other operand to blocks as well.
        const ParityResult result = parity(machine.sched(), g, true, {2, 0.05, 0.01});
        ASSERT_EQ(result->n_steps, 1u);
        EXPECT_EQ(result->steps[0].difference.count, 5);
        EXPECT_EQ(result->steps[0].good, factor == 1) << result->steps[0].difference.bad_value;
        EXPECT_EQ(result->first_that_matters, factor == 1 ? -1 : 0);
    }
}

TEST_F(parity_steps, a_result_over_its_own_input_is_computed_from_the_input) {
    add_kernel(m.device(), sum("t.sum"));
    ggml_tensor * squared = ggml_sqr(m.ctx.get(), m.weight(1));
    ggml_tensor * added = ggml_add(m.ctx.get(), squared, m.weight(2));
    ggml_cgraph * g = allocated({added});
    ASSERT_EQ(added->data, squared->data) << "the allocator is expected to reuse the storage";
    const ParityResult result = parity(m.sched(), g);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_EQ(read(added)[2], 9 + 4);
}

// mul -> cpy into a part of somebody's tensor.
KernelKit mul_into(const char * name, float error) {
    KernelKit kit;
    kit.name = name;
    kit.op = GGML_OP_MUL;
    kit.match = [](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        const ggml_op ops[] = {GGML_OP_MUL, GGML_OP_CPY};
        return ggml_ext_match_ops(graph, first, ops, 2, why) == 2 ? 2 : 0;
    };
    kit.execute = [error](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor * mul = params.step.nodes[0];
        return queue_floats(params, {mul->src[0], mul->src[1]},
                            [error](float * out, const std::vector<const float *> & in, int64_t n) {
                                for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] * in[1][i] + error;
                            });
    };
    return kit;
}

// state[3 .. 11) = state[0 .. 8) * a[0 .. 8): reads what it overwrites.
struct StateGraph {
    Weight state;
    ggml_tensor * copied;
    ggml_cgraph * graph;
    explicit StateGraph(ExtMachine & machine)
        : state(machine.backend(), 16, 1, counting(16, 1), GGML_BACKEND_BUFFER_USAGE_ANY) {
        ggml_context * c = machine.ctx.get();
        ggml_tensor * from = ggml_view_1d(c, state.tensor, 8, 0);
        ggml_tensor * to = ggml_view_1d(c, state.tensor, 8, 3 * sizeof(float));
        ggml_tensor * a = ggml_view_1d(c, machine.weight(2), 8, 0);
        copied = ggml_cpy(c, ggml_mul(c, from, a), to);
        graph = machine.graph({to, copied}); // the view first, so that product and copy follow each other
        EXPECT_TRUE(ggml_backend_sched_alloc_graph(machine.sched(), graph));
    }
};

TEST_F(parity_steps, a_step_that_writes_into_its_inputs_is_compared_by_what_was_there_before) {
    // In ascending order the kernel would read what it wrote: through a copy of the inputs it is right.
    KernelKit kit = mul_into("t.mul_into", 0);
    kit.execute = [](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor * mul = params.step.nodes[0];
        return queue_floats(params, {mul->src[0], mul->src[1]},
                            [](float * out, const std::vector<const float *> & in, int64_t n) {
                                for (int64_t i = n; i-- > 0;) out[i] = in[0][i] * in[1][i];
                            });
    };
    add_kernel(m.device(), kit);
    StateGraph g(m);
    const ParityResult result = parity(m.sched(), g.graph);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_EQ(result->steps[0].n_nodes, 2);
    EXPECT_TRUE(result->steps[0].good) << result->steps[0].difference.first_bad;
    EXPECT_EQ(result->first_that_matters, -1);
    EXPECT_EQ(read(g.state.tensor)[3 + 7], 8 * 9);
}

TEST_F(parity_steps, a_step_that_reads_what_it_has_overwritten_is_caught) {
    add_kernel(m.device(), mul_into("t.mul_into", 0)); // in ascending order
    StateGraph g(m);
    const ParityResult result = parity(m.sched(), g.graph);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->steps[0].difference.first_bad, 3);
    EXPECT_EQ(result->first_that_matters, 0);
}

TEST_F(parity_steps, state_is_advanced_once) {
    add_kernel(m.device(), mul_into("t.mul_into", 1));
    StateGraph g(m);
    EXPECT_EQ(parity(m.sched(), g.graph)->first_that_matters, 0);
    const std::vector<float> after = read(g.state.tensor);
    EXPECT_EQ(after[2], 3) << "before the part that is written";
    EXPECT_EQ(after[3], 1 * 2 + 1) << "once, by the kernel as it is";
}

TEST_F(parity_steps, strides_and_offsets_of_inputs_are_kept) {
    add_kernel(m.device(), sum("t.sum")); // takes every input for contiguous
    Weight matrix(m.backend(), 8, 8, counting(64, 1));
    ggml_context * c = m.ctx.get();
    ggml_tensor * tail = ggml_view_1d(c, m.weight(1), 32, 32 * sizeof(float));
    ggml_tensor * right = ggml_add(c, tail, ggml_view_1d(c, m.weight(5), 32, 0));
    ggml_tensor * wrong = ggml_add(c, ggml_transpose(c, matrix.tensor), matrix.tensor);
    ggml_cgraph * g = allocated({right, wrong});
    const ParityResult result = parity(m.sched(), g);
    ASSERT_EQ(result->n_steps, 2u);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_FALSE(result->steps[1].good) << "the kernel ignores that rows and columns are swapped";
    EXPECT_EQ(result->steps[1].difference.first_bad, 1);
    EXPECT_EQ(result->first_that_matters, 1);
}

TEST_F(parity_steps, a_registered_operator_is_computed_by_its_reference) {
    OpKit with;
    with.name = "parity.triple.v1";
    with.reference = [](ggml_tensor * node) {
        for (int64_t i = 0; i < ggml_nelements(node); ++i)
            static_cast<float *>(node->data)[i] = 3 * static_cast<const float *>(node->src[0]->data)[i];
        return GGML_STATUS_SUCCESS;
    };
    OpKit without;
    without.name = "parity.secret.v1";
    KernelKit kits[2];
    ggml_ext_op_t ops[] = {add_op(with), add_op(without)};
    const char * names[] = {"t.triple", "t.secret"};
    for (int i = 0; i < 2; ++i) {
        kits[i] = kernel(names[i], GGML_OP_CUSTOM, [](const std::vector<float> & v) { return 3 * v[0]; });
        kits[i].custom_op = ops[i];
        add_kernel(m.device(), kits[i]);
    }
    ggml_tensor * input = m.weight(1);
    ggml_tensor * known = ggml_ext_op_create(m.ctx.get(), ops[0], &input, 1, nullptr, 0);
    ggml_tensor * unknown = ggml_ext_op_create(m.ctx.get(), ops[1], &known, 1, nullptr, 0);
    const ParityResult result = parity(m.sched(), allocated({unknown}));
    ASSERT_EQ(result->n_steps, 2u);
    EXPECT_TRUE(result->steps[0].compared);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_FALSE(result->steps[1].compared) << "it has none";
    EXPECT_FALSE(result->steps[1].good);
    EXPECT_EQ(result->steps[1].difference.count, 0);
    EXPECT_EQ(result->first_that_matters, -1);
}

TEST_F(parity_steps, functions_of_the_caller_are_not_called_once_more) {
    add_kernel(m.device(),
               kernel("t.map", GGML_OP_MAP_CUSTOM1, [](const std::vector<float> & v) { return v[0]; }));
    int executions = 0;
    const auto map = [](ggml_tensor *, const ggml_tensor *, int, int, void * counter) {
        ++*static_cast<int *>(counter);
    };
    ggml_cgraph * g = allocated({ggml_map_custom1(m.ctx.get(), m.weight(1), map, 1, &executions)});
    const ParityResult result = parity(m.sched(), g, /*bisect=*/false);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_FALSE(result->steps[0].compared);
    EXPECT_EQ(executions, 0);
}

TEST_F(parity_steps, a_reference_that_fails_ends_the_comparison) {
    OpKit kit;
    kit.name = "parity.failing.v1";
    kit.reference = [](ggml_tensor *) { return GGML_STATUS_FAILED; };
    KernelKit code = kernel("t.failing", GGML_OP_CUSTOM, [](const std::vector<float> & v) { return v[0]; });
    code.custom_op = add_op(kit);
    add_kernel(m.device(), code);
    ggml_tensor * input = m.weight(1);
    ggml_cgraph * g = allocated({ggml_ext_op_create(m.ctx.get(), code.custom_op, &input, 1, nullptr, 0)});
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, false, &result), GGML_EXT_FAILED);
    EXPECT_EQ(result, nullptr);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXECUTE_FAILED);
    EXPECT_NE(std::strstr(ggml_ext_last_message(), "reference"), nullptr);
}

TEST_F(parity_steps, a_kernel_that_fails_ends_the_comparison) {
    KernelKit kit = square("t.square");
    kit.execute = [](const ggml_ext_execute_params &, void *) { return GGML_STATUS_FAILED; };
    add_kernel(m.device(), kit);
    ggml_cgraph * g = allocated({ggml_sqr(m.ctx.get(), m.weight(1))});
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, true, &result), GGML_EXT_FAILED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXECUTE_FAILED);
    EXPECT_NE(std::strstr(ggml_ext_last_message(), "t.square"), nullptr) << ggml_ext_last_message();
}

TEST_F(parity_steps, a_graph_that_is_not_allocated_is_refused) {
    ggml_cgraph * g = m.graph({ggml_sqr(m.ctx.get(), m.weight(1))});
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, true, &result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NOT_ALLOCATED);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    ggml_cgraph * other = m.graph({ggml_sqr(m.ctx.get(), m.weight(1))});
    EXPECT_EQ(ggml_ext_parity(m.sched(), other, &kTolerance, true, &result), GGML_EXT_REFUSED);
    EXPECT_EQ(result, nullptr);
}

TEST_F(parity_steps, tolerances_below_zero_or_not_a_number_are_refused) {
    ggml_cgraph * g = allocated({ggml_sqr(m.ctx.get(), m.weight(1))});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const ggml_ext_tolerance wrong[] = {{-1, 0, 0}, {0, nan, 0}, {0, 0, -1e-9}};
    for (const ggml_ext_tolerance & tolerance : wrong) {
        ggml_ext_parity_result * result = nullptr;
        EXPECT_EQ(ggml_ext_parity(m.sched(), g, &tolerance, false, &result), GGML_EXT_INVALID);
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TOLERANCE);
        EXPECT_EQ(result, nullptr);
    }
}

TEST_F(parity_steps, arguments_that_are_missing_are_refused) {
    ggml_cgraph * g = allocated({ggml_sqr(m.ctx.get(), m.weight(1))});
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(nullptr, g, &kTolerance, true, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_parity(m.sched(), nullptr, &kTolerance, true, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, nullptr, true, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, true, nullptr), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    ggml_ext_parity_free(nullptr);
}

TEST_F(parity_steps, a_graph_without_extensions_has_no_steps) {
    ggml_cgraph * g = allocated({ggml_sqr(m.ctx.get(), m.weight(1))});
    const ParityResult result = parity(m.sched(), g);
    EXPECT_EQ(result->n_steps, 0u);
    EXPECT_EQ(result->first_that_matters, -1);
}

} // namespace
} // namespace ggml::test
