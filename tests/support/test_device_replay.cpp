#include "tests/support/test_device_replay.h"

#include <utility>

namespace ggml::test {
namespace {

using Handle = std::shared_ptr<TestRecording>;

bool fails(TestQueue & queue, ReplayCall call) {
    const auto & hook = queue.device.options.replay_fails;
    return hook && hook(call);
}

ggml_status begin(ggml_backend_t backend) {
    TestQueue & queue = queue_of(backend);
    if (queue.is_recording() || fails(queue, ReplayCall::begin)) return GGML_STATUS_FAILED;
    queue.recording = std::make_shared<TestRecording>(queue.device);
    return GGML_STATUS_SUCCESS;
}

ggml_status end(ggml_backend_t backend, bool keep, void ** recording) {
    TestQueue & queue = queue_of(backend);
    *recording = nullptr;
    const Handle ended = std::exchange(queue.recording, nullptr);
    if (!keep) return GGML_STATUS_SUCCESS;
    if (ended == nullptr || ended->broken || fails(queue, ReplayCall::end)) return GGML_STATUS_FAILED;
    if (queue.device.counters.recordings > queue.device.options.most_recordings) return GGML_STATUS_FAILED;
    *recording = new Handle(ended);
    return GGML_STATUS_SUCCESS;
}

ggml_status launch(ggml_backend_t backend, void * recording) {
    TestQueue & queue = queue_of(backend);
    // As on real devices, a recording cannot be launched into another one.
    if (queue.is_recording() || fails(queue, ReplayCall::launch)) return GGML_STATUS_FAILED;
    queue.launch(*static_cast<Handle *>(recording));
    return GGML_STATUS_SUCCESS;
}

void free_recording(ggml_backend_t, void * recording) {
    auto * handle = static_cast<Handle *>(recording);
    if ((*handle)->unfinished_launches > 0) ++(*handle)->device.counters.failures;
    delete handle;
}

} // namespace

const ggml_backend_replay_i kTestReplay = {
    .begin = begin,
    .end = end,
    .launch = launch,
    .free = free_recording,
    .is_enclosed = [](ggml_backend_t backend) { return queue_of(backend).enclosing; },
    .stream_id = [](ggml_backend_t backend) { return queue_of(backend).stream_number; },
    .stable_addresses =
        [](ggml_backend_t backend) { return queue_of(backend).device.options.stable_addresses; },
    .enabled = [](ggml_backend_t backend) { return queue_of(backend).device.replay_enabled.load(); },
};

void TestQueue::enqueue(std::function<void()> work) {
    if (is_recording()) {
        recording->work.push_back(std::move(work));
    } else {
        stream.enqueue(std::move(work));
    }
}

void TestQueue::launch(std::shared_ptr<TestRecording> launched) {
    ++device.counters.launches;
    ++launched->unfinished_launches;
    stream.enqueue([launched = std::move(launched)] {
        for (const auto & work : launched->work) work();
        --launched->unfinished_launches;
    });
}

void TestQueue::synchronize() {
    if (is_recording()) recording->broken = true;
    stream.drain();
}

void enqueue(ggml_backend_t backend, std::function<void()> work) {
    queue_of(backend).enqueue(std::move(work));
}

void begin_capture(ggml_backend_t backend) {
    TestQueue & queue = queue_of(backend);
    queue.recording = std::make_shared<TestRecording>(queue.device);
    queue.enclosing = true;
}

std::function<void()> end_capture(ggml_backend_t backend) {
    TestQueue & queue = queue_of(backend);
    queue.enclosing = false;
    const Handle ended = std::exchange(queue.recording, nullptr);
    if (ended->broken) return nullptr;
    return [&queue, ended] { queue.launch(ended); };
}

void change_stream(ggml_backend_t backend) { ++queue_of(backend).stream_number; }

} // namespace ggml::test
