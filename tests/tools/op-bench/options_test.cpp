#include "tools/op-bench/options.h"

#include "tests/tools/op-bench/fails.h"

#include <gtest/gtest.h>

namespace op_bench {
namespace {

Settings parse(const std::vector<std::string> & args) {
    std::string help;
    const auto settings = parse_options(args, help);
    EXPECT_TRUE(settings.has_value());
    return settings.value_or(Settings{});
}

TEST(op_bench_options, are_read_in_any_order_and_repeated) {
    const Settings s =
        parse({"--verify", "--shape", "m=1", "--op", "sd.linear_i8", "--shape", "m=2,k=64", "--kernel",
               "native", "--threads", "3", "--time", "0.25", "--json", "out.json"});
    EXPECT_EQ(s.ops, std::vector<std::string>{"sd.linear_i8"});
    EXPECT_EQ(s.shapes, (std::vector<std::string>{"m=1", "m=2,k=64"}));
    EXPECT_EQ(s.kernels, std::vector<std::string>{"native"});
    EXPECT_EQ(s.n_threads, 3);
    EXPECT_EQ(s.budget, 0.25);
    EXPECT_EQ(s.json_file, "out.json");
    EXPECT_TRUE(s.verify);
    EXPECT_FALSE(s.list);
}

TEST(op_bench_options, are_all_optional_and_all_kernels_is_the_same_as_no_kernel) {
    const Settings s = parse({"--kernel", "all"});
    EXPECT_TRUE(s.ops.empty() && s.shapes.empty() && s.kernels.empty() && s.explain_file.empty());
    EXPECT_GE(s.n_threads, 1);
}

TEST(op_bench_options, help_is_text_and_no_settings) {
    std::string help;
    EXPECT_FALSE(parse_options({"--help"}, help).has_value());
    for (const char * option :
         {"--op", "--shape", "--kernel", "--threads", "--time", "--from", "--list", "--json", "--verify"})
        EXPECT_NE(help.find(option), std::string::npos) << option;
}

TEST(op_bench_options, that_are_wrong_are_refused_in_one_line) {
    const auto refused = [](std::vector<std::string> args) { return [args] { (void)parse(args); }; };
    expect_failure(refused({"--fast"}), "--fast");
    expect_failure(refused({"word"}), "word");
    expect_failure(refused({"--op"}), "--op");
    expect_failure(refused({"--threads", "two"}), "two");
    expect_failure(refused({"--threads", "0"}), "from 1 to 1024");
    expect_failure(refused({"--threads", "5000"}), "from 1 to 1024");
    for (const char * time : {"-1", "nan", "inf", "1e9"})
        expect_failure(refused({"--time", time}), "--time is a number of seconds");
    expect_failure(refused({"--shape", "m=1"}), "--shape needs one --op");
    expect_failure(refused({"--op", "add", "--op", "mul", "--shape", "m=1"}), "--shape needs one --op");
    expect_failure(refused({"--op", "add", "--shape", "m=1", "--from", "x.json"}), "exclude each other");
}

} // namespace
} // namespace op_bench
