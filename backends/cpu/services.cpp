#include "backends/cpu/services.h"

#include "backends/cpu/backend.h"
#include "backends/cpu/isa/cpu_features.h"
#include "backends/cpu/room.h"
#include "backends/cpu/team.h"
#include "ggml-ext.h"
#include "runtime/base/log.h"

#include <cstring>

namespace ggml::cpu {
namespace {

const CpuBackend * state_of(ggml_backend_t backend, const char * service) {
    if (backend != nullptr && ggml_backend_is_cpu(backend))
        return static_cast<CpuBackend *>(backend->context);
    GGML_LOG_ERROR("%s: %s is no CPU backend\n", service, ggml_backend_name(backend));
    return nullptr;
}

ggml_status parallel_v1(ggml_backend_t backend, int n_tasks, ggml_ext_cpu_task_t task, void * data) {
    const CpuBackend * state = state_of(backend, "ggml_ext_cpu_parallel_v1");
    if (state == nullptr) return GGML_STATUS_FAILED;
    if (task == nullptr || n_tasks < 0) {
        GGML_LOG_ERROR("ggml_ext_cpu_parallel_v1: %d tasks, and %s task\n", n_tasks,
                       task != nullptr ? "a" : "no");
        return GGML_STATUS_FAILED;
    }
    const Team team(state->n_threads, state->abort, state->abort_data);
    if (team.aborted()) return GGML_STATUS_ABORTED;
    if (!has_room_to_start(team)) return report_no_room("the threads");
    team.run(n_tasks > 0 ? n_tasks : team.n_threads(), [&](int ith, int nth) { task(ith, nth, data); });
    return team.aborted() ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
}

int n_threads_v1(ggml_backend_t backend) {
    const CpuBackend * state = state_of(backend, "ggml_ext_cpu_n_threads_v1");
    return state != nullptr ? state->n_threads : 0;
}

bool isa_v1(const char * level) {
    const CpuFeatures & usable = cpu_features();
    const struct {
        Isa isa;
        bool usable;
    } levels[] = {{Isa::baseline, true},
                  {Isa::avx2, usable.avx2},
                  {Isa::avxvnni, usable.avxvnni},
                  {Isa::avx512, usable.avx512},
                  {Isa::avx512vnni, usable.avx512vnni},
                  {Isa::neon, usable.neon},
                  {Isa::dotprod, usable.dotprod}};
    for (const auto & l : levels) {
        if (level != nullptr && std::strcmp(level, isa_name(l.isa)) == 0) return l.usable;
    }
    return false;
}

} // namespace

void * service(const char * name) {
    const ggml_ext_cpu_parallel_v1_t parallel = parallel_v1;
    const ggml_ext_cpu_n_threads_v1_t n_threads = n_threads_v1;
    const ggml_ext_cpu_isa_v1_t isa = isa_v1;
    if (std::strcmp(name, "ggml_ext_cpu_parallel_v1") == 0) return reinterpret_cast<void *>(parallel);
    if (std::strcmp(name, "ggml_ext_cpu_n_threads_v1") == 0) return reinterpret_cast<void *>(n_threads);
    if (std::strcmp(name, "ggml_ext_cpu_isa_v1") == 0) return reinterpret_cast<void *>(isa);
    return nullptr;
}

} // namespace ggml::cpu
