// Descriptors that are complete until a test spoils them, and a device nobody has asked anything yet.
#pragma once

#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "runtime/ext/registry/registry.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ggml::test {

// Names stay taken for the life of the process, also when tests are repeated in it.
inline std::string fresh(const std::string & word) {
    static std::atomic<int> count = 0;
    return "test." + word + "_" + std::to_string(count++);
}

inline bool infer_like_first(const ggml_tensor * const * inputs, int, const void *, ggml_ext_output * output,
                             ggml_ext_why_t, void *) {
    output->type = inputs[0]->type;
    std::copy(inputs[0]->ne, inputs[0]->ne + GGML_MAX_DIMS, output->ne);
    return true;
}

inline bool support_all(ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; }
inline int match_nothing(ggml_backend_dev_t, const ggml_cgraph *, int, ggml_ext_why_t, void *) { return 0; }
inline void optimize_nothing(ggml_backend_dev_t, ggml_cgraph *, void *) {}
inline ggml_status execute_nothing(const ggml_ext_execute_params *, void *, void *) {
    return GGML_STATUS_SUCCESS;
}

inline ggml_ext_op_desc op_desc(const std::string & name, size_t attr_size = 0) {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = name.c_str();
    desc.attr_size = attr_size;
    desc.infer = infer_like_first;
    return desc;
}

inline ggml_ext_op_t new_op(const std::string & word, size_t attr_size = 0,
                            ggml_ext_infer_t infer = infer_like_first, void * user_data = nullptr) {
    const std::string name = fresh(word) + ".v1";
    ggml_ext_op_desc desc = op_desc(name, attr_size);
    desc.infer = infer;
    desc.user_data = user_data;
    ggml_ext_op_t op = nullptr;
    EXPECT_EQ(ggml_ext_register_op(&desc, &op), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    return op;
}

// A kernel of ADD.
inline ggml_ext_kernel_desc kernel_desc(const char * name, ggml_op op = GGML_OP_ADD) {
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = name;
    desc.op = op;
    desc.supports = support_all;
    desc.execute = execute_nothing;
    return desc;
}

inline ggml_ext_kernel_desc rule_desc(const char * name, ggml_op op = GGML_OP_ADD) {
    ggml_ext_kernel_desc desc = kernel_desc(name, op);
    desc.supports = nullptr;
    desc.match = match_nothing;
    return desc;
}

inline void expect_refused(ggml_ext_status got, ggml_ext_status status, ggml_ext_reason reason,
                           const std::vector<std::string> & parts) {
    EXPECT_EQ(got, status);
    EXPECT_STREQ(ggml_ext_reason_name(ggml_ext_last_reason()), ggml_ext_reason_name(reason));
    const std::string message = ggml_ext_last_message();
    for (const std::string & part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
    }
}

// The CPU, as if the process had just begun, before and after each test.
class ExtRegistry : public testing::Test {
  protected:
    void SetUp() override { ext::forget_device(device); }
    void TearDown() override { ext::forget_device(device); }

    ggml_ext_status add(ggml_ext_kernel_desc desc) { return ggml_ext_register_kernel_ex(device, &desc); }

    // Names, in order.
    static std::vector<std::string> names(std::span<const ext::Kernel * const> kernels) {
        std::vector<std::string> out;
        for (const ext::Kernel * kernel : kernels) out.push_back(kernel->name);
        return out;
    }

    const ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
};

} // namespace ggml::test
