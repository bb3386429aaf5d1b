#include "ggml-ext-tools.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/replay/replay.h"
#include "runtime/ext/verdict/guard.h"
#include "runtime/tools/audit_promises.h"
#include "runtime/tools/compare.h"

#include <algorithm>
#include <cstdio>

namespace ggml::tools {
namespace {

ggml_ext_reason obstacle(ggml_backend_t backend) {
    const ggml_backend_replay_i * device = backend->iface.replay;
    if (device == nullptr) return GGML_EXT_REASON_REPLAY_NO_DEVICE;
    if (!device->enabled(backend)) return GGML_EXT_REASON_REPLAY_OFF;
    if (!device->stable_addresses(backend)) return GGML_EXT_REASON_REPLAY_ADDRESSES;
    if (device->is_enclosed(backend)) return GGML_EXT_REASON_REPLAY_ENCLOSED;
    return GGML_EXT_REASON_NONE;
}

// Recordings of the audit know memory that is gone afterwards.
class Cleanup {
  public:
    explicit Cleanup(ggml_backend_t backend) : backend_(backend) {}
    ~Cleanup() { ext::release_recordings(backend_); }
    Cleanup(const Cleanup &) = delete;
    Cleanup & operator=(const Cleanup &) = delete;

  private:
    ggml_backend_t backend_;
};

void say(ggml_ext_audit_result & result, bool kept, ggml_ext_reason reason, const std::string & message) {
    result.kept = kept;
    result.reason = reason;
    std::snprintf(result.message, sizeof(result.message), "%s", message.c_str());
}

std::string list(const std::vector<std::string> & names) {
    std::string text;
    for (const std::string & name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// Which kernels there are to audit once those without the flag are out of the way, which may bring others in.
bool choose_kernels(AuditRequest & request, KernelNames & names, Finding & finding) {
    for (;;) {
        Trial trial(request, /*replay=*/false);
        if (!trial.make(finding)) return false;
        names = kernels_in(trial);
        const size_t before = request.disabled.size();
        for (const std::string & name : names.unsafe) {
            const auto & stay = names.essential;
            if (std::find(stay.begin(), stay.end(), name) == stay.end()) request.disabled.push_back(name);
        }
        if (request.disabled.size() == before) return true;
    }
}

ggml_ext_status not_carried_out(Finding & finding) {
    return ext::answer(GGML_EXT_FAILED, std::move(finding.verdict));
}

ggml_ext_status audit(AuditRequest & request, ggml_ext_audit_result & result) {
    const Cleanup cleanup(request.backend);
    Finding finding;
    KernelNames names;
    if (!choose_kernels(request, names, finding)) return not_carried_out(finding);
    if (names.safe.empty() || !names.unsafe.empty()) {
        const std::vector<std::string> & unsafe = names.unsafe.empty() ? request.disabled : names.unsafe;
        const bool none = unsafe.empty();
        say(result, true, none ? GGML_EXT_REASON_AUDIT_NOTHING : GGML_EXT_REASON_REPLAY_KERNEL,
            none ? "nothing to audit: no registered kernel is chosen for this graph"
                 : "nothing to audit: without CAPTURE_SAFE " + list(unsafe));
        return GGML_EXT_SUCCESS;
    }
    for (Promise promise : promises()) {
        ext::release_recordings(request.backend);
        promise(request, finding);
        if (finding.is_clean()) continue;
        if (!finding.carried_out) return not_carried_out(finding);
        const std::string who = culprit(request, names, promise);
        say(result, false, finding.verdict.reason, who + ": " + finding.verdict.words);
        return GGML_EXT_SUCCESS;
    }
    say(result, true, GGML_EXT_REASON_NONE, "kept by " + list(names.safe));
    return GGML_EXT_SUCCESS;
}

} // namespace
} // namespace ggml::tools

extern "C" ggml_ext_status ggml_ext_replay_audit(ggml_backend_t backend, ggml_ext_build_t build,
                                                 void * user_data, const ggml_ext_tolerance * tolerance,
                                                 ggml_ext_audit_result * result) {
    using namespace ggml;
    if (result != nullptr) *result = {};
    if (backend == nullptr || build == nullptr || tolerance == nullptr || result == nullptr) {
        return ext::answer(
            GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
            "ggml_ext_replay_audit takes a backend, a builder, a tolerance and a place for the result");
    }
    ext::Verdict why;
    if (!tools::makes_sense(*tolerance, &why)) return ext::answer(GGML_EXT_INVALID, std::move(why));
    const ggml_ext_reason obstacle = tools::obstacle(backend);
    if (obstacle != GGML_EXT_REASON_NONE) {
        return ext::answer(GGML_EXT_REFUSED, obstacle, "%s: %s", ggml_backend_name(backend),
                           ggml_ext_reason_text(obstacle));
    }
    return ext::guarded("audit a kernel", [&] {
        const ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
        tools::Arena arena;
        tools::AuditRequest request;
        request.backend = backend;
        request.cpu = cpu.get();
        request.build = build;
        request.user_data = user_data;
        request.tolerance = *tolerance;
        request.arena = &arena;
        return tools::audit(request, *result);
    });
}
