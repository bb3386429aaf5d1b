#include "pipeline/runner.h"

#include "base/error.h"
#include "base/physical_cores.h"
#include "ggml-cpu.h"
#include "ggml-ext-tools.h"
#include "ggml-ext.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"

#include <memory>
#include <new>

namespace sd {
namespace {

bool stop(void * data) {
    const auto * cancel = static_cast<const std::atomic<bool> *>(data);
    return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

} // namespace

Runner::Runner(int threads) : threads_(threads > 0 ? threads : physical_cores()) {
    // Kernels and fusion rules are added before a device is used for the first time.
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (cpu == nullptr || sd_ggml_register_extensions(cpu) != GGML_EXT_SUCCESS) {
        throw Error("the CPU's operators cannot be registered: " + std::string(ggml_ext_last_message()));
    }
    ggml_backend_t backend = ggml_backend_dev_init(cpu, nullptr);
    if (backend == nullptr) throw std::bad_alloc();
    backends_.emplace_back(backend);
    ggml_backend_cpu_set_n_threads(backend, threads_);
    make_scheduler();
}

void Runner::make_scheduler() {
    std::vector<ggml_backend_t> backends;
    for (const ggml_backend_ptr & b : backends_) backends.push_back(b.get());
    scheduler_.reset(ggml_backend_sched_new(backends.data(), nullptr, int(backends.size()),
                                            GGML_DEFAULT_GRAPH_SIZE, false, true));
    if (scheduler_ == nullptr) throw std::bad_alloc();
}

ggml_backend_buffer_type_t Runner::weight_memory() const {
    return ggml_backend_get_default_buffer_type(backends_.front().get());
}

size_t Runner::memory_of(const Graph & g) {
    std::vector<size_t> sizes(backends_.size());
    ggml_backend_sched_reset(scheduler_.get());
    ggml_backend_sched_reserve_size(scheduler_.get(), g.graph(), sizes.data());
    size_t sum = 0;
    for (const size_t bytes : sizes) sum += bytes;
    return sum;
}

void Runner::allocate(Graph & g) {
    ggml_backend_sched_reset(scheduler_.get());
    if (ggml_backend_sched_alloc_graph(scheduler_.get(), g.graph())) return;
    const std::string reason = ggml_ext_last_message();
    throw Error({"E_MEMORY", {}, {}, "the model cannot be run: " + reason, {}});
}

std::string Runner::explain(const Graph & g, bool json) {
    ggml_backend_sched_reset(scheduler_.get());
    const std::unique_ptr<char, decltype(&ggml_ext_text_free)> text(
        ggml_ext_explain(scheduler_.get(), g.graph(), json ? GGML_EXT_FORMAT_JSON : GGML_EXT_FORMAT_TEXT),
        ggml_ext_text_free);
    if (text == nullptr)
        throw Error(std::string("the graph cannot be explained: ") + ggml_ext_last_message());
    return text.get();
}

void Runner::set(ggml_tensor * tensor, const void * data, size_t bytes) {
    if (bytes != ggml_nbytes(tensor)) {
        throw Error(std::string("internal error: ") + std::to_string(bytes) + " bytes for input " +
                    tensor->name + " of " + std::to_string(ggml_nbytes(tensor)));
    }
    ggml_backend_tensor_set(tensor, data, 0, bytes);
}

void Runner::compute(Graph & g, const std::atomic<bool> * cancel) {
    ggml_backend_t cpu = backends_.back().get();
    ggml_backend_cpu_set_abort_callback(cpu, stop, const_cast<std::atomic<bool> *>(cancel));
    const ggml_status status = ggml_backend_sched_graph_compute(scheduler_.get(), g.graph());
    ggml_backend_cpu_set_abort_callback(cpu, nullptr, nullptr);
    if (status == GGML_STATUS_SUCCESS) return;
    if (status == GGML_STATUS_ABORTED) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
    throw Error({status == GGML_STATUS_ALLOC_FAILED ? "E_MEMORY" : "E_COMPUTE",
                 {},
                 {},
                 std::string("computing failed: ") + ggml_status_to_string(status),
                 {}});
}

std::vector<float> Runner::floats(const ggml_tensor * tensor) const {
    std::vector<float> out(size_t(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, out.data(), 0, out.size() * sizeof(float));
    return out;
}

void Runner::release() {
    // A scheduler keeps its buffers for the next graph.
    scheduler_.reset();
    make_scheduler();
}

} // namespace sd
