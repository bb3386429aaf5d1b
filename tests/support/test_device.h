// A device for tests whose memory the host must not touch: tensor->data is an address no process can access,
// so a runtime that dereferences it crashes. It computes with the CPU's reference kernels on a worker thread
// per stream and can hold its streams still, which makes orders between streams testable without any timing.
#pragma once

#include "ggml-backend.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace ggml::test {

struct TestDeviceOptions {
    std::string name = "TEST";
    size_t memory = size_t(1) << 30; // bytes; what does not fit is refused
    size_t max_buffer = SIZE_MAX;    // largest single buffer
    size_t alignment = 256;          // of tensors; allocation sizes are rounded up to it too
    bool async = true;               // false: streams run everything before returning
    bool events = true;
    bool host_visible = false; // memory the host, and thus the CPU backend, may use as it is
    std::function<bool(const ggml_tensor *)> supports; // empty: whatever the CPU runs
    std::function<bool(const ggml_tensor *)> offload;  // empty: nothing
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
        std::atomic<int> failures = 0;          // graphs that read foreign memory or did not compute
        std::atomic<size_t> bytes_in_use = 0;
    };
    Counters counters;

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

// The memory behind a tensor of any test device; to be used only when the streams are idle.
void * real_address(const ggml_tensor * tensor);

} // namespace ggml::test
