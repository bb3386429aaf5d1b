#include "runtime/backend/interface.h"
#include "tests/runtime/backend/fixture.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_device.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace ggml::test {
namespace {

// A family with one device, registered while it lives.
class Family {
  public:
    explicit Family(int version = kBackendApiVersion) {
        reg = {version,
               {.get_name = [](ggml_backend_reg_t) { return "Fam"; },
                .get_device_count = [](ggml_backend_reg_t) { return size_t(1); },
                .get_device = [](ggml_backend_reg_t r,
                                 size_t) { return static_cast<Family *>(r->context)->device.device(); },
                .get_proc_address = [](ggml_backend_reg_t, const char * name) -> void * {
                    static int service;
                    return std::string(name) == "fam_service" ? &service : nullptr;
                }},
               this};
        device.device()->reg = &reg;
        ggml_backend_register(&reg);
    }
    ~Family() { ggml_backend_unload(&reg); }

    TestDevice device{[] {
        TestDeviceOptions o;
        o.name = "Fam0";
        return o;
    }()};
    ggml_backend_reg reg;
};

TEST(registry, lists_the_cpu_first) {
    ASSERT_GE(ggml_backend_reg_count(), 1u);
    EXPECT_EQ(ggml_backend_reg_get(0), ggml_backend_cpu_reg());
    ASSERT_GE(ggml_backend_dev_count(), 1u);
    EXPECT_EQ(ggml_backend_dev_type(ggml_backend_dev_get(0)), GGML_BACKEND_DEVICE_TYPE_CPU);
    EXPECT_EQ(ggml_backend_dev_backend_reg(ggml_backend_dev_get(0)), ggml_backend_cpu_reg());
}

TEST(registry, finds_names_in_any_case_and_nothing_else) {
    EXPECT_EQ(ggml_backend_reg_by_name("cpu"), ggml_backend_cpu_reg());
    EXPECT_EQ(ggml_backend_dev_by_name("Cpu"), ggml_backend_dev_get(0));
    EXPECT_EQ(ggml_backend_dev_by_name("CPU1"), nullptr);
    EXPECT_EQ(ggml_backend_dev_by_name("CP"), nullptr);
    EXPECT_EQ(ggml_backend_reg_by_name(""), nullptr);
    EXPECT_EQ(ggml_backend_dev_get(1000), nullptr);
    EXPECT_EQ(ggml_backend_reg_get(1000), nullptr);
}

TEST(registry, adds_a_family_and_its_devices_once_and_removes_both) {
    const size_t families = ggml_backend_reg_count(), devices = ggml_backend_dev_count();
    {
        Family family;
        ggml_backend_register(&family.reg);
        ggml_backend_device_register(family.device.device());
        EXPECT_EQ(ggml_backend_reg_count(), families + 1);
        EXPECT_EQ(ggml_backend_dev_count(), devices + 1);
        EXPECT_EQ(ggml_backend_reg_by_name("fam"), &family.reg);
        EXPECT_EQ(ggml_backend_dev_by_name("fam0"), family.device.device());
        EXPECT_EQ(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU), family.device.device());
        EXPECT_NE(ggml_backend_reg_get_proc_address(&family.reg, "fam_service"), nullptr);
        EXPECT_EQ(ggml_backend_reg_get_proc_address(&family.reg, "other"), nullptr);
    }
    EXPECT_EQ(ggml_backend_reg_count(), families);
    EXPECT_EQ(ggml_backend_dev_count(), devices);
    EXPECT_EQ(ggml_backend_dev_by_name("fam0"), nullptr);
}

TEST(registry, ignores_nothing_at_all) {
    const size_t families = ggml_backend_reg_count(), devices = ggml_backend_dev_count();
    ggml_backend_register(nullptr);
    ggml_backend_device_register(nullptr);
    ggml_backend_unload(nullptr);
    EXPECT_EQ(ggml_backend_reg_count(), families);
    EXPECT_EQ(ggml_backend_dev_count(), devices);
}

TEST(registry, refuses_a_family_built_for_other_structs) {
    const LogCapture log;
    const size_t families = ggml_backend_reg_count();
    const Family family(kBackendApiVersion + 1);
    EXPECT_EQ(ggml_backend_reg_count(), families);
    EXPECT_NE(log.text.find("interface version 2 refused"), std::string::npos) << log.text;
}

TEST(registry, starts_the_best_device_there_is) {
    ggml_backend_ptr cpu(ggml_backend_init_best());
    EXPECT_TRUE(ggml_backend_is_cpu(cpu.get()));
    Family family;
    ggml_backend_ptr best(ggml_backend_init_best());
    ASSERT_NE(best, nullptr);
    EXPECT_STREQ(ggml_backend_name(best.get()), "Fam0");
    ggml_backend_ptr by_name(ggml_backend_init_by_name("fam0", nullptr));
    EXPECT_NE(by_name, nullptr);
    ggml_backend_ptr by_type(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    EXPECT_TRUE(ggml_backend_is_cpu(by_type.get()));
    EXPECT_EQ(ggml_backend_init_by_name("no such device", nullptr), nullptr);
    EXPECT_EQ(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_ACCEL, nullptr), nullptr);
}

TEST(device, describes_itself) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(ggml_backend_dev_get(0), &props);
    EXPECT_STREQ(props.name, "CPU");
    EXPECT_STREQ(props.name, ggml_backend_dev_name(ggml_backend_dev_get(0)));
    EXPECT_STREQ(props.description, ggml_backend_dev_description(ggml_backend_dev_get(0)));
    EXPECT_GT(props.memory_total, 0u);
    EXPECT_EQ(props.type, GGML_BACKEND_DEVICE_TYPE_CPU);
    size_t free = 0, total = 0;
    ggml_backend_dev_memory(ggml_backend_dev_get(0), &free, &total);
    EXPECT_LE(free, total);
}

TEST(device, without_the_optional_parts_says_no) {
    TestDevice device;
    EXPECT_EQ(ggml_backend_dev_host_buffer_type(device.device()), nullptr);
    char memory[64];
    EXPECT_EQ(ggml_backend_dev_buffer_from_host_ptr(device.device(), memory, sizeof memory, 64), nullptr);
    EXPECT_FALSE(ggml_backend_dev_supports_buft(device.device(), ggml_backend_cpu_buffer_type()));
    EXPECT_FALSE(ggml_backend_buft_is_host(device.buffer_type()));
    EXPECT_EQ(ggml_backend_buft_get_device(device.buffer_type()), device.device());
}

TEST(loader, registers_a_library_once_and_closes_it) {
    const size_t families = ggml_backend_reg_count();
    ggml_backend_reg_t reg = ggml_backend_load(TEST_PLUGIN);
    ASSERT_NE(reg, nullptr);
    EXPECT_STREQ(ggml_backend_reg_name(reg), "PLUGIN");
    EXPECT_EQ(ggml_backend_reg_by_name("plugin"), reg);
    {
        const LogCapture log;
        EXPECT_EQ(ggml_backend_load(TEST_PLUGIN), nullptr);
        EXPECT_NE(log.text.find("loaded already"), std::string::npos) << log.text;
    }
    ggml_backend_unload(reg);
    EXPECT_EQ(ggml_backend_reg_count(), families);
}

TEST(loader, finds_libraries_by_their_name_in_a_folder) {
    const size_t families = ggml_backend_reg_count();
    ggml_backend_load_all_from_path(std::filesystem::path(TEST_PLUGIN).parent_path().c_str());
    EXPECT_EQ(ggml_backend_reg_count(), families + 1);
    ggml_backend_unload(ggml_backend_reg_by_name("plugin"));
}

TEST(loader, says_nothing_when_there_is_nothing) {
    const LogCapture log;
    const size_t families = ggml_backend_reg_count();
    ggml_backend_load_all_from_path("/no/such/folder");
    ggml_backend_load_all_from_path(nullptr);
    ggml_backend_load_all();
    EXPECT_EQ(ggml_backend_reg_count(), families);
    EXPECT_EQ(log.text, "");
}

TEST(loader, explains_why_a_file_cannot_be_used) {
    const LogCapture log;
    EXPECT_EQ(ggml_backend_load("/no/such/library.so"), nullptr);
    EXPECT_NE(log.text.find("/no/such/library.so cannot be opened"), std::string::npos) << log.text;
    const std::string broken = testing::TempDir() + "ggml-backend-broken.so";
    std::ofstream(broken) << "not a library";
    EXPECT_EQ(ggml_backend_load(broken.c_str()), nullptr);
    std::filesystem::remove(broken);
    EXPECT_NE(log.text.find("ggml-backend-broken.so cannot be opened"), std::string::npos) << log.text;
}

} // namespace
} // namespace ggml::test
