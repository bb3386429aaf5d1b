#include "tests/support/test_device.h"

#include "runtime/backend/interface.h"
#include "runtime/graph/graph.h"
#include "tests/support/test_device_compute.h"
#include "tests/support/test_device_memory.h"
#include "tests/support/test_device_replay.h"
#include "tests/support/test_stream.h"

#include <cstring>
#include <memory>

namespace ggml::test {
namespace {

TestDevice & device_of(ggml_backend_dev_t dev) { return *static_cast<TestDevice *>(dev->context); }

std::shared_ptr<Milestone> & milestone(ggml_backend_event_t event) {
    return *static_cast<std::shared_ptr<Milestone> *>(event->context);
}

const char * backend_name(ggml_backend_t backend) { return queue_of(backend).device.options.name.c_str(); }

void free_backend(ggml_backend_t backend) {
    delete &queue_of(backend);
    delete backend;
}

void set_tensor_async(ggml_backend_t backend, ggml_tensor * t, const void * data, size_t offset,
                      size_t size) {
    char * to = real_memory(t->data) + offset;
    queue_of(backend).enqueue([=] { std::memcpy(to, data, size); });
}

void get_tensor_async(ggml_backend_t backend, const ggml_tensor * t, void * data, size_t offset,
                      size_t size) {
    const char * from = real_memory(t->data) + offset;
    queue_of(backend).enqueue([=] { std::memcpy(data, from, size); });
}

bool cpy_tensor_async(ggml_backend_t src_backend, ggml_backend_t dst_backend, const ggml_tensor * src,
                      ggml_tensor * dst) {
    // Streams of test devices reach each other; anything else is not ours to order.
    if (src_backend->iface.free != free_backend || dst_backend->iface.free != free_backend) return false;
    if (!lies_in(queue_of(src_backend).device, src) || !lies_in(queue_of(dst_backend).device, dst))
        return false;
    auto done = std::make_shared<Milestone>();
    TestQueue &from = queue_of(src_backend), &to = queue_of(dst_backend);
    // A recording is of one stream.
    if (&from != &to && (from.is_recording() || to.is_recording())) return false;
    char *source = real_memory(src->data), *target = real_memory(dst->data);
    const size_t bytes = ggml_nbytes(src);
    ++queue_of(dst_backend).device.counters.async_copies;
    // No more order than promised: nothing keeps the copy behind earlier work of the destination.
    from.enqueue([=] {
        std::memmove(target, source, bytes);
        done->reach(1);
    });
    if (&from != &to) to.enqueue([=] { done->wait_for(1); });
    return true;
}

void synchronize(ggml_backend_t backend) {
    ++queue_of(backend).device.counters.waits;
    queue_of(backend).synchronize();
}

ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph * graph) {
    TestDevice & device = queue_of(backend).device;
    std::function<bool()> work = mirror_graph(device, graph);
    if (work == nullptr) {
        ++device.counters.failures;
        return GGML_STATUS_FAILED;
    }
    ++device.counters.graphs;
    device.counters.nodes += graph->n_nodes;
    queue_of(backend).enqueue([work = std::move(work), &device] {
        if (!work()) ++device.counters.failures;
    });
    return GGML_STATUS_SUCCESS;
}

void graph_optimize(ggml_backend_t backend, ggml_cgraph * graph) {
    queue_of(backend).device.options.graph_optimize(graph);
}

bool skip_alloc(ggml_backend_t backend, const ggml_cgraph * graph, const ggml_tensor * node) {
    return queue_of(backend).device.options.skip_alloc(graph, node);
}

void event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    std::shared_ptr<Milestone> m = milestone(event);
    const uint64_t number = m->next();
    queue_of(backend).enqueue([=] { m->reach(number); });
}

void event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    std::shared_ptr<Milestone> m = milestone(event);
    const uint64_t number = m->last();
    queue_of(backend).enqueue([=] { m->wait_for(number); });
}

ggml_backend_i backend_interface(const TestDeviceOptions & options) {
    ggml_backend_i iface = {};
    iface.get_name = backend_name;
    iface.free = free_backend;
    iface.graph_compute = graph_compute;
    if (options.async) {
        iface.set_tensor_async = set_tensor_async;
        iface.get_tensor_async = get_tensor_async;
        iface.cpy_tensor_async = cpy_tensor_async;
        iface.synchronize = synchronize;
    }
    if (options.events) {
        iface.event_record = event_record;
        iface.event_wait = event_wait;
    }
    if (options.graph_optimize) iface.graph_optimize = graph_optimize;
    if (options.skip_alloc) iface.skip_alloc = skip_alloc;
    if (options.replay) iface.replay = &kTestReplay;
    return iface;
}

const char * dev_name(ggml_backend_dev_t dev) { return device_of(dev).options.name.c_str(); }

const char * dev_description(ggml_backend_dev_t) {
    return "host memory behind addresses the host cannot use";
}

void dev_memory(ggml_backend_dev_t dev, size_t * free, size_t * total) {
    *total = device_of(dev).options.memory;
    *free = *total - device_of(dev).counters.bytes_in_use;
}

enum ggml_backend_dev_type dev_type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; }

void dev_props(ggml_backend_dev_t dev, ggml_backend_dev_props * props) {
    props->name = dev_name(dev);
    props->description = dev_description(dev);
    props->type = dev_type(dev);
    dev_memory(dev, &props->memory_free, &props->memory_total);
    props->caps.async = device_of(dev).options.async;
    props->caps.events = device_of(dev).options.events;
}

ggml_backend_t dev_init(ggml_backend_dev_t dev, const char *) {
    static ggml_guid guid = {0x74, 0x65, 0x73, 0x74};
    TestDevice & device = device_of(dev);
    return new ggml_backend{&guid, backend_interface(device.options), dev, new TestQueue(device)};
}

ggml_backend_buffer_type_t dev_buffer_type(ggml_backend_dev_t dev) { return device_of(dev).buffer_type(); }

bool dev_supports_op(ggml_backend_dev_t dev, const ggml_tensor * op) {
    if (op_is_metadata_only(op->op)) return true;
    const auto & supports = device_of(dev).options.supports;
    if (supports && !supports(op)) return false;
    // The CPU itself: what is registered for it does not compute for this device, and stays open.
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return cpu->iface.supports_op(cpu, op);
}

bool dev_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    return buft->context == dev->context;
}

bool dev_offload_op(ggml_backend_dev_t dev, const ggml_tensor * op) {
    const auto & offload = device_of(dev).options.offload;
    return offload && offload(op);
}

ggml_backend_event_t event_new(ggml_backend_dev_t dev) {
    return new ggml_backend_event{dev, new std::shared_ptr<Milestone>(std::make_shared<Milestone>())};
}

void event_free(ggml_backend_dev_t, ggml_backend_event_t event) {
    delete &milestone(event);
    delete event;
}

void event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    ++device_of(dev).counters.waits;
    milestone(event)->wait_for(milestone(event)->last());
}

ggml_backend_device_i device_interface(const TestDeviceOptions & options) {
    ggml_backend_device_i iface = {};
    iface.get_name = dev_name;
    iface.get_description = dev_description;
    iface.get_memory = dev_memory;
    iface.get_type = dev_type;
    iface.get_props = dev_props;
    iface.init_backend = dev_init;
    iface.get_buffer_type = dev_buffer_type;
    if (options.staging)
        iface.get_host_buffer_type = [](ggml_backend_dev_t) { return ggml_backend_cpu_buffer_type(); };
    iface.supports_op = dev_supports_op;
    iface.supports_buft = dev_supports_buft;
    iface.offload_op = dev_offload_op;
    if (options.events) {
        iface.event_new = event_new;
        iface.event_free = event_free;
        iface.event_synchronize = event_synchronize;
    }
    return iface;
}

// Test devices are one family, so their streams can wait for each other's events.
ggml_backend_reg_t family() {
    static ggml_backend_reg reg = {
        kBackendApiVersion,
        {.get_name = [](ggml_backend_reg_t) { return "TEST"; },
         .get_device_count = [](ggml_backend_reg_t) { return size_t(0); },
         .get_device = [](ggml_backend_reg_t, size_t) -> ggml_backend_dev_t { return nullptr; },
         .get_proc_address = nullptr},
        nullptr};
    return &reg;
}

} // namespace

TestQueue & queue_of(ggml_backend_t backend) { return *static_cast<TestQueue *>(backend->context); }

struct TestDevice::Handles {
    ggml_backend_device device;
    ggml_backend_buffer_type buft;
};

TestDevice::TestDevice(TestDeviceOptions o) : options(std::move(o)), handles_(new Handles) {
    handles_->device = {device_interface(options), family(), this};
    handles_->buft = make_buffer_type(*this);
}

TestDevice::~TestDevice() { delete handles_; }

ggml_backend_dev_t TestDevice::device() { return &handles_->device; }

ggml_backend_buffer_type_t TestDevice::buffer_type() { return &handles_->buft; }

ggml_backend_t TestDevice::new_backend() { return ggml_backend_dev_init(device(), nullptr); }

void TestDevice::hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
}

void TestDevice::release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
}

void TestDevice::wait_until_released() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held_; });
}

} // namespace ggml::test
