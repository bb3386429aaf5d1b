// A device for tests whose memory the host must not touch: tensor->data is an address no process can access,
// so a runtime that dereferences it crashes. It computes with the CPU's kernels on a worker thread
// per stream and can hold its streams still, which makes orders between streams testable without any timing.
// With `replay` it records and launches work as devices with captured graphs do.
#pragma once

#include "ggml-backend.h"

#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace ggml::test {

enum class ReplayCall { begin, end, launch };

struct TestDeviceOptions {
    std::string name = "TEST";
    size_t memory = size_t(1) << 30; // bytes; what does not fit is refused
    size_t max_buffer = SIZE_MAX;    // largest single buffer
    size_t alignment = 256;          // of tensors; allocation sizes are rounded up to it too
    bool async = true;               // false: streams run everything before returning
    bool events = true;
    bool staging = false;      // claims that host memory of the CPU's type is copied from faster
    bool host_visible = false; // memory the host, and thus the CPU backend, may use as it is
    bool reference = true;     // the CPU's reference kernels; false: its fast ones
    bool fill_memory = true;   // new buffers are not zero; false: untouched, so that large ones cost nothing

    bool replay = false;                          // offers recording and launching
    bool stable_addresses = true;                 // what the device says of its own scratch memory
    int most_recordings = INT_MAX;                // alive at once; ending one more fails
    std::function<bool(ReplayCall)> replay_fails; // asked at each call; empty: never

    std::function<bool(const ggml_tensor *)> supports; // empty: whatever the CPU runs
    std::function<bool(const ggml_tensor *)> offload;  // empty: nothing
    std::function<void(ggml_cgraph *)> graph_optimize; // empty: not offered
    // Empty: not offered. Nodes answered true are computed without storage of their own.
    std::function<bool(const ggml_cgraph *, const ggml_tensor *)> skip_alloc;
};

class TestDevice {
  public:
    explicit TestDevice(TestDeviceOptions options = {});
    ~TestDevice();
    TestDevice(const TestDevice &) = delete;
    TestDevice & operator=(const TestDevice &) = delete;

    ggml_backend_dev_t device();
    ggml_backend_buffer_type_t buffer_type();
    ggml_backend_t new_backend(); // ends with ggml_backend_free, before the device does

    // Streams stop before their next piece of work until released.
    void hold();
    void release();

    struct Counters {
        std::atomic<int> graphs = 0, nodes = 0; // computed
        std::atomic<int> async_copies = 0;      // stream to stream
        std::atomic<int> waits = 0;             // of the host, for a stream or an event
        std::atomic<int> failures = 0;          // graphs that read foreign memory or did not compute, and
                                                // recordings freed while they ran
        std::atomic<int> recordings = 0;        // alive
        std::atomic<int> launches = 0;          // of recordings
        std::atomic<size_t> bytes_in_use = 0, most_bytes = 0; // the most at any time
    };
    Counters counters;

    std::atomic<bool> replay_enabled = true; // the family's own switch

    // For the implementation.
    const TestDeviceOptions options;
    void wait_until_released();

  private:
    struct Handles;
    Handles * handles_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
};

// The memory behind a tensor, or a buffer, of any test device; to be used only when the streams are idle, or
// by their work.
void * real_address(const ggml_tensor * tensor);
void * real_address(ggml_backend_buffer_t buffer);

// Work of the host on a backend's stream, for kernels written for test devices. Recorded while recording.
void enqueue(ggml_backend_t backend, std::function<void()> work);

// The caller's own recording around what it queues on the backend. The result queues all of it each time it
// is called, while the backend lives; empty when the host waited inside.
void begin_capture(ggml_backend_t backend);
std::function<void()> end_capture(ggml_backend_t backend);

// From now on work goes, as far as anybody can tell, to another stream.
void change_stream(ggml_backend_t backend);

} // namespace ggml::test
