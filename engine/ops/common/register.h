// The list of operator rooms. Each room has one `register_...` function that adds its operator, then whatever
// kernels and fusion rules this build has for the device's family; the lists behind them are the rooms'
// kernels.inc.
#pragma once

#include "ggml-ext.h"

namespace sd {

// An operator of the engine: registered once in the process, whoever asks first.
ggml_ext_op_t register_op_once(const ggml_ext_op_desc & desc);

// One entry of a kernels.inc. A name the device has already is success: registering twice changes nothing.
ggml_ext_status add_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc & desc);

using RegisterRoom = ggml_ext_status (*)(ggml_backend_dev_t device);

// kCpu...: the families kernels are written for.
enum class Family { cpu, other };
Family family_of(ggml_backend_dev_t device);

} // namespace sd
