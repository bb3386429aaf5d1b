#include "runtime/backend/extension_seam.h"
#include "runtime/backend/interface.h"

extern "C" {

const char * ggml_backend_dev_name(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->iface.get_name(device);
}

const char * ggml_backend_dev_description(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->iface.get_description(device);
}

void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total) {
    GGML_ASSERT(device != nullptr && free != nullptr && total != nullptr);
    device->iface.get_memory(device, free, total);
}

enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->iface.get_type(device);
}

void ggml_backend_dev_get_props(ggml_backend_dev_t device, ggml_backend_dev_props * props) {
    GGML_ASSERT(device != nullptr && props != nullptr);
    *props = {};
    device->iface.get_props(device, props);
}

ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->reg;
}

ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params) {
    GGML_ASSERT(device != nullptr);
    return device->iface.init_backend(device, params);
}

ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->iface.get_buffer_type(device);
}

ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != nullptr);
    return device->iface.get_host_buffer_type != nullptr ? device->iface.get_host_buffer_type(device)
                                                         : nullptr;
}

ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr,
                                                            size_t size, size_t max_tensor_size) {
    GGML_ASSERT(device != nullptr);
    return device->iface.buffer_from_host_ptr != nullptr
               ? device->iface.buffer_from_host_ptr(device, ptr, size, max_tensor_size)
               : nullptr;
}

bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    GGML_ASSERT(device != nullptr && op != nullptr);
    return ggml::device_supports_op(device, op);
}

bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(device != nullptr && buft != nullptr);
    return device->iface.supports_buft(device, buft);
}

bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    GGML_ASSERT(device != nullptr && op != nullptr);
    return device->iface.offload_op != nullptr && device->iface.offload_op(device, op);
}

const char * ggml_backend_reg_name(ggml_backend_reg_t reg) {
    GGML_ASSERT(reg != nullptr);
    return reg->iface.get_name(reg);
}

size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg) {
    GGML_ASSERT(reg != nullptr);
    return reg->iface.get_device_count(reg);
}

ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index) {
    GGML_ASSERT(reg != nullptr);
    return reg->iface.get_device(reg, index);
}

void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name) {
    GGML_ASSERT(reg != nullptr && name != nullptr);
    return reg->iface.get_proc_address != nullptr ? reg->iface.get_proc_address(reg, name) : nullptr;
}

} // extern "C"
