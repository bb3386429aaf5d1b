// A test device with two kernels, and plans of a small graph whose tensors lie where the test says:
//
//   out = -(a * a + b)      SQR: kernel `square`, with a workspace where asked; ADD: native; NEG: kernel
//   `negate`
#pragma once

#include "ggml-cpp.h"
#include "runtime/ext/replay/replay.h"
#include "tests/support/test_device.h"

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace ggml::ext::test {

using namespace ggml::test;

struct TestKernel {
    uint32_t flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
    size_t workspace_bytes = 0;
    float sign = 1;                                        // of its result
    std::function<ggml_status(ggml_backend_t)> in_execute; // what else it does there
    int executions = 0;
    int prepared = 0; // and not destroyed
};

inline constexpr uint32_t kReusable = GGML_EXT_KERNEL_CAPTURE_SAFE | GGML_EXT_KERNEL_REPLAY_REUSABLE;

// Options of a device that records.
TestDeviceOptions recording_device();

// The device with what is registered for it and one backend. Ends clean: no recording is left, none was freed
// while it ran, nothing stays prepared.
class Lab {
  public:
    explicit Lab(uint32_t flags = GGML_EXT_KERNEL_CAPTURE_SAFE,
                 TestDeviceOptions options = recording_device());
    ~Lab();
    Lab(const Lab &) = delete;
    Lab & operator=(const Lab &) = delete;

    ReplayCounters counters() const { return replay_counters(backend.get()); }

    TestDevice device;
    TestKernel square, negate;
    Policy policy = Policy::of_environment(); // of plans made from now on
    ggml_backend_ptr backend;
    ggml_backend_buffer_ptr buffer; // where graphs lie unless they have their own
};

struct GraphSpec {
    int64_t n = 16;                         // elements
    size_t place = 0;                       // of the first tensor in the buffer
    ggml_backend_buffer_t buffer = nullptr; // null: the lab's
    bool swapped = false;                   // b + a * a instead of a * a + b
    float scale = 1;                        // not 1: -(a * a + b) * scale
};

// Metadata in memory of its own, which is overwritten at the end so that whoever looks there sees nonsense.
class Graph {
  public:
    Graph(Lab & lab, const GraphSpec & spec = {});
    ~Graph();

    void write(float a, float b); // all elements
    void move(size_t place);      // to another place of the buffer
    std::vector<float> read_out() const;

    ggml_tensor *a, *b, *squared, *sum, *out;
    ggml_cgraph * graph;
    const float scale;

  private:
    void place_tensors(size_t place);
    std::vector<char> arena_;
    ggml_context_ptr context_;
    ggml_backend_buffer_t buffer_;
};

// A plan with its replay state.
class Planned {
  public:
    // workspace: null for one of its own where one is needed.
    Planned(Lab & lab, Graph & graph, std::shared_ptr<Workspace> workspace = nullptr);

    // Executes with these inputs; waits. The reason for which it was no replay.
    ggml_ext_reason run(float a, float b);
    ggml_status execute(Verdict * why = nullptr); // does not wait
    void run_until_captured();                    // and once more, which replays

    Lab & lab;
    Graph & graph;
    Plan plan;
    std::shared_ptr<Workspace> workspace;
    bool enabled = true;
    Replay replay;
};

// What every element of out is. For EXPECT_EQ with Graph::read_out.
std::vector<float> expected(const Graph & graph, float a, float b);

} // namespace ggml::ext::test
