// The list of operator rooms. Each room has one `register_...` function that adds its operator, then whatever
// kernels and fusion rules this build has for the device's family; the lists behind them are the rooms'
// kernels.inc.
#pragma once

#include "ggml-ext.h"

#include <cstddef>

namespace sd {

// An operator of the engine: registered once in the process, whoever asks first.
ggml_ext_op_t register_op_once(const ggml_ext_op_desc & desc);

// One entry of a kernels.inc. A name the device has already is success: registering twice changes nothing.
ggml_ext_status add_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc & desc);

// All entries of an operator's kernels.inc, in their order. callbacks: what every kernel of the room shares;
// each gets its entry, which has a `name` and lives as long as the process, as user data.
template <class Entry, size_t n>
ggml_ext_status add_kernels(ggml_backend_dev_t device, ggml_ext_op_t op, ggml_ext_kernel_desc callbacks,
                            const Entry (&entries)[n]) {
    callbacks.struct_size = sizeof(callbacks);
    callbacks.op = GGML_OP_CUSTOM;
    callbacks.custom_op = op;
    for (const Entry & entry : entries) {
        callbacks.name = entry.name;
        callbacks.user_data = const_cast<Entry *>(&entry);
        const ggml_ext_status status = add_kernel(device, callbacks);
        if (status != GGML_EXT_SUCCESS) return status;
    }
    return GGML_EXT_SUCCESS;
}

using RegisterRoom = ggml_ext_status (*)(ggml_backend_dev_t device);

// The families kernels are written for.
enum class Family { cpu, other };
Family family_of(ggml_backend_dev_t device);

} // namespace sd
