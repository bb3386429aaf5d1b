// Registration from many threads, with readers that take no lock.
#include "tests/runtime/ext/registry/fixture.h"

#include <thread>

namespace ggml::test {
namespace {

constexpr int kThreads = 8;
constexpr int kEach = 20;

template <class Body>
void on_threads(Body body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    for (std::thread & thread : threads) thread.join();
}

// Every list a reader sees is complete, sorted and newer than the one before.
void read_until(ggml_backend_dev_t device, const std::atomic<bool> & done) {
    ggml_tensor node = {};
    node.op = GGML_OP_ADD;
    uint64_t generation = 0;
    while (!done) {
        const ext::DeviceKernels * kernels = ext::kernels_of(device);
        if (kernels == nullptr) continue;
        EXPECT_GE(kernels->generation(), generation);
        generation = kernels->generation();
        EXPECT_GE(ext::generation(), generation);
        const auto list = kernels->for_node(&node);
        EXPECT_EQ(list.size(), kernels->all().size());
        EXPECT_TRUE(std::is_sorted(list.begin(), list.end(), [](const auto * a, const auto * b) {
            return a->call.priority > b->call.priority;
        }));
        for (const ext::Kernel * kernel : list) EXPECT_STREQ(kernel->call.name, kernel->name.c_str());
    }
}

TEST_F(ExtRegistry, takes_registrations_of_many_threads_while_others_read) {
    std::atomic<bool> done = false;
    std::thread reader([&] { read_until(device, done); });
    const uint64_t before = ext::generation();
    on_threads([&](int t) {
        for (int i = 0; i < kEach; ++i) {
            new_op("parallel");
            const std::string name = fresh("parallel");
            ggml_ext_kernel_desc desc = kernel_desc(name.c_str());
            desc.priority = (t * 7 + i) % 5;
            EXPECT_EQ(ggml_ext_register_kernel(device, &desc), GGML_EXT_SUCCESS) << ggml_ext_last_message();
        }
    });
    done = true;
    reader.join();
    EXPECT_EQ(ext::kernels_of(device)->all().size(), size_t(kThreads * kEach));
    EXPECT_EQ(ext::generation(), before + 2 * kThreads * kEach);
}

TEST_F(ExtRegistry, gives_a_name_to_exactly_one_of_many_threads) {
    const std::string name = fresh("contested") + ".v1";
    std::atomic<int> ops = 0, kernels = 0;
    on_threads([&](int) {
        const ggml_ext_op_desc op = op_desc(name);
        ggml_ext_op_t made = nullptr;
        const ggml_ext_status op_status = ggml_ext_register_op(&op, &made);
        EXPECT_EQ(made != nullptr, op_status == GGML_EXT_SUCCESS);
        EXPECT_EQ(op_status == GGML_EXT_SUCCESS ? GGML_EXT_DUPLICATE : op_status, GGML_EXT_DUPLICATE);
        ops += made != nullptr;
        const ggml_ext_kernel_desc kernel = kernel_desc(name.c_str());
        kernels += ggml_ext_register_kernel(device, &kernel) == GGML_EXT_SUCCESS;
    });
    EXPECT_EQ(ops, 1);
    EXPECT_EQ(kernels, 1);
}

TEST_F(ExtRegistry, a_freeze_sees_every_registration_that_was_not_late) {
    for (int round = 0; round < 50; ++round) {
        ext::forget_device(device);
        std::atomic<int> accepted = 0;
        std::atomic<size_t> seen = 0;
        std::thread asking([&] {
            ext::freeze(device, ext::Frozen::capability_query);
            const ext::DeviceKernels * kernels = ext::kernels_of(device);
            seen = kernels != nullptr ? kernels->all().size() : 0;
        });
        on_threads([&](int t) {
            const std::string name = "test.race_" + std::to_string(t);
            const ggml_ext_kernel_desc desc = kernel_desc(name.c_str());
            accepted += ggml_ext_register_kernel(device, &desc) == GGML_EXT_SUCCESS;
        });
        asking.join();
        ASSERT_EQ(seen, size_t(accepted));
    }
}

} // namespace
} // namespace ggml::test
