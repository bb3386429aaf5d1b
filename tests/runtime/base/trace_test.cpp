#include "runtime/base/trace.h"

#include "tests/support/json_value.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <thread>

namespace ggml::test {
namespace {

struct trace : testing::Test {
    trace()
        : folder(testing::TempDir() + "trace_test_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name()) {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
    }
    ~trace() override {
        (void)end_trace(); // a failed test may have left one
        std::filesystem::remove_all(folder);
    }
    std::string file(const char * name = "t.json") const { return (folder / name).string(); }

    // Without the line that names the process.
    static std::vector<JsonValue> events(const std::string & path) {
        std::ifstream in(path);
        std::stringstream text;
        text << in.rdbuf();
        std::vector<JsonValue> items = JsonReader::read(text.str())["traceEvents"].items;
        EXPECT_EQ(items.at(0)["ph"].string, "M");
        items.erase(items.begin());
        return items;
    }

    const std::filesystem::path folder;
};

TEST_F(trace, holds_complete_events_with_names_arguments_and_nested_times) {
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    {
        const TraceScope outer("plan", "outer \"quoted\"");
        const TraceScope inner("step", []() -> TraceWords { return {"inner", "DEV", "x\n", 3}; });
    }
    ASSERT_TRUE(end_trace().ok());
    const auto list = events(file());
    ASSERT_EQ(list.size(), 2u);
    const JsonValue &inner = list[0], &outer = list[1];
    EXPECT_EQ(inner["name"].string, "inner");
    EXPECT_EQ(inner["cat"].string, "step");
    EXPECT_EQ(inner["ph"].string, "X");
    EXPECT_EQ(inner["args"]["backend"].string, "DEV");
    EXPECT_EQ(inner["args"]["detail"].string, "x\n");
    EXPECT_EQ(inner["args"]["nodes"].value(), 3);
    EXPECT_EQ(outer["name"].string, "outer \"quoted\"");
    EXPECT_TRUE(outer["args"].fields.empty());
    EXPECT_EQ(inner["tid"].string, outer["tid"].string);
    EXPECT_EQ(inner["pid"].string, outer["pid"].string);
    EXPECT_LE(outer["ts"].value(), inner["ts"].value());
    EXPECT_GE(outer["ts"].value() + outer["dur"].value() + 0.0015,
              inner["ts"].value() + inner["dur"].value());
}

TEST_F(trace, words_are_not_asked_for_while_none_runs) {
    int asked = 0;
    const auto scope = [&] {
        const TraceScope s("plan", [&]() -> TraceWords { return ++asked, TraceWords{"x"}; });
    };
    scope();
    EXPECT_EQ(asked, 0);
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    scope();
    EXPECT_EQ(asked, 1);
    ASSERT_TRUE(end_trace().ok());
    scope();
    EXPECT_EQ(asked, 1);
}

TEST_F(trace, the_file_appears_under_its_name_when_the_trace_ends_and_replaces_an_older_one) {
    std::ofstream(file()) << "old";
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    std::string old;
    std::ifstream(file()) >> old;
    EXPECT_EQ(old, "old");
    ASSERT_TRUE(end_trace().ok());
    EXPECT_TRUE(events(file()).empty());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing else is left";
}

TEST_F(trace, refuses_a_second_one_an_end_without_begin_and_files_that_cannot_be) {
    EXPECT_STREQ(end_trace().reason_id, "trace.not_running");
    EXPECT_STREQ(begin_trace(file("no/such/folder/t.json").c_str()).reason_id, "trace.file");
    EXPECT_STREQ(begin_trace(folder.string().c_str()).reason_id, "trace.file");
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    EXPECT_STREQ(begin_trace(file("other.json").c_str()).reason_id, "trace.running");
    EXPECT_TRUE(end_trace().ok());
    EXPECT_FALSE(std::filesystem::exists(file("other.json")));
}

TEST_F(trace, a_file_that_cannot_take_its_name_is_an_error_and_leaves_nothing_behind) {
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    std::filesystem::create_directories(file() + "/full");
    EXPECT_STREQ(end_trace().reason_id, "trace.file");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "the folder in the way";
}

TEST_F(trace, refuses_a_file_without_a_name_at_once) {
    EXPECT_STREQ(begin_trace("").reason_id, "trace.file");
    EXPECT_STREQ(end_trace().reason_id, "trace.not_running");
}

TEST_F(trace, writes_through_a_link_and_leaves_it) {
    std::filesystem::create_symlink(folder / "target.json", folder / "link.json");
    ASSERT_TRUE(begin_trace(file("link.json").c_str()).ok());
    ASSERT_TRUE(end_trace().ok());
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
    EXPECT_TRUE(events(file("target.json")).empty());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2) << "link and target";
}

TEST_F(trace, a_device_is_never_replaced_by_a_file) {
    const std::filesystem::path null = "/dev/null", full = "/dev/full";
    for (const auto & [device, reason] : {std::pair(null, ""), std::pair(full, "trace.file")}) {
        if (!std::filesystem::is_character_file(device)) continue; // not every system has them
        const std::filesystem::path link = folder / device.filename();
        std::filesystem::create_symlink(device, link);
        ASSERT_TRUE(begin_trace(link.string().c_str()).ok());
        const Status ended = end_trace();
        EXPECT_STREQ(ended.ok() ? "" : ended.reason_id, reason);
        EXPECT_TRUE(std::filesystem::is_symlink(link));
        EXPECT_TRUE(std::filesystem::is_character_file(link));
        std::filesystem::remove(link);
        EXPECT_TRUE(std::filesystem::is_empty(folder)) << "nothing else is left";
    }
}

TEST_F(trace, a_scope_that_outlives_its_trace_is_in_no_other) {
    ASSERT_TRUE(begin_trace(file().c_str()).ok());
    {
        const TraceScope late("plan", "late");
        ASSERT_TRUE(end_trace().ok());
        ASSERT_TRUE(begin_trace(file("second.json").c_str()).ok());
    }
    ASSERT_TRUE(end_trace().ok());
    EXPECT_TRUE(events(file()).empty());
    EXPECT_TRUE(events(file("second.json")).empty());
}

TEST_F(trace, takes_events_of_many_threads_in_pieces_of_bounded_size) {
    constexpr int kThreads = 4, kEvents = 2000;
    // What a link leads to has its name from the beginning.
    std::filesystem::create_symlink(file(), folder / "link.json");
    ASSERT_TRUE(begin_trace(file("link.json").c_str()).ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < kEvents; ++i) const TraceScope scope("step", "some longer name of a step");
        });
    }
    for (std::thread & t : threads) t.join();
    // What has been written by now is not kept in memory any more.
    EXPECT_GT(std::filesystem::file_size(file()), size_t(kThreads) * kEvents * 60);
    ASSERT_TRUE(end_trace().ok());
    std::set<std::string> numbers;
    const auto list = events(file());
    for (const JsonValue & event : list) numbers.insert(event["tid"].string);
    EXPECT_EQ(list.size(), size_t(kThreads) * kEvents);
    EXPECT_EQ(numbers.size(), size_t(kThreads));
}

} // namespace
} // namespace ggml::test
