#include "runtime/ext/selection/selection.h"

#include "runtime/base/env.h"
#include "runtime/base/log.h"

#include <algorithm>

namespace ggml::ext {
namespace {

bool is_on(EnvId id) {
    const EnvSetting & setting = env_setting(id);
    if (!setting.status.ok()) GGML_LOG_ERROR("%s\n", setting.status.message().c_str());
    return setting.index == 0;
}

} // namespace

bool Policy::allows(const Kernel & kernel) const {
    return std::find(disabled.begin(), disabled.end(), kernel.name) == disabled.end();
}

const Policy & Policy::of_environment() {
    static const Policy policy = {
        is_on(EnvId::ext_kernels), is_on(EnvId::ext_fusion), is_on(EnvId::ext_replay), {}};
    return policy;
}

} // namespace ggml::ext
