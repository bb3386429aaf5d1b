// The CPU as a device of the registry: what it is called, how much memory it has, which nodes it computes.
#include "backends/cpu/backend.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/services.h"
#include "runtime/graph/graph.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace ggml::cpu {
namespace {

const char * get_name(ggml_backend_dev_t) { return "CPU"; }

// The processor's marketing name, so that a log line says which machine it was.
std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.rfind("model name", 0) != 0) continue;
        const size_t colon = line.find(':');
        if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
    }
    return "CPU";
}

const char * get_description(ggml_backend_dev_t) {
    static const std::string name = processor_name();
    return name.c_str();
}

// Free memory is what the kernel says it could give without swapping, page cache included.
void get_memory(ggml_backend_dev_t, size_t * free, size_t * total) {
    *free = *total = 0;
    std::ifstream info("/proc/meminfo");
    for (std::string line; std::getline(info, line);) {
        size_t kib = 0;
        if (std::sscanf(line.c_str(), "MemTotal: %zu kB", &kib) == 1) *total = kib * 1024;
        if (std::sscanf(line.c_str(), "MemAvailable: %zu kB", &kib) == 1) *free = kib * 1024;
    }
}

enum ggml_backend_dev_type get_type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_CPU; }

void get_props(ggml_backend_dev_t dev, ggml_backend_dev_props * props) {
    *props = {};
    props->name = get_name(dev);
    props->description = get_description(dev);
    props->type = get_type(dev);
    get_memory(dev, &props->memory_free, &props->memory_total);
    props->caps.buffer_from_host_ptr = true;
    props->caps.mmap_support = true;
}

ggml_backend_t init_backend(ggml_backend_dev_t, const char *) { return ggml_backend_cpu_init(); }

ggml_backend_buffer_type_t get_buffer_type(ggml_backend_dev_t) { return ggml_backend_cpu_buffer_type(); }

ggml_backend_buffer_t buffer_from_host_ptr(ggml_backend_dev_t, void * ptr, size_t size, size_t) {
    return ggml_backend_cpu_buffer_from_ptr(ptr, size);
}

bool supports_op(ggml_backend_dev_t, const ggml_tensor * op) {
    if (op_is_metadata_only(op->op)) return true;
    const OpKernels * kernels = find_kernels(op->op);
    return kernels != nullptr && kernels->supports(op);
}

bool supports_buft(ggml_backend_dev_t, ggml_backend_buffer_type_t buft) {
    return ggml_backend_buft_is_host(buft);
}

const ggml_backend_device_i kDeviceInterface = {
    .get_name = get_name,
    .get_description = get_description,
    .get_memory = get_memory,
    .get_type = get_type,
    .get_props = get_props,
    .init_backend = init_backend,
    .get_buffer_type = get_buffer_type,
    .get_host_buffer_type = nullptr,
    .buffer_from_host_ptr = buffer_from_host_ptr,
    .supports_op = supports_op,
    .supports_buft = supports_buft,
    .offload_op = nullptr,
    .event_new = nullptr,
    .event_free = nullptr,
    .event_synchronize = nullptr,
};

const char * reg_name(ggml_backend_reg_t) { return "CPU"; }

size_t reg_device_count(ggml_backend_reg_t) { return 1; }

ggml_backend_dev_t reg_device(ggml_backend_reg_t, size_t index) {
    return index == 0 ? cpu_device() : nullptr;
}

template <class Fn>
void * address(Fn * fn) {
    return reinterpret_cast<void *>(fn);
}

void * get_proc_address(ggml_backend_reg_t, const char * name) {
    if (std::strcmp(name, "ggml_backend_set_n_threads") == 0) return address(ggml_backend_cpu_set_n_threads);
    if (std::strcmp(name, "ggml_backend_set_abort_callback") == 0)
        return address(ggml_backend_cpu_set_abort_callback);
    if (std::strcmp(name, "ggml_backend_cpu_set_use_ref") == 0) return address(ggml_backend_cpu_set_use_ref);
    if (std::strcmp(name, "ggml_threadpool_new") == 0) return address(ggml_threadpool_new);
    if (std::strcmp(name, "ggml_threadpool_free") == 0) return address(ggml_threadpool_free);
    if (std::strcmp(name, "ggml_backend_cpu_set_threadpool") == 0)
        return address(ggml_backend_cpu_set_threadpool);
    return service(name);
}

} // namespace

ggml_backend_dev_t cpu_device() {
    static ggml_backend_device device = {kDeviceInterface, ggml_backend_cpu_reg(), nullptr};
    return &device;
}

} // namespace ggml::cpu

extern "C" ggml_backend_reg_t ggml_backend_cpu_reg(void) {
    using namespace ggml::cpu;
    static ggml_backend_reg reg = {ggml::kBackendApiVersion,
                                   {.get_name = reg_name,
                                    .get_device_count = reg_device_count,
                                    .get_device = reg_device,
                                    .get_proc_address = get_proc_address},
                                   nullptr};
    return &reg;
}
