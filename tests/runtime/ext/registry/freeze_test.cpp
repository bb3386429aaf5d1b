// When a registration is late, and what the refusal says.
#include "tests/runtime/ext/registry/fixture.h"
#include "tests/support/test_device.h"

namespace ggml::test {
namespace {

class ExtFreeze : public ExtRegistry {
  protected:
    void expect_late(const std::string & cause) {
        const ggml_ext_kernel_desc desc = kernel_desc("test.late_one");
        const uint64_t before = ext::generation();
        const ext::DeviceKernels * kernels = ext::kernels_of(device);
        expect_refused(ggml_ext_register_kernel(device, &desc), GGML_EXT_LATE, GGML_EXT_REASON_LATE,
                       {std::string("device ") + ggml_backend_dev_name(device), cause, "test.late_one"});
        EXPECT_EQ(ext::kernels_of(device), kernels);
        EXPECT_EQ(ext::generation(), before);
    }
};

TEST_F(ExtFreeze, by_a_capability_query_makes_registration_late) {
    ASSERT_EQ(add(kernel_desc("test.early")), GGML_EXT_SUCCESS);
    ext::freeze(device, ext::Frozen::capability_query);
    expect_late("answered a capability query");
}

TEST_F(ExtFreeze, by_a_graph_allocation_makes_registration_late) {
    ext::freeze(device, ext::Frozen::graph_allocation);
    expect_late("was given a graph to allocate");
}

TEST_F(ExtFreeze, by_a_direct_computation_makes_registration_late) {
    ext::freeze(device, ext::Frozen::direct_compute);
    expect_late("computed a graph");
}

TEST_F(ExtFreeze, names_the_first_cause) {
    EXPECT_EQ(ext::frozen_by(device), ext::Frozen::no);
    ext::freeze(device, ext::Frozen::direct_compute);
    ext::freeze(device, ext::Frozen::capability_query);
    EXPECT_EQ(ext::frozen_by(device), ext::Frozen::direct_compute);
    expect_late("computed a graph");
}

TEST_F(ExtFreeze, is_of_one_device_and_not_of_operators) {
    TestDevice other;
    ext::freeze(device, ext::Frozen::capability_query);
    const ggml_ext_kernel_desc desc = kernel_desc("test.elsewhere");
    EXPECT_EQ(ggml_ext_register_kernel(other.device(), &desc), GGML_EXT_SUCCESS);
    EXPECT_NE(new_op("never_late"), nullptr);
}

TEST_F(ExtFreeze, ends_only_when_the_device_is_forgotten) {
    ASSERT_EQ(add(kernel_desc("test.again")), GGML_EXT_SUCCESS);
    ext::freeze(device, ext::Frozen::capability_query);
    ext::forget_device(device);
    EXPECT_EQ(ext::frozen_by(device), ext::Frozen::no);
    EXPECT_EQ(add(kernel_desc("test.again")), GGML_EXT_SUCCESS) << "its name is free as well";
}

} // namespace
} // namespace ggml::test
