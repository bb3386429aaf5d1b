#include "tools/op-bench/explain_file.h"

#include "ggml-cpp.h"
#include "ggml-ext-tools.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"
#include "tests/tools/op-bench/fails.h"
#include "tools/op-bench/probe.h"
#include "tools/op-bench/report.h"
#include "tools/op-bench/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

namespace op_bench {
namespace {

// A graph as a model has it: two equal layers, attention over permuted operands, an operator op-bench does
// not know, one that nobody computes.
class ModelGraph {
  public:
    ModelGraph() {
        ggml_context * c = ctx_.get();
        ggml_tensor * x = ggml_new_tensor_2d(c, GGML_TYPE_F32, 64, 6);
        ggml_tensor * y = x;
        for (int i = 0; i < 2; ++i) {
            ggml_tensor * norm = ggml_rms_norm(c, y, 1e-5f);
            ggml_tensor * weight = ggml_new_tensor_2d(c, GGML_TYPE_I8, 64, 64);
            ggml_tensor * scale = ggml_new_tensor_1d(c, GGML_TYPE_F32, 64);
            y = ggml_add(c, y, ggml_mul_mat_i8_tensorwise(c, weight, norm, scale, nullptr, 64, nullptr));
        }
        ggml_tensor * heads = ggml_permute(c, ggml_reshape_3d(c, y, 16, 4, 6), 0, 2, 1, 3);
        ggml_tensor * kv = ggml_new_tensor_3d(c, GGML_TYPE_F16, 16, 8, 4);
        y = ggml_gelu(c, ggml_flash_attn_ext(c, heads, kv, kv, nullptr, 0.25f, 0, 0));
        graph_ = ggml_new_graph(c);
        ggml_build_forward_expand(graph_, y);
    }

    std::string explain() const {
        ggml_backend_t cpu = cpu_.get();
        const ggml_backend_sched_ptr sched(ggml_backend_sched_new(&cpu, nullptr, 1, 64, false, false));
        char * text = ggml_ext_explain(sched.get(), graph_, GGML_EXT_FORMAT_JSON);
        EXPECT_NE(text, nullptr) << ggml_ext_last_message();
        const std::string copy = text != nullptr ? text : "";
        ggml_ext_text_free(text);
        return copy;
    }

    // What its nodes say of themselves, once each.
    std::vector<NodeSpec> specs() const {
        std::vector<NodeSpec> list;
        for (int i = 0; i < ggml_graph_n_nodes(graph_); ++i) {
            NodeSpec spec = NodeSpec::of(ggml_graph_node(graph_, i));
            const bool known = std::find(list.begin(), list.end(), spec) != list.end();
            if (!is_free(spec.op) && !known) list.push_back(std::move(spec));
        }
        return list;
    }

  private:
    ggml_backend_ptr cpu_ = open_cpu(1);
    ggml_context_ptr ctx_{ggml_init({1 << 20, nullptr, true})};
    ggml_cgraph * graph_;
};

// A file that is gone afterwards.
class File {
  public:
    explicit File(const std::string & text)
        : path_(std::filesystem::temp_directory_path() /
                ("op_bench_test." + std::to_string(getpid()) + ".json")) {
        std::ofstream(path_, std::ios::binary) << text;
    }
    ~File() { std::filesystem::remove(path_); }
    File(const File &) = delete;
    File & operator=(const File &) = delete;
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

std::string replaced(std::string text, const std::string & from, const std::string & to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(op_bench_explain_file, gives_back_the_nodes_of_the_graph_it_was_made_of) {
    const ModelGraph model;
    std::vector<NodeSpec> found;
    std::map<std::string, int> counts;
    for (const RepeatedNode & node : distinct_nodes(parse_explain(model.explain()))) {
        if (is_free(node.spec.op)) continue;
        found.push_back(node.spec);
        counts[node.spec.op] += node.count;
    }
    const std::vector<NodeSpec> expected = model.specs();
    ASSERT_EQ(found.size(), expected.size());
    for (const NodeSpec & spec : expected)
        EXPECT_NE(std::find(found.begin(), found.end(), spec), found.end()) << spec.op << inputs_text(spec);
    const std::map<std::string, int> wanted = {
        {"ADD", 2}, {"FLASH_ATTN_EXT", 1}, {"GELU", 1}, {"RMS_NORM", 2}, {"sd.linear_i8.v1", 2}};
    EXPECT_EQ(counts, wanted);
}

TEST(op_bench_explain_file, is_measured_node_by_node_and_names_what_is_left_out) {
    const ModelGraph model;
    const File file(model.explain());
    Settings settings;
    settings.explain_file = file.path();
    settings.budget = 0;
    const Plans plans = make_plans(settings);
    ASSERT_EQ(plans.list.size(), 4u);
    ASSERT_EQ(plans.left_out.size(), 1u);
    EXPECT_EQ(plans.left_out[0].op, "GELU");
    EXPECT_EQ(plans.left_out[0].count, 1);
    std::vector<Result> results;
    const std::atomic<bool> stop = false;
    for (const Plan & plan : plans.list) {
        EXPECT_EQ(plan.failure, "");
        results.push_back(measure(plan, settings, stop));
    }
    const StepTime step = step_time(results);
    EXPECT_EQ(step.nodes, 7);
    EXPECT_GT(step.seconds, 0);
    double chosen = 0;
    for (const Result & result : results) {
        for (const Row & row : result.rows)
            chosen += row.chosen ? row.samples.median() * result.plan.count : 0;
    }
    EXPECT_DOUBLE_EQ(step.seconds, chosen);
    EXPECT_NE(document_text(results, plans.left_out).find("Not in it: 1 GELU: unknown to op-bench"),
              std::string::npos);
}

TEST(op_bench_explain_file, with_one_operator_asked_for_leaves_out_the_others) {
    const ModelGraph model;
    const File file(model.explain());
    Settings settings;
    settings.explain_file = file.path();
    settings.ops = {"rms_norm"};
    const Plans plans = make_plans(settings);
    ASSERT_EQ(plans.list.size(), 1u);
    EXPECT_EQ(plans.list[0].spec.op, "RMS_NORM");
    EXPECT_EQ(plans.list[0].count, 2);
    EXPECT_EQ(plans.left_out.size(), 4u);
}

TEST(op_bench_explain_file, of_nodes_that_fit_nothing_says_so_for_each_and_measures_the_others) {
    const ModelGraph model;
    // Attributes one byte short, keys of another length than queries.
    std::string text = replaced(model.explain(), "\"attrs\":\"40", "\"attrs\":\"");
    text = replaced(text, "\"type\":\"f16\",\"ne\":[16", "\"type\":\"f16\",\"ne\":[15");
    const File file(text);
    Settings settings;
    settings.explain_file = file.path();
    int failures = 0;
    for (const Plan & plan : make_plans(settings).list) failures += plan.failure.empty() ? 0 : 1;
    EXPECT_EQ(failures, 2);
}

TEST(op_bench_explain_file, that_is_none_is_refused_with_what_is_wrong) {
    const std::string good = ModelGraph().explain();
    const auto parse = [](const std::string & text) { return [text] { (void)parse_explain(text); }; };
    expect_failure(parse(""), "it is not JSON");
    expect_failure(parse(good.substr(0, good.size() / 2)), "it is not JSON");
    expect_failure(parse("[]"), "the document: no 'version'");
    expect_failure(parse("{\"version\":2}"), "its version is 2");
    expect_failure(parse("{\"version\":1}"), "the document: no 'splits'");
    expect_failure(parse(std::string(100000, '[')), "it is not JSON");
    expect_failure(parse(replaced(good, "\"inputs\"", "\"results\"")), "node 0: no 'inputs'");
    expect_failure(parse(replaced(good, "\"op\":\"RMS_NORM\"", "\"op\":7")), "'op' is of another kind");
    expect_failure(parse(replaced(good, "\"ne\":[64,", "\"ne\":[-64,")), "a number that is no size");
    expect_failure(parse(replaced(good, "\"ne\":[64,", "\"ne\":[18446744073709551615,")), "no size");
    expect_failure(parse(replaced(good, "\"ne\":[64,", "\"ne\":[64,1,1,1,")), "'ne' has not 4 numbers");
    expect_failure(parse(replaced(good, "\"type\":\"f32\"", "\"type\":\"f33\"")), "there is no type 'f33'");
    expect_failure(parse(replaced(good, "\"attrs\":\"", "\"attrs\":\"0")), "no hexadecimal bytes");
    expect_failure(parse(replaced(good, "\"attrs\":\"", "\"attrs\":\"" + std::string(200, '0'))),
                   "no hexadecimal bytes");
    expect_failure([] { (void)read_explain("no/such/file.json"); }, "no/such/file.json: cannot be opened");
    expect_failure([] { (void)read_explain("/"); }, "/: cannot be read");
}

} // namespace
} // namespace op_bench
