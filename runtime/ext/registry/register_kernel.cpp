#include "runtime/ext/registry/check_kernel.h"
#include "runtime/ext/registry/store.h"
#include "runtime/ext/verdict/guard.h"

namespace ggml::ext {
namespace {

std::unique_ptr<Kernel> make_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc & desc) {
    auto kernel = std::make_unique<Kernel>();
    kernel->name = desc.name;
    kernel->device = device;
    kernel->call = desc;
    kernel->call.name = kernel->name.c_str();
    return kernel;
}

ggml_ext_status register_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc * desc, bool plain) {
    if (device == nullptr || desc == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "%s: %s is NULL",
                      plain ? "ggml_ext_register_kernel" : "ggml_ext_register_kernel_ex",
                      device == nullptr ? "device" : "desc");
    }
    const ggml_ext_status status = check_kernel(*desc, plain);
    if (status != GGML_EXT_SUCCESS) return status;
    return guarded("register a kernel", [&] {
        std::unique_ptr<Kernel> kernel = make_kernel(device, *desc);
        const auto lock = lock_writers();
        return Registry::of_process().add_kernel(std::move(kernel));
    });
}

} // namespace
} // namespace ggml::ext

ggml_ext_status ggml_ext_register_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc * desc) {
    return ggml::ext::register_kernel(device, desc, /*plain=*/true);
}

ggml_ext_status ggml_ext_register_kernel_ex(ggml_backend_dev_t device, const ggml_ext_kernel_desc * desc) {
    return ggml::ext::register_kernel(device, desc, /*plain=*/false);
}
