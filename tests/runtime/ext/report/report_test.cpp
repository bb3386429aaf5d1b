#include "runtime/ext/report/report.h"

#include "tests/support/json_value.h"

#include <gtest/gtest.h>
#include <sstream>

namespace ggml::ext {
namespace {

using namespace ggml::test;

Report small_report() {
    Report report;
    report.n_nodes = 2;
    report.n_leafs = 3;
    ReportSplit split;
    split.backend = "DEV";
    split.device = "a device";
    split.n_nodes = 2;
    split.nodes.push_back(
        {0, "long name of the first", "MUL", "f32 [1, 1, 1, 1]", StepKind::kernel, "t.mul", {}, {}});
    split.nodes.push_back({1, "x", "VIEW", "f32 [1, 1, 1, 1]", StepKind::native, "", {}, {}});
    split.nodes[0].rejected.push_back(
        {"t.other", "", GGML_EXT_REASON_OUTRANKED, "t.mul is considered earlier"});
    split.nodes[0].inputs = {{"f32", {1, 1, 1, 1}, {4, 4, 4, 4}}, {}};
    split.nodes[0].attrs = "00ff";
    split.nodes[0].elsewhere.push_back({"", "GPU", GGML_EXT_REASON_NO_NATIVE, "no"});
    report.splits.push_back(split);
    report.rules.push_back(
        {"DEV", "t.rule", 0, 1, 0, "x", {"t.rule", "", GGML_EXT_REASON_CALLBACK, "K is odd"}});
    report.memory.push_back({"DEV", 100, 20, 400});
    report.memory.push_back({"CPU", 50, 0, 50});
    return report;
}

TEST(ext_report, json_follows_the_documented_schema) {
    Report report = small_report();
    report.executions = 2;
    report.replays.push_back({0, "DEV", {"", "", GGML_EXT_REASON_REPLAY_COLD, "first"}});
    report.replays.push_back({1, "CPU", {}});
    report.notices.push_back("slow");
    const JsonValue json = JsonReader::read(to_json(report));
    EXPECT_EQ(json["version"].value(), 1);
    EXPECT_EQ(json["graph"]["leafs"].value(), 3);
    const JsonValue & split = json["splits"][0];
    EXPECT_EQ(split["device"].string, "a device");
    EXPECT_EQ(split["nodes_count"].value(), 2);
    EXPECT_FALSE(split.has("workspace_step"));
    EXPECT_FALSE(split.has("failure"));
    EXPECT_EQ(split["nodes"][0]["rejected"][0]["reason"].string, "selection.outranked");
    EXPECT_FALSE(split["nodes"][0]["rejected"][0].has("backend"));
    EXPECT_EQ(split["nodes"][0]["elsewhere"][0]["backend"].string, "GPU");
    EXPECT_FALSE(split["nodes"][1].has("by"));
    const JsonValue & inputs = split["nodes"][0]["inputs"];
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_EQ(inputs[0]["type"].string, "f32");
    EXPECT_EQ(inputs[0]["ne"].size(), 4u);
    EXPECT_EQ(inputs[0]["nb"][3].value(), 4);
    EXPECT_EQ(inputs[1].kind, JsonValue::null);
    EXPECT_EQ(split["nodes"][0]["attrs"].string, "00ff");
    EXPECT_EQ(json["rules"][0]["miss"]["message"].string, "K is odd");
    EXPECT_EQ(json["fusion"]["peak_bytes_saved"].value(), 300);
    EXPECT_EQ(json["replay"]["executions"].value(), 2);
    EXPECT_FALSE(json["replay"]["splits"][0]["replayed"].truth);
    EXPECT_TRUE(json["replay"]["splits"][1]["replayed"].truth);
    EXPECT_FALSE(json["replay"]["splits"][1].has("miss"));
    EXPECT_EQ(json["notices"][0].string, "slow");
}

TEST(ext_report, names_of_any_bytes_and_absurd_sizes_stay_readable) {
    Report report = small_report();
    report.splits[0].nodes[0].name = "\"quoted\\ \n\xff";
    report.memory[0].tensor_bytes = SIZE_MAX;
    report.memory[0].tensor_bytes_unfused = SIZE_MAX;
    const JsonValue json = JsonReader::read(to_json(report));
    EXPECT_EQ(json["splits"][0]["nodes"][0]["name"].string, "\"quoted\\ \n\xef\xbf\xbd");
    EXPECT_EQ(json["memory"][0]["tensor_bytes"].string, std::to_string(SIZE_MAX));
    EXPECT_NE(to_text(report).find(std::to_string(SIZE_MAX)), std::string::npos);
}

TEST(ext_report, text_aligns_columns) {
    const std::string text = to_text(small_report());
    EXPECT_NE(text.find("       0  MUL   long name of the first  kernel  t.mul\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("       1  VIEW  x                       native\n"), std::string::npos) << text;
    EXPECT_NE(text.find("            not t.other: selection.outranked: t.mul is considered earlier\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("            not on GPU: selection.no_native: no\n"), std::string::npos) << text;
    EXPECT_NE(text.find("    DEV                  100               20              400\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("execution"), std::string::npos) << "there was none";
}

TEST(ext_report, text_breaks_between_words_and_never_inside) {
    Report report = small_report();
    const std::string endless(150, 'y');
    std::string words;
    for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + " ";
    report.notices.push_back(words + endless);
    const std::string text = to_text(report);
    std::istringstream lines(text);
    int n_long = 0;
    for (std::string line; std::getline(lines, line);) n_long += line.size() > 100;
    EXPECT_EQ(n_long, 1) << "only the word that is longer than a line";
    EXPECT_NE(text.find(endless), std::string::npos);
    for (int i = 0; i < 60; ++i) EXPECT_NE(text.find("word" + std::to_string(i)), std::string::npos);
}

} // namespace
} // namespace ggml::ext
