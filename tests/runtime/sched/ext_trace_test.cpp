// What a trace holds of planning, allocating and running a graph.
#include "tests/runtime/sched/ext_fixture.h"

#include "ggml-ext-tools.h"
#include "tests/support/json_value.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace ggml::test {
namespace {

struct ext_trace : testing::Test {
    ~ext_trace() override {
        ggml_ext_trace_end(); // a failed test may have left one
        std::remove(file.c_str());
    }
    std::vector<JsonValue> events() const {
        std::ifstream in(file);
        std::stringstream text;
        text << in.rdbuf();
        return JsonReader::read(text.str())["traceEvents"].items;
    }
    const std::string file =
        testing::TempDir() + "ext_trace_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

int count(const std::vector<JsonValue> & events, const char * category, const char * name) {
    return int(std::count_if(events.begin(), events.end(), [&](const JsonValue & e) {
        return e.has("cat") && e["cat"].string == category && e["name"].string == name;
    }));
}

TEST_F(ext_trace, shows_planning_allocation_steps_copies_and_replays_by_name) {
    TestDeviceOptions options = device_without("DEV", GGML_OP_SQR);
    options.replay = true;
    ExtMachine m(options);
    KernelKit rule = mul_add("t.mul_add", calls), kernel = counted("t.sub", GGML_OP_SUB, calls);
    rule.flags = kernel.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
    add_kernel(m.device(), rule);
    add_kernel(m.device(), kernel);
    ggml_context * c = m.ctx.get();
    ggml_tensor * sum = ggml_set_name(ggml_add(c, ggml_mul(c, m.weight(1), m.weight(2)), m.weight(3)), "sum");
    ggml_tensor * x = ggml_neg(c, ggml_sub(c, sum, m.weight(4)));
    ggml_cgraph * g = m.graph({ggml_sqr(c, ggml_set_name(x, "\"x\\"))});
    ASSERT_EQ(ggml_ext_trace_begin(file.c_str()), GGML_EXT_SUCCESS);
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_ext_trace_end(), GGML_EXT_SUCCESS);
    const std::vector<JsonValue> list = events();
    EXPECT_EQ(count(list, "plan", "plan graph"), 1);
    EXPECT_EQ(count(list, "plan", "assign"), 1);
    EXPECT_EQ(count(list, "plan", "select"), 2) << "one for each split";
    EXPECT_EQ(count(list, "plan", "prepare"), 1);
    EXPECT_EQ(count(list, "alloc", "place"), 1);
    EXPECT_EQ(count(list, "alloc", "reserve"), 1);
    EXPECT_EQ(count(list, "run", "execute graph"), 3);
    EXPECT_EQ(count(list, "copy", "\"x\\"), 3);
    EXPECT_EQ(count(list, "replay", "warm up"), 1);
    EXPECT_EQ(count(list, "replay", "capture"), 1);
    EXPECT_EQ(count(list, "replay", "replay"), 2) << "what has just been recorded is launched too";
    EXPECT_EQ(count(list, "step", "t.mul_add"), 2) << "not in a replay";
    EXPECT_EQ(count(list, "step", "t.sub"), 2);
    EXPECT_EQ(count(list, "step", "native"), 2 + 3) << "NEG beside the kernels, and the CPU's split";
    const auto step = std::find_if(list.begin(), list.end(),
                                   [](const JsonValue & e) { return e["name"].string == "t.mul_add"; });
    EXPECT_EQ((*step)["args"]["backend"].string, "DEV");
    EXPECT_EQ((*step)["args"]["detail"].string, "sum");
    EXPECT_EQ((*step)["args"]["nodes"].value(), 2);
}

TEST_F(ext_trace, shows_direct_computation) {
    ExtMachine m;
    ggml_tensor * x = ggml_neg(m.ctx.get(), m.weight(1));
    ggml_cgraph * g = m.graph({x});
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(m.ctx.get(), m.backend()));
    ASSERT_EQ(ggml_ext_trace_begin(file.c_str()), GGML_EXT_SUCCESS);
    ASSERT_EQ(ggml_backend_graph_compute(m.backend(), g), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_ext_trace_end(), GGML_EXT_SUCCESS);
    EXPECT_EQ(count(events(), "direct", "direct computation"), 1);
}

TEST_F(ext_trace, has_its_name_when_it_ends_and_takes_nobodys) {
    const std::string partial = file + ".part";
    const auto exists = [](const std::string & name) { return std::ifstream(name).good(); };
    const int nameless = ::open(testing::TempDir().c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (nameless >= 0) ::close(nameless);
    ASSERT_EQ(ggml_ext_trace_begin(file.c_str()), GGML_EXT_SUCCESS);
    EXPECT_FALSE(exists(file));
    EXPECT_EQ(exists(partial), nameless < 0) << "where the file system has no files without a name";
    if (nameless >= 0) std::ofstream(partial) << "of somebody";
    ASSERT_EQ(ggml_ext_trace_end(), GGML_EXT_SUCCESS);
    EXPECT_TRUE(exists(file));
    EXPECT_EQ(exists(partial), nameless >= 0);
    if (nameless < 0) return;
    EXPECT_FALSE(exists(partial + "_"));
    std::string text;
    std::getline(std::ifstream(partial), text);
    EXPECT_EQ(text, "of somebody");
    std::remove(partial.c_str());
}

TEST_F(ext_trace, answers_with_a_status_and_a_reason) {
    EXPECT_EQ(ggml_ext_trace_end(), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TRACE_NOT_RUNNING);
    EXPECT_EQ(ggml_ext_trace_begin(nullptr), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    EXPECT_EQ(ggml_ext_trace_begin((file + "/no/such/folder").c_str()), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TRACE_FILE);
    ASSERT_EQ(ggml_ext_trace_begin(file.c_str()), GGML_EXT_SUCCESS);
    EXPECT_EQ(ggml_ext_trace_begin(file.c_str()), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TRACE_RUNNING);
    EXPECT_EQ(ggml_ext_trace_end(), GGML_EXT_SUCCESS);
}

} // namespace
} // namespace ggml::test
