// A loadable backend family with nothing in it, for the loader's tests.
#include "runtime/backend/interface.h"

namespace {

const char * family_name(ggml_backend_reg_t) { return "PLUGIN"; }

size_t no_devices(ggml_backend_reg_t) { return 0; }

ggml_backend_dev_t no_device(ggml_backend_reg_t, size_t) { return nullptr; }

} // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_plugin_v1() {
    static ggml_backend_reg reg = {ggml::kBackendApiVersion,
                                   {.get_name = family_name,
                                    .get_device_count = no_devices,
                                    .get_device = no_device,
                                    .get_proc_address = nullptr},
                                   nullptr};
    return &reg;
}
