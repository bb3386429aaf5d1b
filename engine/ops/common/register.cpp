#include "ops/common/register.h"

#include "ops/common/rooms.h"
#include "sd-ggml-ops.h"

#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

namespace sd {

ggml_ext_op_t register_op_once(const ggml_ext_op_desc & desc) {
    if (ggml_ext_op_t known = ggml_ext_find_op(desc.name)) return known;
    ggml_ext_op_t op = nullptr;
    // Two threads may come here at once: the one that is late finds the other's.
    return ggml_ext_register_op(&desc, &op) == GGML_EXT_SUCCESS ? op : ggml_ext_find_op(desc.name);
}

ggml_ext_status add_kernel(ggml_backend_dev_t device, const ggml_ext_kernel_desc & desc) {
    // A device that was used since answers "late" and not "duplicate", so what it has is remembered here.
    static std::mutex mutex;
    static std::set<std::pair<ggml_backend_dev_t, std::string>> known;
    const std::lock_guard lock(mutex);
    const std::pair<ggml_backend_dev_t, std::string> key(device, desc.name);
    if (known.count(key) != 0) return GGML_EXT_SUCCESS;
    const ggml_ext_status status = ggml_ext_register_kernel_ex(device, &desc);
    if (status != GGML_EXT_SUCCESS && status != GGML_EXT_DUPLICATE) return status;
    known.insert(key);
    return GGML_EXT_SUCCESS;
}

Family family_of(ggml_backend_dev_t device) {
    return ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU ? Family::cpu : Family::other;
}

} // namespace sd

extern "C" ggml_ext_status sd_ggml_register_extensions(ggml_backend_dev_t device) {
    if (device == nullptr) return GGML_EXT_INVALID;
    try {
        for (const sd::RegisterRoom room : sd::kRooms) {
            const ggml_ext_status status = room(device);
            if (status != GGML_EXT_SUCCESS) return status;
        }
        return GGML_EXT_SUCCESS;
    } catch (const std::bad_alloc &) {
        return GGML_EXT_NO_MEMORY;
    }
}
