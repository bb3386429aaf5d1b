// Every allocation of a registration fails once: nothing half-registered remains, and nothing leaks (which
// AddressSanitizer sees). A program of its own, because its heap fails.
#include "tests/runtime/ext/registry/failing_heap.h"
#include "tests/runtime/ext/registry/fixture.h"

namespace ggml::test {
namespace {

// Longer than what a string keeps in itself.
const std::string kSuffix = "_with_a_name_that_needs_memory_of_its_own";

// call() with room for 0, 1, 2 ... allocations until it has enough; how often it had not.
template <class Call, class Check>
int starve(Call call, Check check) {
    for (int n = 0; n < 1000; ++n) {
        ggml_ext_status status;
        ggml_ext_reason reason;
        bool ran_out;
        {
            const HeapOf heap(n);
            status = call();
            reason = ggml_ext_last_reason();
            ran_out = heap.ran_out();
        }
        if (!ran_out) {
            EXPECT_EQ(status, GGML_EXT_SUCCESS) << ggml_ext_last_message();
            return n;
        }
        EXPECT_EQ(status, GGML_EXT_NO_MEMORY) << n;
        EXPECT_EQ(reason, GGML_EXT_REASON_NO_MEMORY) << n;
        EXPECT_STRNE(ggml_ext_last_message(), "");
        check();
    }
    ADD_FAILURE() << "never had enough";
    return 0;
}

TEST_F(ExtRegistry, keeps_no_part_of_an_operator_when_memory_runs_out) {
    const std::string name = fresh("starved") + kSuffix + ".v1";
    const ggml_ext_op_desc desc = op_desc(name, 8);
    ggml_ext_op_t op = nullptr;
    const uint64_t before = ext::generation();
    const int failures = starve([&] { return ggml_ext_register_op(&desc, &op); },
                                [&] {
                                    EXPECT_EQ(op, nullptr);
                                    EXPECT_EQ(ggml_ext_find_op(name.c_str()), nullptr);
                                    EXPECT_EQ(ext::generation(), before);
                                });
    EXPECT_GE(failures, 3) << "the operator, its name and its place were each refused once";
    EXPECT_EQ(ggml_ext_find_op(name.c_str()), op);
    EXPECT_EQ(ext::generation(), before + 1);
}

TEST_F(ExtRegistry, keeps_no_part_of_a_kernel_when_memory_runs_out) {
    const ggml_ext_op_t op = new_op("starved");
    for (int i = 0; i < 20; ++i) {
        const std::string name = fresh("starved") + kSuffix;
        ggml_ext_kernel_desc desc = kernel_desc(name.c_str());
        if (i % 3 == 1) desc.op = GGML_OP_CUSTOM, desc.custom_op = op;
        if (i % 3 == 2) desc = rule_desc(name.c_str(), GGML_OP_NONE);
        const ext::DeviceKernels * before = ext::kernels_of(device);
        const uint64_t generation = ext::generation();
        const int failures = starve([&] { return ggml_ext_register_kernel(device, &desc); },
                                    [&] {
                                        EXPECT_EQ(ext::kernels_of(device), before);
                                        EXPECT_EQ(ext::generation(), generation);
                                    });
        EXPECT_GE(failures, 4);
        EXPECT_EQ(ext::kernels_of(device)->all().size(), size_t(i + 1));
    }
}

TEST_F(ExtRegistry, refusals_without_memory_keep_status_and_reason) {
    const std::string name = fresh("refused") + kSuffix;
    const ggml_ext_kernel_desc desc = kernel_desc(name.c_str());
    ASSERT_EQ(ggml_ext_register_kernel(device, &desc), GGML_EXT_SUCCESS);
    ggml_ext_kernel_desc broken = desc;
    broken.execute = nullptr;
    {
        const HeapOf heap(0);
        EXPECT_EQ(ggml_ext_register_kernel(device, &broken), GGML_EXT_INVALID);
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NO_EXECUTE);
    }
    EXPECT_STREQ(ggml_ext_last_message(), ggml_ext_reason_text(GGML_EXT_REASON_NO_EXECUTE));
}

TEST_F(ExtRegistry, nodes_are_made_and_refused_without_memory) {
    const ggml_ext_op_t op = new_op("starved_node", 4);
    ggml_context * ctx = ggml_init({1 << 12, nullptr, true});
    ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    const float attr = 1.0f;
    ggml_tensor *node, *none;
    char text[128] = "?";
    size_t length;
    {
        const HeapOf heap(0);
        node = ggml_ext_op_create(ctx, op, &x, 1, &attr, sizeof(attr));
        none = ggml_ext_op_create(ctx, op, &x, 1, &attr, 3);
        length = ggml_ext_node_print(x, text, sizeof(text));
    }
    EXPECT_NE(node, nullptr) << "the node lies in the context";
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(length, 0u);
    EXPECT_STREQ(text, "");
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NO_MEMORY);
    ggml_free(ctx);
}

} // namespace
} // namespace ggml::test
