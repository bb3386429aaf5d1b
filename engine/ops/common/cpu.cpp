#include "ops/common/cpu.h"

namespace sd {
namespace {

template <class Fn>
Fn cpu_service(const char * name) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (device == nullptr) return nullptr;
    return reinterpret_cast<Fn>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

const char * level_name(Isa isa) {
    switch (isa) {
    case Isa::scalar: return "baseline";
    case Isa::avx2: return "avx2";
    case Isa::avxvnni: return "avxvnni";
    case Isa::avx512vnni: return "avx512vnni";
    case Isa::neon_dotprod: return "dotprod";
    }
    return "baseline";
}

} // namespace

bool cpu_may_use(Isa isa) {
    static const auto usable = cpu_service<ggml_ext_cpu_isa_v1_t>("ggml_ext_cpu_isa_v1");
    return isa == Isa::scalar || (usable != nullptr && usable(level_name(isa)));
}

int cpu_threads(ggml_backend_t backend) {
    static const auto threads = cpu_service<ggml_ext_cpu_n_threads_v1_t>("ggml_ext_cpu_n_threads_v1");
    return threads != nullptr ? threads(backend) : 1;
}

ggml_status cpu_run_raw(ggml_backend_t backend, int n_tasks, ggml_ext_cpu_task_t task, void * data) {
    static const auto parallel = cpu_service<ggml_ext_cpu_parallel_v1_t>("ggml_ext_cpu_parallel_v1");
    return parallel != nullptr ? parallel(backend, n_tasks, task, data) : GGML_STATUS_FAILED;
}

} // namespace sd
