// The legality fuzzer finds planted faults, and none in rules that are right.
#include "ggml-ext-tools.h"
#include "runtime/backend/interface.h"
#include "runtime/ext/registry/registry.h"
#include "tests/runtime/sched/fixture.h"
#include "tests/runtime/tools/fuzz_rules.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace ggml::test {
namespace {

constexpr double kMostSeconds = 10; // to catch a faulty rule

ggml_tensor * input(ggml_context * ctx, const char * name, int64_t ne0, int64_t ne1) {
    ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, ne0, ne1);
    ggml_set_name(t, name);
    ggml_set_input(t);
    return t;
}

struct ChainExample {
    bool minus = false, copied = false, row = false;

    static ggml_tensor * build(ggml_context * ctx, void * self) {
        const auto & example = *static_cast<const ChainExample *>(self);
        ggml_tensor * product = ggml_mul(ctx, input(ctx, "a", 24, 6), input(ctx, "b", 24, 6));
        ggml_tensor * c = input(ctx, "c", 24, example.row ? 1 : 6);
        ggml_tensor * result = example.minus ? ggml_sub(ctx, product, c) : ggml_add(ctx, product, c);
        ggml_set_name(product, "product");
        ggml_set_name(result, "result");
        return example.copied ? ggml_cpy(ctx, result, input(ctx, "destination", 24, 6)) : result;
    }
};

ggml_tensor * build_scaled(ggml_context * ctx, void *) {
    return ggml_add(ctx, ggml_scale(ctx, input(ctx, "x", 24, 6), 0.5f), input(ctx, "c", 24, 6));
}

ggml_tensor * build_gained(ggml_context * ctx, void *) {
    const Gain gain = {0.5f, 0.0f};
    ggml_tensor * x = input(ctx, "x", 24, 6);
    return ggml_add(ctx, ggml_ext_op_create(ctx, gain_op(), &x, 1, &gain, sizeof(gain)),
                    input(ctx, "c", 24, 6));
}

enum class Place { device, replaying_device, cpu };

struct fuzz : testing::TestWithParam<Place> {
    fuzz() {
        if (GetParam() == Place::cpu) {
            backend.reset(ggml_backend_cpu_init());
            ggml_backend_cpu_set_n_threads(backend.get(), 1);
            ext::forget_device(backend->device);
            return;
        }
        TestDeviceOptions options = device_options("DEV");
        options.replay = GetParam() == Place::replaying_device;
        machine = std::make_unique<TestDevice>(options);
        backend.reset(machine->new_backend());
    }
    ~fuzz() override {
        if (GetParam() == Place::cpu) ext::forget_device(backend->device);
    }

    void add(KernelKit kit) {
        kit.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
        add_kernel(backend->device, kit);
    }

    ggml_ext_fuzz_result attack(const char * rule, ggml_ext_build_t build, void * data, uint64_t seed,
                                int rounds, double max_seconds) {
        ggml_ext_fuzz_options options = {};
        options.struct_size = sizeof(options);
        options.seed = seed;
        options.rounds = rounds;
        options.max_seconds = max_seconds;
        options.tolerance = {1e-6, 1e-6, 1e-9};
        ggml_ext_fuzz_result result = {};
        EXPECT_EQ(ggml_ext_fuzz_rule(backend.get(), rule, build, data, &options, &result), GGML_EXT_SUCCESS)
            << ggml_ext_last_message();
        return result;
    }

    // Whatever the seed, and again from the seed that is reported.
    void expect_caught(const char * rule, ggml_ext_build_t build, void * data) {
        for (const uint64_t seed : {1u, 2u, 3u}) {
            const ggml_ext_fuzz_result result = attack(rule, build, data, seed, 1000, kMostSeconds);
            EXPECT_TRUE(result.found) << rule << ": not in " << result.rounds << " rounds of seed " << seed;
            EXPECT_STRNE(result.message, "");
            const ggml_ext_fuzz_result again = attack(rule, build, data, result.seed, 1, 0);
            EXPECT_TRUE(again.found);
            EXPECT_STREQ(again.mutation, result.mutation);
            EXPECT_STREQ(again.message, result.message);
        }
    }

    void expect_right(const char * rule, ggml_ext_build_t build, void * data) {
        const ggml_ext_fuzz_result result = attack(rule, build, data, 7, 300, 0);
        EXPECT_FALSE(result.found) << result.mutation << ": " << result.message << ", seed " << result.seed;
        EXPECT_EQ(result.rounds, 300);
        EXPECT_GE(result.fired + result.refused, 100);
        EXPECT_GE(result.fired, 50);
        EXPECT_GE(result.refused, 20);
    }

    void expect_chain_caught(const ChainRule & rule, ChainExample example = {}) {
        add(chain_rule("t.chain", rule));
        example.minus = rule.minus;
        example.copied = rule.copied;
        expect_caught("t.chain", ChainExample::build, &example);
    }

    void expect_chain_right(const ChainRule & rule) {
        add(chain_rule("t.chain", rule));
        ChainExample example{rule.minus, rule.copied, false};
        expect_right("t.chain", ChainExample::build, &example);
    }

    std::unique_ptr<TestDevice> machine;
    ggml_backend_ptr backend;
};

TEST_P(fuzz, catches_a_rule_that_uses_an_input_as_scratch) { expect_chain_caught({ChainRule::scratch}); }

TEST_P(fuzz, catches_a_rule_that_takes_a_repeated_operand_for_a_full_one) {
    expect_chain_caught({ChainRule::full_operand});
}

TEST_P(fuzz, catches_a_rule_that_takes_a_full_operand_for_a_repeated_one) {
    expect_chain_caught({ChainRule::row_operand}, {false, false, /*row=*/true});
}

TEST_P(fuzz, catches_a_rule_whose_result_may_not_overlap_an_input) {
    expect_chain_caught({ChainRule::unsafe_alias, false, /*copied=*/true});
}

TEST_P(fuzz, catches_a_rule_that_reorders_across_a_write) { expect_chain_caught({ChainRule::wrong_order}); }

TEST_P(fuzz, catches_a_rule_that_ignores_a_parameter) {
    add(scale_add_rule("t.scale_add", /*ignores_bias=*/true));
    expect_caught("t.scale_add", build_scaled, nullptr);
}

TEST_P(fuzz, catches_a_rule_that_ignores_an_attribute_of_a_registered_operator) {
    add(gain_kernel());
    add(gain_add_rule("t.gain_add", /*ignores_offset=*/true));
    expect_caught("t.gain_add", build_gained, nullptr);
}

TEST_P(fuzz, catches_a_rule_that_ignores_the_order_of_operands) {
    expect_chain_caught({ChainRule::swapped_operands, /*minus=*/true});
}

TEST_P(fuzz, catches_a_rule_that_ignores_strides) { expect_chain_caught({ChainRule::dense_operands}); }

TEST_P(fuzz, catches_a_rule_that_ignores_nan) { expect_chain_caught({ChainRule::forgets_nan}); }

TEST_P(fuzz, finds_nothing_in_a_rule_that_is_right) { expect_chain_right({}); }

TEST_P(fuzz, finds_nothing_in_a_right_rule_whose_operands_have_an_order) {
    expect_chain_right({ChainRule::none, /*minus=*/true});
}

TEST_P(fuzz, finds_nothing_in_a_right_rule_that_ends_with_a_copy) {
    expect_chain_right({ChainRule::none, false, /*copied=*/true});
}

TEST_P(fuzz, finds_nothing_in_right_rules_with_parameters_and_attributes) {
    add(scale_add_rule("t.scale_add", false));
    add(gain_kernel());
    add(gain_add_rule("t.gain_add", false));
    expect_right("t.scale_add", build_scaled, nullptr);
    expect_right("t.gain_add", build_gained, nullptr);
}

TEST_P(fuzz, catches_a_kernel_of_one_node_too) {
    add(dense_product_kernel("t.product"));
    ChainExample example;
    expect_caught("t.product", ChainExample::build, &example);
}

TEST_P(fuzz, stops_at_its_time_limit_when_no_number_of_rounds_is_given) {
    add(chain_rule("t.chain", {}));
    ChainExample example;
    ggml_ext_fuzz_options options = {
        sizeof(options), 1, /*rounds=*/0, /*max_seconds=*/0.02, {1e-6, 1e-6, 1e-9}};
    ggml_ext_fuzz_result result = {};
    ASSERT_EQ(ggml_ext_fuzz_rule(backend.get(), "t.chain", ChainExample::build, &example, &options, &result),
              GGML_EXT_SUCCESS);
    EXPECT_FALSE(result.found);
    EXPECT_GE(result.rounds, 1);
}

TEST_P(fuzz, refuses_what_it_cannot_attack) {
    add(chain_rule("t.chain", {}));
    add(gain_kernel());
    ChainExample example, other{/*minus=*/true};
    ggml_ext_fuzz_options options = {sizeof(options), 1, 10, 0, {}};
    ggml_ext_fuzz_result result = {};
    const auto status = [&](const char * rule, ggml_ext_build_t build, void * data) {
        return ggml_ext_fuzz_rule(backend.get(), rule, build, data, &options, &result);
    };
    EXPECT_EQ(status("t.chain", ChainExample::build, &other), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXAMPLE_NOT_FUSED);
    EXPECT_NE(std::string(ggml_ext_last_message()).find("is SUB, not ADD"), std::string::npos)
        << ggml_ext_last_message();
    EXPECT_EQ(status("fuzzed.gain", build_gained, nullptr), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NO_NATIVE);
    EXPECT_EQ(status("t.nobody", ChainExample::build, &example), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXAMPLE_NOT_FUSED);
    EXPECT_EQ(status("t.chain", nullptr, nullptr), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    const ggml_ext_build_t nothing = [](ggml_context *, void *) -> ggml_tensor * { return nullptr; };
    EXPECT_EQ(status("t.chain", nothing, nullptr), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    options.tolerance.max_abs = -1;
    EXPECT_EQ(status("t.chain", ChainExample::build, &example), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TOLERANCE);
    options.tolerance.max_abs = 0;
    options.rounds = 0;
    EXPECT_EQ(status("t.chain", ChainExample::build, &example), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_FUZZ_ENDLESS);
    options.struct_size = 3;
    EXPECT_EQ(status("t.chain", ChainExample::build, &example), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_STRUCT_SIZE);
}

std::string name_of(const testing::TestParamInfo<Place> & info) {
    static constexpr const char * kNames[] = {"device", "replaying_device", "cpu"};
    return kNames[int(info.param)];
}

INSTANTIATE_TEST_SUITE_P(places, fuzz, testing::Values(Place::device, Place::replaying_device, Place::cpu),
                         name_of);

} // namespace
} // namespace ggml::test
