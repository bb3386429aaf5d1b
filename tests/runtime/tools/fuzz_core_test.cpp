// The runtime's own side of fusion under the same attack: a rule that takes any nodes the runtime lets it
// take, and computes them as they are written, must never show.
#include "ggml-ext-tools.h"
#include "runtime/backend/interface.h"
#include "runtime/ext/registry/registry.h"
#include "tests/runtime/sched/fixture.h"
#include "tests/runtime/tools/fuzz_rules.h"

#include <gtest/gtest.h>
#include <memory>
#include <tuple>

namespace ggml::test {
namespace {

constexpr int64_t kRow = 32, kRows = 4;

ggml_tensor * leaf(ggml_context * ctx, const char * name, ggml_type type, int64_t ne0, int64_t ne1) {
    ggml_tensor * t = ggml_new_tensor_2d(ctx, type, ne0, ne1);
    ggml_set_name(t, name);
    ggml_set_input(t);
    return t;
}

// Each touches what a fused step can get wrong: views and copies inside, work in place, a terminal copy.
ggml_tensor * build_residual(ggml_context * ctx, void *) {
    ggml_tensor * x = leaf(ctx, "x", GGML_TYPE_F32, kRow, kRows);
    ggml_tensor * h =
        ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), leaf(ctx, "weight", GGML_TYPE_F32, kRow, 1));
    h = ggml_mul_mat(ctx, leaf(ctx, "matrix", GGML_TYPE_F32, kRow, kRow), h);
    return ggml_add(ctx, ggml_silu(ctx, h), x);
}

ggml_tensor * build_turned(ggml_context * ctx, void *) {
    ggml_tensor * x = ggml_sqr(ctx, leaf(ctx, "x", GGML_TYPE_F32, kRow, kRows));
    ggml_tensor * turned = ggml_cont(ctx, ggml_transpose(ctx, x));
    ggml_tensor * h = ggml_reshape_2d(ctx, ggml_scale(ctx, turned, 0.5f), kRow, kRows);
    return ggml_soft_max(ctx, ggml_add(ctx, h, x));
}

ggml_tensor * build_in_place(ggml_context * ctx, void *) {
    ggml_tensor * x =
        ggml_mul(ctx, leaf(ctx, "a", GGML_TYPE_F32, kRow, kRows), leaf(ctx, "b", GGML_TYPE_F32, kRow, kRows));
    x = ggml_add_inplace(ctx, x, leaf(ctx, "c", GGML_TYPE_F32, kRow, 1));
    x = ggml_scale_inplace(ctx, x, 0.5f);
    ggml_tensor * half = ggml_view_2d(ctx, x, kRow / 2, kRows, x->nb[1], 0);
    return ggml_sub(ctx, ggml_cont(ctx, half), leaf(ctx, "d", GGML_TYPE_F32, kRow / 2, kRows));
}

ggml_tensor * build_half(ggml_context * ctx, void *) {
    ggml_tensor * x =
        ggml_mul(ctx, leaf(ctx, "a", GGML_TYPE_F32, kRow, kRows), leaf(ctx, "b", GGML_TYPE_F32, kRow, kRows));
    x = ggml_add(ctx, x, leaf(ctx, "c", GGML_TYPE_F32, kRow, kRows));
    return ggml_sqr_inplace(ctx, ggml_view_2d(ctx, x, kRow / 2, kRows, x->nb[1], 0));
}

ggml_tensor * build_cache(ggml_context * ctx, void *) {
    ggml_tensor * positions = leaf(ctx, "positions", GGML_TYPE_I32, kRows, 1);
    ggml_tensor * k = ggml_reshape_3d(ctx, leaf(ctx, "k", GGML_TYPE_F32, kRow, kRows), kRow / 2, 2, kRows);
    k = ggml_rope(ctx, ggml_scale(ctx, k, 0.5f), positions, int(kRow / 2), GGML_ROPE_TYPE_NEOX);
    ggml_tensor * cache = leaf(ctx, "cache", GGML_TYPE_F16, kRow, 2 * kRows);
    ggml_tensor * place = ggml_view_2d(ctx, cache, kRow, kRows, cache->nb[1], kRows * cache->nb[1]);
    return ggml_cpy(ctx, ggml_reshape_2d(ctx, k, kRow, kRows), place);
}

ggml_tensor * build_gated(ggml_context * ctx, void *) {
    ggml_tensor * rows = ggml_get_rows(ctx, leaf(ctx, "table", GGML_TYPE_F32, kRow, 9),
                                       leaf(ctx, "ids", GGML_TYPE_I32, kRows, 1));
    ggml_tensor * h = ggml_swiglu(ctx, ggml_concat(ctx, rows, ggml_neg(ctx, rows), 0));
    return ggml_clamp(ctx,
                      ggml_scale(ctx, ggml_cast(ctx, ggml_cast(ctx, h, GGML_TYPE_F16), GGML_TYPE_F32), 2.0f),
                      -1.0f, 1.0f);
}

// Every run of n nodes that the runtime lets it take. Moves whatever may be moved first.
KernelKit take(int n) {
    KernelKit kit;
    kit.name = "t.take";
    kit.match = [n](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        const int left = ggml_graph_n_nodes(const_cast<ggml_cgraph *>(graph)) - first;
        return left >= n ? n : ggml_ext_refuse_match(why, left, "%d nodes are left", left);
    };
    kit.execute = [](const ggml_ext_execute_params & params, void *) { return run_as_written(params); };
    kit.optimize = [n](ggml_cgraph * graph) {
        for (int i = 0; i + 2 < ggml_graph_n_nodes(graph); i += 1 + n % 3)
            (void)ggml_ext_graph_delay(graph, i, 1, i + 1);
    };
    return kit;
}

struct Attacked {
    explicit Attacked(bool on_device) {
        if (on_device) {
            device = std::make_unique<TestDevice>(device_options("DEV"));
            backend.reset(device->new_backend());
        } else {
            backend.reset(ggml_backend_cpu_init());
            ggml_backend_cpu_set_n_threads(backend.get(), 1);
            ggml_backend_cpu_set_use_ref(backend.get(), true);
            ext::forget_device(backend->device);
        }
    }
    ~Attacked() {
        if (device == nullptr) ext::forget_device(backend->device);
    }

    std::unique_ptr<TestDevice> device;
    ggml_backend_ptr backend;
};

using Case = std::tuple<bool, ggml_ext_build_t>;
struct fuzz_core : testing::TestWithParam<Case> {};

TEST_P(fuzz_core, fusing_whatever_the_runtime_allows_changes_no_result) {
    const auto & [on_device, build] = GetParam();
    ggml_ext_fuzz_options options = {};
    options.struct_size = sizeof(options);
    options.rounds = 200;
    options.tolerance = {1e-6, 1e-6, 1e-9};
    int fired = 0, refused = 0;
    for (const int n : {2, 3, 4, 5, 6}) {
        Attacked attacked(on_device);
        add_kernel(attacked.backend->device, take(n));
        options.seed = uint64_t(n);
        ggml_ext_fuzz_result result = {};
        const ggml_ext_status status =
            ggml_ext_fuzz_rule(attacked.backend.get(), "t.take", build, nullptr, &options, &result);
        if (status != GGML_EXT_SUCCESS) continue; // no so many nodes of this example may be taken
        EXPECT_FALSE(result.found) << n << " nodes, " << result.mutation << ": " << result.message;
        fired += result.fired;
        refused += result.refused;
    }
    EXPECT_GE(fired, 100);
    EXPECT_GE(refused, 40);
}

INSTANTIATE_TEST_SUITE_P(places, fuzz_core,
                         testing::Combine(testing::Bool(),
                                          testing::Values(build_residual, build_turned, build_in_place,
                                                          build_half, build_cache, build_gated)));

} // namespace
} // namespace ggml::test
