#include "pipeline/runner.h"

#include "base/build.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/physical_cores.h"
#include "base/size_text.h"
#include "ggml-cpu.h"
#include "pipeline/extensions.h"
#include "pipeline/observe.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

bool stop(void * data) {
    const auto * cancel = static_cast<const std::atomic<bool> *>(data);
    return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

// What the process has in memory, and soon will in any case: code that has not run yet,
// stacks of threads, small values.
uint64_t process_memory() {
    constexpr uint64_t kSmall = 12 << 20;
    give_back_freed_memory();
    return resident_memory() + kSmall;
}

ggml_backend_ptr make_backend(ggml_backend_dev_t device) {
    ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
    if (backend != nullptr) return backend;
    throw Error({"E_MEMORY",
                 {},
                 {},
                 std::string("the device ") + ggml_backend_dev_name(device) + " cannot be used",
                 {}});
}

} // namespace

Runner::Runner(int threads, int device)
    : threads_(threads > 0 ? threads : std::min(physical_cores(), GGML_MAX_N_THREADS)) {
    if (threads > GGML_MAX_N_THREADS) {
        throw Error({"E_ARGUMENT",
                     {},
                     {},
                     std::to_string(threads) + " threads are asked for",
                     "at most " + std::to_string(GGML_MAX_N_THREADS) + " are possible"});
    }
    // Kernels and fusion rules are added before a device is used for the first time.
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (cpu == nullptr) throw Error("this ggml has no CPU device");
    ggml_backend_dev_t own = device < 0 ? cpu : ggml_backend_dev_get(size_t(device));
    std::vector<ggml_backend_dev_t> devices = {cpu};
    if (own != cpu) devices.insert(devices.begin(), own);
    for (ggml_backend_dev_t d : devices) {
        add_operators(d);
        backends_.push_back(make_backend(d));
    }
    ggml_backend_cpu_set_n_threads(backends_.back().get(), threads_);
    make_scheduler(GGML_DEFAULT_GRAPH_SIZE);
}

void Runner::make_scheduler(size_t tensors) {
    scheduler_.reset(); // first: its buffers may be most of the memory there is
    std::vector<ggml_backend_t> backends;
    for (const ggml_backend_ptr & b : backends_) backends.push_back(b.get());
    scheduler_.reset(
        ggml_backend_sched_new(backends.data(), nullptr, int(backends.size()), tensors, false, true));
    if (scheduler_ == nullptr) throw std::bad_alloc();
    Observation::attach(scheduler_.get());
}

void Runner::start(const Graph & g) {
    if (kReusableSchedulers)
        ggml_backend_sched_reset(scheduler_.get());
    else
        make_scheduler(2 * size_t(ggml_graph_size(g.graph()))); // as many leafs as nodes, at most
}

ggml_backend_buffer_type_t Runner::weight_memory() const {
    return ggml_backend_get_default_buffer_type(backends_.front().get());
}

std::string Runner::device_name() const {
    return ggml_backend_dev_name(ggml_backend_get_device(backends_.front().get()));
}

uint64_t Runner::free_memory() const {
    if (on_cpu()) return available_memory();
    size_t free = 0, total = 0;
    ggml_backend_dev_memory(ggml_backend_get_device(backends_.front().get()), &free, &total);
    return free;
}

uint64_t Runner::room(const std::optional<MemoryBudget> & budget) const {
    const uint64_t free = free_memory();
    if (!budget) return free;
    if (budget->below_free) return free - std::min(free, budget->bytes);
    // Pages of mapped files are counted, too: the limit is for what the process has in memory.
    const uint64_t taken = budget->of_process ? process_memory() : 0;
    return std::min(free, budget->bytes - std::min(budget->bytes, taken));
}

std::string Runner::advice(const std::optional<MemoryBudget> & budget, uint64_t needed, uint64_t room) const {
    if (!budget) return "a smaller picture needs less";
    if (!budget->of_process) return "a larger limit, or a smaller picture";
    const uint64_t taken = process_memory();
    if (free_memory() < needed) return "a smaller picture needs less";
    // Rounded up: with as much it is not refused again.
    const uint64_t enough = std::max(taken + needed, budget->bytes + needed - room);
    return "the program itself takes " + size_text(taken) + ": a limit of " +
           std::to_string((enough >> 20) + 1) + " MiB would do here, or a smaller picture";
}

WorkMemory Runner::memory_of(const Graph & g) {
    std::vector<size_t> sizes(backends_.size());
    start(g);
    ggml_backend_sched_reserve_size(scheduler_.get(), g.graph(), sizes.data());
    if (!on_cpu()) return {sizes.front(), sizes.back(), 0};
    return {sizes.front(), 0, ggml_graph_plan(g.graph(), threads_, nullptr).work_size};
}

void Runner::allocate(Graph & g) {
    start(g);
    if (ggml_backend_sched_alloc_graph(scheduler_.get(), g.graph())) return;
    const std::string reason = ggml_reason();
    throw Error({"E_MEMORY",
                 {},
                 {},
                 "the model cannot be run: " + (reason.empty() ? "not enough memory" : reason),
                 {}});
}

std::string Runner::explain(const Graph & g, bool json) {
    start(g);
    return explain_graph(scheduler_.get(), g.graph(), json);
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
    if (status == GGML_STATUS_ALLOC_FAILED)
        throw Error(
            {"E_MEMORY", {}, {}, "there is not enough memory to compute", "a smaller picture needs less"});
    throw Error({"E_COMPUTE", {}, {}, std::string("computing failed: ") + ggml_status_to_string(status), {}});
}

std::vector<float> Runner::floats(const ggml_tensor * tensor) {
    std::vector<float> out(size_t(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, out.data(), 0, out.size() * sizeof(float));
    return out;
}

void Runner::release() {
    // A scheduler keeps its buffers for the next graph, and the CPU's backend what its kernels needed.
    ggml_backend_ptr cpu = make_backend(ggml_backend_get_device(backends_.back().get()));
    ggml_backend_cpu_set_n_threads(cpu.get(), threads_);
    scheduler_.reset();
    backends_.back() = std::move(cpu);
    make_scheduler(GGML_DEFAULT_GRAPH_SIZE);
}

} // namespace sd
