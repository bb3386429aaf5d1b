// What a kernel's registration refuses. Each refusal leaves the device as it was.
#include "tests/runtime/ext/registry/fixture.h"

namespace ggml::test {
namespace {

class ExtKernel : public ExtRegistry {
  protected:
    void expect_no(const ggml_ext_kernel_desc & desc, ggml_ext_reason reason,
                   const std::vector<std::string> & parts, ggml_ext_status status = GGML_EXT_INVALID) {
        const uint64_t before = ext::generation();
        const ext::DeviceKernels * kernels = ext::kernels_of(device);
        expect_refused(ggml_ext_register_kernel_ex(device, &desc), status, reason, parts);
        EXPECT_EQ(ext::generation(), before);
        EXPECT_EQ(ext::kernels_of(device), kernels);
    }
};

TEST_F(ExtKernel, is_stored_with_its_own_name) {
    EXPECT_EQ(ext::kernels_of(device), nullptr);
    std::string name = "test.own_name";
    ggml_ext_kernel_desc desc = kernel_desc(name.c_str());
    desc.priority = -7;
    desc.user_data = this;
    const uint64_t before = ext::generation();
    ASSERT_EQ(ggml_ext_register_kernel(device, &desc), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    name.assign(name.size(), 'x');
    const ext::DeviceKernels * kernels = ext::kernels_of(device);
    ASSERT_NE(kernels, nullptr);
    EXPECT_EQ(kernels->generation(), before + 1);
    EXPECT_EQ(ext::generation(), before + 1);
    ASSERT_EQ(kernels->all().size(), 1u);
    const ext::Kernel & kernel = *kernels->all()[0];
    EXPECT_EQ(kernel.name, "test.own_name");
    EXPECT_STREQ(kernel.call.name, "test.own_name");
    EXPECT_EQ(kernel.device, device);
    EXPECT_EQ(kernel.call.priority, -7);
    EXPECT_EQ(kernel.call.user_data, this);
    EXPECT_TRUE(kernel.claims_nodes());
    EXPECT_FALSE(kernel.fuses());
}

TEST_F(ExtKernel, without_arguments_is_refused) {
    const ggml_ext_kernel_desc desc = kernel_desc("test.arguments");
    expect_refused(ggml_ext_register_kernel(nullptr, &desc), GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                   {"ggml_ext_register_kernel", "device"});
    expect_refused(ggml_ext_register_kernel_ex(device, nullptr), GGML_EXT_INVALID,
                   GGML_EXT_REASON_NULL_ARGUMENT, {"ggml_ext_register_kernel_ex", "desc"});
    expect_no(kernel_desc(nullptr), GGML_EXT_REASON_NULL_ARGUMENT, {"name"});
}

TEST_F(ExtKernel, of_another_descriptor_version_is_refused) {
    for (const size_t size :
         {size_t(0), sizeof(ggml_ext_kernel_desc) - 1, sizeof(ggml_ext_kernel_desc) + 1, SIZE_MAX}) {
        ggml_ext_kernel_desc desc = kernel_desc("test.struct_size");
        desc.struct_size = size;
        expect_no(desc, GGML_EXT_REASON_STRUCT_SIZE,
                  {std::to_string(size), std::to_string(sizeof(ggml_ext_kernel_desc))});
    }
}

TEST_F(ExtKernel, with_a_malformed_name_is_refused) {
    const std::string long_name = "test." + std::string(123, 'x');
    const std::string names[] = {"", "word", "sd.", "sd..x", "sd.X", "sd.x y", long_name};
    for (const std::string & name : names) {
        expect_no(kernel_desc(name.c_str()), GGML_EXT_REASON_NAME_MALFORMED, {name.substr(0, 127) + "'"});
    }
    EXPECT_EQ(add(kernel_desc(long_name.substr(0, 127).c_str())), GGML_EXT_SUCCESS);
    EXPECT_EQ(add(kernel_desc("sd.linear_i8.cpu.avx512vnni")), GGML_EXT_SUCCESS);
}

TEST_F(ExtKernel, names_are_unique_on_a_device_and_the_first_stays) {
    ASSERT_EQ(add(kernel_desc("test.twice")), GGML_EXT_SUCCESS);
    const ext::Kernel * first = ext::kernels_of(device)->all()[0];
    ASSERT_EQ(add(kernel_desc("test.other")), GGML_EXT_SUCCESS);
    expect_no(kernel_desc("test.twice", GGML_OP_MUL), GGML_EXT_REASON_NAME_TAKEN,
              {"test.twice", ggml_backend_dev_name(device)}, GGML_EXT_DUPLICATE);
    EXPECT_EQ(ext::kernels_of(device)->all()[0], first);
    EXPECT_EQ(first->call.op, GGML_OP_ADD);
}

TEST_F(ExtKernel, without_execute_is_refused) {
    ggml_ext_kernel_desc desc = kernel_desc("test.no_execute");
    desc.execute = nullptr;
    expect_no(desc, GGML_EXT_REASON_NO_EXECUTE, {"test.no_execute"});
}

TEST_F(ExtKernel, that_claims_nothing_is_refused) {
    ggml_ext_kernel_desc desc = kernel_desc("test.no_claim");
    desc.supports = nullptr;
    desc.optimize = optimize_nothing;
    expect_no(desc, GGML_EXT_REASON_NO_CLAIM, {"test.no_claim"});
}

TEST_F(ExtKernel, prepare_and_destroy_are_free_to_be_missing) {
    ggml_ext_kernel_desc desc = kernel_desc("test.prepare_alone");
    desc.prepare = [](const ggml_ext_prepare_params *, ggml_ext_prepared *, void *) {
        return GGML_STATUS_SUCCESS;
    };
    EXPECT_EQ(add(desc), GGML_EXT_SUCCESS);
    desc = kernel_desc("test.destroy_alone");
    desc.destroy = [](void *, void *) {};
    EXPECT_EQ(add(desc), GGML_EXT_SUCCESS);
}

TEST_F(ExtKernel, flags_are_refused_by_the_plain_registration) {
    ggml_ext_kernel_desc desc = kernel_desc("test.plain_flags");
    desc.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
    expect_refused(ggml_ext_register_kernel(device, &desc), GGML_EXT_INVALID, GGML_EXT_REASON_FLAGS_IN_PLAIN,
                   {"test.plain_flags", "0x1"});
    EXPECT_EQ(ext::kernels_of(device), nullptr);
    EXPECT_EQ(ggml_ext_register_kernel_ex(device, &desc), GGML_EXT_SUCCESS);
    EXPECT_TRUE(ext::kernels_of(device)->all()[0]->capture_safe());
    EXPECT_FALSE(ext::kernels_of(device)->all()[0]->replay_reusable());
}

TEST_F(ExtKernel, flags_nobody_knows_are_refused) {
    ggml_ext_kernel_desc desc = kernel_desc("test.unknown_flags");
    desc.flags = GGML_EXT_KERNEL_CAPTURE_SAFE | 0x40u;
    expect_no(desc, GGML_EXT_REASON_FLAGS_UNKNOWN, {"test.unknown_flags", "0x41"});
}

TEST_F(ExtKernel, replay_reusable_needs_capture_safe) {
    ggml_ext_kernel_desc desc = kernel_desc("test.incomplete_flags");
    desc.flags = GGML_EXT_KERNEL_REPLAY_REUSABLE;
    expect_no(desc, GGML_EXT_REASON_FLAGS_INCOMPLETE, {"test.incomplete_flags"});
    desc.flags |= GGML_EXT_KERNEL_CAPTURE_SAFE;
    EXPECT_EQ(ggml_ext_register_kernel_ex(device, &desc), GGML_EXT_SUCCESS);
    EXPECT_TRUE(ext::kernels_of(device)->all()[0]->replay_reusable());
}

TEST_F(ExtKernel, of_no_operator_is_refused) {
    for (const int number : {int(GGML_OP_COUNT), -1, 1 << 30}) {
        ggml_ext_kernel_desc desc = kernel_desc("test.no_such_op");
        std::memcpy(&desc.op, &number, sizeof(number));
        expect_no(desc, GGML_EXT_REASON_UNKNOWN_OP, {"test.no_such_op", std::to_string(number)});
    }
}

TEST_F(ExtKernel, cannot_claim_nodes_that_compute_nothing_but_may_fuse_from_them) {
    for (const ggml_op op :
         {GGML_OP_NONE, GGML_OP_RESHAPE, GGML_OP_VIEW, GGML_OP_PERMUTE, GGML_OP_TRANSPOSE}) {
        ggml_ext_kernel_desc desc = kernel_desc("test.view", op);
        expect_no(desc, GGML_EXT_REASON_UNKNOWN_OP, {"test.view", ggml_op_name(op)});
        desc.match = match_nothing; // still claims single nodes
        expect_no(desc, GGML_EXT_REASON_UNKNOWN_OP, {"test.view", ggml_op_name(op)});
        const std::string name = std::string("test.rule_at_") + std::to_string(op);
        EXPECT_EQ(add(rule_desc(name.c_str(), op)), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    }
}

TEST_F(ExtKernel, of_custom_needs_a_registered_operator_and_others_have_none) {
    expect_no(kernel_desc("test.custom", GGML_OP_CUSTOM), GGML_EXT_REASON_UNKNOWN_OP, {"custom_op"});
    ggml_ext_kernel_desc desc = kernel_desc("test.custom");
    desc.custom_op = new_op("custom");
    expect_no(desc, GGML_EXT_REASON_UNKNOWN_OP, {"custom_op", "ADD"});
    ggml_ext_op stranger;
    desc.op = GGML_OP_CUSTOM;
    desc.custom_op = &stranger;
    expect_no(desc, GGML_EXT_REASON_UNKNOWN_OP, {"not registered"});
}

} // namespace
} // namespace ggml::test
