#include "ggml-ext.h"
#include "tests/tools/op-bench/fails.h"
#include "tools/op-bench/report.h"
#include "tools/op-bench/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace op_bench {
namespace {

// A kernel that is wrong, and runs rows of 13 alone so that it disturbs no other test. Registered before any
// test asks the device.
constexpr const char * kWrongKernel = "test.wrong_add";

struct WrongAdd : testing::Environment {
    void SetUp() override {
        ggml_ext_kernel_desc kernel = {};
        kernel.struct_size = sizeof(kernel);
        kernel.name = kWrongKernel;
        kernel.op = GGML_OP_ADD;
        kernel.supports = [](ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t why, void *) {
            return node->ne[0] == 13 || ggml_ext_refuse(why, "only rows of 13");
        };
        kernel.execute = [](const ggml_ext_execute_params * p, void *, void *) {
            std::memset(p->step.nodes[0]->data, 0, ggml_nbytes(p->step.nodes[0]));
            return GGML_STATUS_SUCCESS;
        };
        ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
        ASSERT_EQ(ggml_ext_register_kernel(cpu, &kernel), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    }
};
const auto * const kWrongAdd = testing::AddGlobalTestEnvironment(new WrongAdd);

std::vector<Result> results_of(const Settings & settings, bool stopped = false) {
    const std::atomic<bool> stop = stopped;
    std::vector<Result> results;
    for (const Plan & plan : make_plans(settings).list) results.push_back(measure(plan, settings, stop));
    return results;
}

Settings once(const std::string & op, const std::vector<std::string> & shapes) {
    Settings settings;
    settings.ops = {op};
    settings.shapes = shapes;
    settings.budget = 0;
    settings.verify = true;
    settings.n_threads = 2;
    return settings;
}

// Every implementation equals the reference, one of them is what graphs get, and figures are there.
void expect_good(const std::string & op, const std::vector<std::string> & shapes) {
    for (const Result & result : results_of(once(op, shapes))) {
        SCOPED_TRACE(op + " " + result.plan.shape);
        EXPECT_GT(result.work.operations, 0);
        EXPECT_GT(result.bytes, 0);
        EXPECT_GT(result.reading, 0);
        EXPECT_EQ(result.peak > 0, result.work.arithmetic != Arithmetic::none);
        EXPECT_GT(result.least_seconds(), 0);
        int n_chosen = 0, n_run = 0;
        for (const Row & row : result.rows) {
            SCOPED_TRACE(row.name);
            n_chosen += row.chosen ? 1 : 0;
            EXPECT_EQ(row.samples.seconds.empty(), !row.refusal.empty());
            if (!row.refusal.empty()) continue;
            ++n_run;
            EXPECT_TRUE(row.verified);
            EXPECT_EQ(row.verdict, "");
        }
        EXPECT_EQ(n_chosen, 1);
        EXPECT_GE(n_run, 1);
    }
}

TEST(op_bench_cases, every_implementation_of_every_example_equals_its_reference) {
    for (const OpCase & c : all_cases()) {
        std::vector<std::string> shapes = {c.example};
        // Each choice of each parameter.
        for (const Param & p : c.params) {
            for (const std::string & choice : p.choices)
                shapes.push_back(c.example + "," + p.name + "=" + choice);
        }
        expect_good(c.op, shapes);
    }
}

TEST(op_bench_cases, count_operations_and_bytes) {
    struct Expected {
        const char *op, *shape;
        double operations, bytes;
    };
    const Expected all[] = {
        {"sd.linear_i8", "m=4,k=64,n=16,group=64", 2 * 4 * 64 * 16,
         64 * 16 + 4 * (4 * 64 + 16 + 16 + 4 * 16)},
        {"sd.linear_w4_convrot", "m=4,k=64,n=16,group=64,bias=0", 2 * 4 * 64 * 16,
         64 * 16 / 2 + 4 * 64 + 64 + 4 * 16 + 4 * 4 * 16},
        {"sd.quantize_i8_convrot", "m=4,k=64,group=64", 4 * 64 * (6 + 4), 4 * 64 * 4 + 4 * 64 + 64},
        {"sd.modulate", "m=4,k=8", 3 * 32, 4 * (32 + 8 + 8 + 32)},
        {"sd.modulate", "m=4,k=8,shift=0", 2 * 32, 4 * (32 + 8 + 32)},
        {"sd.rope_apply", "head=8,heads=2,tokens=3", 3 * 48, 4 * (48 + 4 * 4 * 3 + 48)},
        {"mul_mat", "m=4,k=64,n=16,type=q8_0", 2 * 4 * 64 * 16, 34 * 2 * 16 + 4 * (4 * 64 + 4 * 16)},
        {"flash_attn_ext", "head=8,heads=2,queries=3,keys=5", 4 * 8 * 2 * 3 * 5,
         4 * 8 * 3 * 2 + 2 * 2 * 8 * 5 * 2 + 4 * 8 * 3 * 2},
        {"add", "m=4,k=8", 32, 4 * (32 + 8 + 32)},
        {"soft_max", "m=4,k=8", 5 * 32, 4 * (32 + 32)},
    };
    for (const Expected & expected : all) {
        const std::vector<Result> results = results_of(once(expected.op, {expected.shape}));
        ASSERT_EQ(results.size(), 1u) << expected.op;
        EXPECT_EQ(results[0].work.operations, expected.operations) << expected.op;
        EXPECT_EQ(results[0].bytes, expected.bytes) << expected.op;
    }
}

TEST(op_bench_cases, a_kernel_is_timed_alone_or_refuses_with_its_own_words) {
    Settings settings = once("add", {"m=4,k=12", "m=4,k=13"});
    settings.verify = false;
    const std::vector<Result> results = results_of(settings);
    ASSERT_EQ(results.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(results[i].rows.size(), 2u);
        EXPECT_EQ(results[i].rows[0].name, kWrongKernel);
        EXPECT_EQ(results[i].rows[0].chosen, i == 1);
        EXPECT_EQ(results[i].rows[0].refusal, i == 1 ? "" : "only rows of 13");
        EXPECT_EQ(results[i].rows[1].name, kNative);
        EXPECT_EQ(results[i].rows[1].chosen, i == 0);
        EXPECT_FALSE(results[i].rows[1].samples.seconds.empty());
    }
    EXPECT_NE(case_text(results[0]).find("test.wrong_add  not here: only rows of 13"), std::string::npos)
        << case_text(results[0]);
}

TEST(op_bench_cases, verification_finds_a_kernel_that_is_wrong_and_not_the_others) {
    const std::vector<Result> results = results_of(once("add", {"m=4,k=13"}));
    ASSERT_EQ(results.at(0).rows.size(), 2u);
    EXPECT_NE(results[0].rows[0].verdict.find("WRONG: element 0 is 0 and should be"), std::string::npos)
        << results[0].rows[0].verdict;
    EXPECT_EQ(results[0].rows[1].verdict, "");
}

TEST(op_bench_cases, verification_finds_a_native_result_beyond_the_tolerance) {
    OpCase strict = *find_case("mul_mat");
    strict.tolerance = {0, 0, 0};
    Plan plan = make_plans(once("mul_mat", {"m=5,k=256,n=24,type=q8_0"})).list.at(0);
    plan.op = &strict;
    const std::atomic<bool> stop = false;
    const Result result = measure(plan, once("mul_mat", {}), stop);
    ASSERT_EQ(result.rows.size(), 1u);
    EXPECT_EQ(result.rows[0].name, kNative);
    EXPECT_EQ(result.rows[0].verdict.find("WRONG: nmse "), 0u) << result.rows[0].verdict;
}

TEST(op_bench_cases, only_kernels_asked_for_are_run) {
    Settings settings = once("sd.linear_i8", {"m=5,k=512,n=24"});
    settings.kernels = {"sd.linear_i8.cpu.scalar"};
    const std::vector<Result> results = results_of(settings);
    ASSERT_EQ(results.size(), 1u);
    for (const Row & row : results[0].rows)
        EXPECT_EQ(row.samples.seconds.empty(), row.name != settings.kernels[0]) << row.name;
    settings.kernels = {"sd.linear_i8.cpu.fastest"};
    expect_failure([&] { (void)make_plans(settings); },
                   "there is no implementation 'sd.linear_i8.cpu.fastest'; there are sd.linear_i8.cpu.");
    settings = once("add", {"m=4,k=12"});
    settings.kernels = {kWrongKernel};
    expect_failure([&] { (void)make_plans(settings); },
                   "none of these implementations runs these nodes here");
}

TEST(op_bench_cases, what_does_not_fit_is_refused_before_anything_is_computed) {
    const auto plans = [](const char * op, const char * shape) {
        return [=] { (void)make_plans(once(op, {shape})); };
    };
    expect_failure(plans("gelu", ""), "there is no operator 'gelu'");
    expect_failure(plans("sd.linear_i8", "x=1"), "there is no parameter 'x'");
    expect_failure(plans("sd.linear_i8", "m=4,k=96,n=8,group=64"), "sd.linear_i8.v1: ");
    expect_failure(plans("sd.linear_i8", "group=1099511627776"), "'group' is too large");
    expect_failure(plans("sd.linear_w4_convrot", "k=511"), "'k' is even");
    expect_failure(plans("mul_mat", "k=100,type=q4_K"), "no whole blocks of 256");
    expect_failure(plans("mul_mat", "m=1099511627776,k=1,n=1099511627776"), "larger than the memory");
    expect_failure([] { (void)results_of(once("mul_mat", {"m=4194304,k=1048576,n=1048576,type=f32"})); },
                   "GB of memory");
}

TEST(op_bench_cases, nothing_is_timed_once_it_is_stopped_and_what_there_is_can_be_printed) {
    const std::vector<Result> results = results_of(once("add", {"m=5,k=67"}), true);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].reading, 0);
    for (const Row & row : results[0].rows) EXPECT_TRUE(row.samples.seconds.empty());
    EXPECT_NE(case_text(results[0]).find("not timed"), std::string::npos);
}

TEST(op_bench_cases, results_are_columns_for_people_and_json_for_programs) {
    Settings settings = once("add", {"m=4,k=12"});
    const Plans plans = make_plans(settings);
    const std::vector<Result> results = results_of(settings);
    const std::string text = case_text(results[0]);
    for (const char * part : {"ADD  m=4,k=12,second=row", "f32 [12, 4], f32 [12]", "ceilings: reading ",
                              "% of ceiling", "native *", "equals the reference"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    const std::string json = json_text(results, plans, settings);
    for (const char * part :
         {"\"op\": \"ADD\"", "\"count\": 1", "\"bound\": \"reading\"", "\"name\": \"native\"",
          "\"chosen\": true", "\"refusal\": \"only rows of 13\"", "\"operations\": 48.0"})
        EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

} // namespace
} // namespace op_bench
