// MAP_CUSTOM1..3 and CUSTOM: the caller's functions. `fun` runs on min(n_tasks, threads) threads at once,
// with its own number and the number of threads running; GGML_N_TASKS_MAX means all threads. The reference
// runs it once, as thread 0 of 1.
#include "backends/cpu/kernel.h"
#include "runtime/ops/extension_node.h"
#include "runtime/ops/params.h"

namespace ggml::cpu {
namespace {

void call(const MapCustom1Params & p, ggml_tensor * dst, int ith, int nth) {
    p.fun(dst, dst->src[0], ith, nth, p.userdata);
}
void call(const MapCustom2Params & p, ggml_tensor * dst, int ith, int nth) {
    p.fun(dst, dst->src[0], dst->src[1], ith, nth, p.userdata);
}
void call(const MapCustom3Params & p, ggml_tensor * dst, int ith, int nth) {
    p.fun(dst, dst->src[0], dst->src[1], dst->src[2], ith, nth, p.userdata);
}
void call(const CustomParams & p, ggml_tensor * dst, int ith, int nth) { p.fun(dst, ith, nth, p.userdata); }

template <class Params, int kSources>
bool supports(const ggml_tensor * dst) {
    // A registered operator looks like a function of the caller, but is not one.
    if (extension_op(dst) != nullptr) return false;
    const auto p = get_params<Params>(dst);
    for (int i = 0; i < kSources; ++i) {
        if (dst->src[i] == nullptr) return false;
    }
    return p.fun != nullptr && (p.n_tasks > 0 || p.n_tasks == GGML_N_TASKS_MAX);
}

template <class Params>
ggml_status kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const auto p = get_params<Params>(dst);
    const int tasks = p.n_tasks == GGML_N_TASKS_MAX ? ctx.team.n_threads() : p.n_tasks;
    ctx.team.run(tasks, [&](int ith, int nth) { call(p, dst, ith, nth); });
    return GGML_STATUS_SUCCESS;
}

template <class Params>
ggml_status reference(const KernelContext &, ggml_tensor * dst) {
    call(get_params<Params>(dst), dst, 0, 1);
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kCustom[] = {
    {GGML_OP_MAP_CUSTOM1, supports<MapCustom1Params, 1>, kernel<MapCustom1Params>,
     reference<MapCustom1Params>},
    {GGML_OP_MAP_CUSTOM2, supports<MapCustom2Params, 2>, kernel<MapCustom2Params>,
     reference<MapCustom2Params>},
    {GGML_OP_MAP_CUSTOM3, supports<MapCustom3Params, 3>, kernel<MapCustom3Params>,
     reference<MapCustom3Params>},
    {GGML_OP_CUSTOM, supports<CustomParams, 0>, kernel<CustomParams>, reference<CustomParams>},
};

} // namespace

Family family_custom() { return kCustom; }

} // namespace ggml::cpu
