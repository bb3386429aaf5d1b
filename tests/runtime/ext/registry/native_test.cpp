#include "tests/runtime/ext/registry/fixture.h"
#include "tests/support/test_device.h"

namespace ggml::test {
namespace {

TEST_F(ExtRegistry, native_support_is_the_devices_own_and_freezes_nothing) {
    TestDeviceOptions options;
    options.supports = [](const ggml_tensor * t) { return t->op == GGML_OP_MUL; };
    TestDevice own(options);
    ggml_ext_kernel_desc desc = kernel_desc("test.add_from_outside");
    ASSERT_EQ(ggml_ext_register_kernel(own.device(), &desc), GGML_EXT_SUCCESS);
    ggml_context * ctx = ggml_init({1 << 12, nullptr, true});
    ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(own.device(), ggml_add(ctx, x, x)));
    EXPECT_TRUE(ggml_ext_dev_supports_native_op(own.device(), ggml_mul(ctx, x, x)));
    EXPECT_EQ(ext::frozen_by(own.device()), ext::Frozen::no);
    desc.name = "test.still_early";
    EXPECT_EQ(ggml_ext_register_kernel(own.device(), &desc), GGML_EXT_SUCCESS);
    ggml_free(ctx);
}

TEST_F(ExtRegistry, native_support_of_nothing_is_refused) {
    ggml_tensor tensor = {};
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(nullptr, &tensor));
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(device, nullptr));
    EXPECT_STREQ(ggml_ext_last_message(), "ggml_ext_dev_supports_native_op: op is NULL");
}

} // namespace
} // namespace ggml::test
