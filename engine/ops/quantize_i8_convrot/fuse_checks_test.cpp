#include "ops/quantize_i8_convrot/fuse_test.h"

#include "tests/support/op_check.h"

#include <limits>

namespace sd::test {

void check_fused(const Build & build, int n_nodes, const std::string & what) {
    EXPECT_EQ(fused_away(build), n_nodes) << what;
    ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
        const Outcome expected = run(build, {.fusion = false});
        for (int n_threads = 1; n_threads <= 3; ++n_threads)
            expect_same_bytes(run(build, {.n_threads = n_threads}), expected,
                              what + ", " + ggml::cpu::isa_name(isa));
    });
}

void check_not_fused(const Build & build, const std::string & what, const RunOptions & options) {
    RunOptions plain = options;
    plain.fusion = false;
    EXPECT_EQ(fused_away(build, options), 0) << what;
    expect_same_bytes(run(build, options), run(build, plain), what);
}

void check_over_inputs(const Build & build, int n_nodes, const std::vector<ggml_tensor *> & inputs) {
    const Outcome expected = run(build, {.fusion = false});
    for (const int n_threads : {1, 2, 3}) {
        for (ggml_tensor * over : inputs) {
            for (const size_t offset : {size_t(0), size_t(32), over->nb[1], 2 * over->nb[1]}) {
                const RunOptions options = {
                    .n_threads = n_threads, .result_in = over, .result_offset = offset};
                EXPECT_EQ(fused_away(build, options), n_nodes);
                expect_same_bytes(run(build, options), expected, "over an input");
            }
        }
    }
}

void fuzz(const char * rule, ggml_ext_build_t build, void * user_data, uint64_t seed) {
    ggml_backend_ptr backend(ggml_backend_dev_init(cpu_device(), nullptr));
    ggml_ext_fuzz_options options = {};
    options.struct_size = sizeof(options);
    options.seed = seed;
    options.rounds = 400;
    ggml_ext_fuzz_result result = {};
    ASSERT_EQ(ggml_ext_fuzz_rule(backend.get(), rule, build, user_data, &options, &result), GGML_EXT_SUCCESS)
        << ggml_ext_last_message();
    EXPECT_FALSE(result.found) << result.mutation << ", seed " << result.seed << ": " << result.message;
    EXPECT_EQ(result.rounds, options.rounds);
    EXPECT_GT(result.fired, 0);
    EXPECT_GT(result.refused, 0);
}

void make_rows_special(ggml_tensor * x) {
    for (int64_t i = 0; i < x->ne[0]; ++i) {
        at(x, i, 1) *= 1e38f;
        at(x, i, 2) *= 1e-41f;
        at(x, i, 3) = i % 2 == 0 ? 0.0f : -0.0f;
    }
    at(x, x->ne[0] - 1, 4) = std::numeric_limits<float>::quiet_NaN();
    at(x, 0, 5) = -std::numeric_limits<float>::infinity();
}

} // namespace sd::test
