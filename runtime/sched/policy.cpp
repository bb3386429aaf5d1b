// The public policy of a scheduler.
#include "runtime/ext/verdict/verdict.h"
#include "runtime/sched/sched.h"

#include <exception>

namespace ggml::sched {
namespace {

ggml_ext_status set_policy(Scheduler & s, const ggml_ext_policy & p) {
    ext::Policy policy;
    policy.kernels = p.kernels;
    policy.fusion = p.fusion;
    policy.replay = p.replay;
    for (size_t i = 0; i < p.n_disabled; ++i) {
        if (p.disabled == nullptr || p.disabled[i] == nullptr) {
            return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                               "name %zu of %zu disabled ones is NULL", i, p.n_disabled);
        }
        policy.disabled.push_back(p.disabled[i]);
    }
    s.policy = std::move(policy);
    return GGML_EXT_SUCCESS;
}

} // namespace
} // namespace ggml::sched

extern "C" {

ggml_ext_policy ggml_ext_policy_default(void) {
    const ggml::ext::Policy & p = ggml::ext::Policy::of_environment();
    return {sizeof(ggml_ext_policy), p.kernels, p.fusion, p.replay, nullptr, 0};
}

ggml_ext_status ggml_ext_sched_set_policy(ggml_backend_sched_t sched, const ggml_ext_policy * policy) {
    using namespace ggml;
    if (sched == nullptr) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                           "ggml_ext_sched_set_policy: no scheduler");
    }
    if (policy != nullptr && policy->struct_size != sizeof(*policy)) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_STRUCT_SIZE,
                           "ggml_ext_policy of %zu bytes, not %zu", policy->struct_size, sizeof(*policy));
    }
    try {
        return sched::set_policy(*sched, policy != nullptr ? *policy : ggml_ext_policy_default());
    } catch (const std::exception &) {
        return ext::answer(GGML_EXT_NO_MEMORY, GGML_EXT_REASON_NO_MEMORY, "ggml_ext_sched_set_policy");
    }
}

} // extern "C"
