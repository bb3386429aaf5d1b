// What a test device's backend queues its work on: its stream or, while one is under way, a recording that is
// launched later, as a captured device graph would be. A recording breaks when the host waits inside of it.
#pragma once

#include "runtime/backend/interface.h"
#include "tests/support/test_device.h"
#include "tests/support/test_stream.h"

#include <functional>
#include <memory>
#include <vector>

namespace ggml::test {

struct TestRecording {
    explicit TestRecording(TestDevice & d) : device(d) { ++device.counters.recordings; }
    ~TestRecording() { --device.counters.recordings; }
    TestRecording(const TestRecording &) = delete;
    TestRecording & operator=(const TestRecording &) = delete;

    TestDevice & device;
    std::vector<std::function<void()>> work;
    std::atomic<int> unfinished_launches = 0;
    bool broken = false;
};

class TestQueue {
  public:
    explicit TestQueue(TestDevice & d)
        : device(d), stream(d.options.async, [&d] { d.wait_until_released(); }) {}

    void enqueue(std::function<void()> work);
    void launch(std::shared_ptr<TestRecording> recording);
    void synchronize();
    bool is_recording() const { return recording != nullptr; }

    TestDevice & device;
    uint64_t stream_number = 0;
    std::shared_ptr<TestRecording> recording; // under way
    bool enclosing = false;                   // it is the caller's
    Stream stream;                            // last: its worker ends before what the work refers to
};

// Of a backend of a test device.
TestQueue & queue_of(ggml_backend_t backend);

extern const ggml_backend_replay_i kTestReplay;

} // namespace ggml::test
