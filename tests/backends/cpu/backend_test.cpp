#include "backends/cpu/convert.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "runtime/base/half.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

namespace {

TEST(cpu_backend, is_listed_as_the_cpu_device) {
    ggml_backend_dev_t dev = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ASSERT_NE(dev, nullptr);
    EXPECT_STREQ(ggml_backend_dev_name(dev), "CPU");
    EXPECT_NE(std::strlen(ggml_backend_dev_description(dev)), 0u);
    size_t free = 0, total = 0;
    ggml_backend_dev_memory(dev, &free, &total);
    EXPECT_GT(total, 0u);
    EXPECT_LE(free, total);
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(dev, &props);
    EXPECT_TRUE(props.caps.buffer_from_host_ptr);
    EXPECT_FALSE(props.caps.async);
}

TEST(cpu_backend, knows_its_own_backends) {
    ggml_backend_ptr backend(ggml_backend_cpu_init());
    ASSERT_NE(backend, nullptr);
    EXPECT_TRUE(ggml_backend_is_cpu(backend.get()));
    EXPECT_FALSE(ggml_backend_is_cpu(nullptr));
    EXPECT_STREQ(ggml_backend_name(backend.get()), "CPU");
}

TEST(cpu_backend, computes_a_graph_in_its_own_buffer_and_stops_on_abort) {
    ggml_backend_ptr backend(ggml_backend_cpu_init());
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor * a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100);
    ggml_tensor * sum = ggml_add(ctx.get(), a, a);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, sum);
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
    ASSERT_NE(buffer, nullptr);
    std::vector<float> values(100, 1.25f);
    ggml_backend_tensor_set(a, values.data(), 0, ggml_nbytes(a));
    ggml_backend_cpu_set_n_threads(backend.get(), 2);
    ASSERT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(sum, values.data(), 0, ggml_nbytes(sum));
    for (float v : values) EXPECT_EQ(v, 2.5f);

    ggml_backend_cpu_set_abort_callback(
        backend.get(), [](void *) { return true; }, nullptr);
    EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_ABORTED);
}

TEST(cpu_backend, a_graph_plan_outlives_the_graph_object) {
    ggml_backend_ptr backend(ggml_backend_cpu_init());
    ggml_context_ptr tensors(ggml_init({1u << 20, nullptr, false}));
    ggml_tensor * a = ggml_set_f32(ggml_new_tensor_1d(tensors.get(), GGML_TYPE_F32, 8), 3);
    ggml_tensor * product = ggml_mul(tensors.get(), a, a);
    ggml_backend_graph_plan_t plan;
    {
        ggml_context_ptr graphs(ggml_init({1u << 18, nullptr, true}));
        ggml_cgraph * graph = ggml_new_graph(graphs.get());
        ggml_build_forward_expand(graph, product);
        plan = ggml_backend_graph_plan_create(backend.get(), graph);
    }
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(ggml_backend_graph_plan_compute(backend.get(), plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(product, 7), 9.0f);
    ggml_backend_graph_plan_free(backend.get(), plan);
}

TEST(cpu_backend, every_advertised_function_has_an_address) {
    ggml_backend_reg_t reg = ggml_backend_cpu_reg();
    for (const char * name :
         {"ggml_backend_set_n_threads", "ggml_backend_set_abort_callback", "ggml_backend_cpu_set_use_ref",
          "ggml_threadpool_new", "ggml_threadpool_free", "ggml_backend_cpu_set_threadpool"}) {
        EXPECT_NE(ggml_backend_reg_get_proc_address(reg, name), nullptr) << name;
    }
    EXPECT_EQ(ggml_backend_reg_get_proc_address(reg, "no_such_function"), nullptr);
}

TEST(cpu_backend, reports_features_that_agree_with_the_levels_kernels_use) {
    const ggml::cpu::CpuFeatures & features = ggml::cpu::detected_features();
    if (features.avx2) {
        EXPECT_TRUE(ggml_cpu_has_avx2() && ggml_cpu_has_fma() && ggml_cpu_has_f16c() && ggml_cpu_has_bmi2());
    }
    if (features.avx512vnni) {
        EXPECT_TRUE(ggml_cpu_has_avx512() && ggml_cpu_has_avx512_vnni() && ggml_cpu_has_avx512_vbmi());
    }
    EXPECT_EQ(ggml_cpu_has_avx_vnni() != 0, features.avxvnni);
    EXPECT_EQ(ggml_cpu_has_neon() != 0, features.neon);
    EXPECT_FALSE(ggml_cpu_has_neon() && ggml_cpu_has_sse3());
}

TEST(cpu_backend, row_conversions_equal_the_scalar_ones_for_every_code_and_level) {
    std::vector<uint16_t> codes(65536), back(65536);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint16_t(i);
    std::vector<float> floats(codes.size());
    ggml::test::for_each_isa([&](ggml::cpu::Isa) {
        ggml::cpu::half_to_float_row(codes.data(), floats.data(), 65536);
        ggml::cpu::float_to_half_row(floats.data(), back.data(), 65536);
        for (size_t i = 0; i < codes.size(); ++i) {
            const float scalar = ggml::half_to_float(codes[i]);
            ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(scalar)) << i;
            ASSERT_EQ(back[i], ggml::float_to_half(scalar)) << i;
        }
    });
}

TEST(cpu_backend, float_to_half_rounds_the_same_at_every_level) {
    std::vector<float> floats;
    for (uint32_t bits = 0; bits < 0xffffff00u - 4099u; bits += 4099u)
        floats.push_back(std::bit_cast<float>(bits));
    std::vector<uint16_t> halves(floats.size());
    ggml::test::for_each_isa([&](ggml::cpu::Isa) {
        ggml::cpu::float_to_half_row(floats.data(), halves.data(), int64_t(floats.size()));
        for (size_t i = 0; i < floats.size(); ++i)
            ASSERT_EQ(halves[i], ggml::float_to_half(floats[i])) << floats[i];
    });
}

} // namespace
