#include "runtime/backend/interface.h"
#include "runtime/ext/verdict/verdict.h"

// Past the capability query that counts extensions, so `supports` may ask this without recursion.
bool ggml_ext_dev_supports_native_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    if (device == nullptr || op == nullptr) {
        ggml::ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                          "ggml_ext_dev_supports_native_op: %s is NULL", device == nullptr ? "device" : "op");
        return false;
    }
    return device->iface.supports_op(device, op);
}
