// What a kernel's descriptor must be by itself, before anybody looks at what else is registered.
#pragma once

#include "ggml-ext.h"

namespace ggml::ext {

// `plain`: the registration that takes no flags. A refusal is the thread's last one.
ggml_ext_status check_kernel(const ggml_ext_kernel_desc & desc, bool plain);

} // namespace ggml::ext
