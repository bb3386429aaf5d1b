#include "base/error.h"
#include "checkpoint/safetensors/writer.h"
#include "checkpoint/test_folder.h"
#include "nn/weights.h"
#include "tests/support/test_device.h"

#include <atomic>
#include <cstring>

namespace sd {
namespace {

std::string as_stored(std::string_view name) { return std::string(name); }

// A file with a layer that is copied in several pieces, one that is converted, and what goes with them.
class LoadTensors : public test::TestFolder {
  protected:
    static constexpr int64_t kRows = 1100, kColumns = 2048;

    void SetUp() override {
        TestFolder::SetUp();
        const std::vector<TensorDeclaration> tensors = {{"a.weight", StoredType::i8, {kRows, kColumns}},
                                                        {"a.weight_scale", StoredType::f32, {kRows, 1}},
                                                        {"b.weight", StoredType::bf16, {kRows, kColumns}},
                                                        {"b.bias", StoredType::f16, {kRows}},
                                                        {"a.comfy_quant", StoredType::u8, {66}}};
        const std::string settings = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":64})";
        SafetensorsWriter writer(path("m.safetensors"), tensors);
        for (uint64_t i = 0; i < writer.data_bytes() - settings.size(); ++i) {
            const char byte = char(i * 37 % 61); // no exponent of all ones in any of the types
            writer.write(&byte, 1);
        }
        writer.write(settings.data(), settings.size());
        writer.finish();
        checkpoint_.add(path("m.safetensors"));
        quants_ = find_quant_modules(checkpoint_);
        table_.emplace(checkpoint_, quants_, "", as_stored);
    }

    struct Loaded {
        std::vector<std::vector<std::byte>> tensors;
        std::vector<uint64_t> told;
        uint64_t total = 0;
    };

    Loaded load(ggml_backend_buffer_type_t memory, ggml_type type, bool map = false) {
        Loaded out;
        Weights::Options options;
        options.memory = {{memory}};
        options.map = map;
        options.type_of = [&](const TensorInfo &) { return type; };
        options.progress = [&](uint64_t done, uint64_t total) {
            out.told.push_back(done);
            out.total = total;
        };
        Weights weights(*table_, options);
        const Linear a = weights.linear("a"), b = weights.linear("b");
        weights.load({.threads = 3});
        EXPECT_EQ(out.total, weights.bytes_allocated(0));
        for (const ggml_tensor * t : {a.weight, a.scale, b.weight, b.bias}) {
            out.tensors.emplace_back(ggml_nbytes(t));
            ggml_backend_tensor_get(t, out.tensors.back().data(), 0, ggml_nbytes(t));
        }
        return out;
    }

    Checkpoint checkpoint_;
    QuantModules quants_;
    std::optional<ModelTable> table_;
};

TEST_F(LoadTensors, bytes_are_those_of_the_file_in_host_memory_and_on_a_device) {
    ggml::test::TestDevice device;
    std::vector<std::byte> stored(size_t(kRows * kColumns));
    read_stored(checkpoint_, checkpoint_.get("a.weight"), {}, stored.data());
    for (const ggml_type type : {GGML_TYPE_BF16, GGML_TYPE_F16, GGML_TYPE_Q8_0}) {
        const Loaded mapped = load(ggml_backend_cpu_buffer_type(), type, true);
        const Loaded host = load(ggml_backend_cpu_buffer_type(), type);
        const Loaded own = load(device.buffer_type(), type);
        EXPECT_EQ(host.tensors[0], stored);
        EXPECT_EQ(mapped.tensors, host.tensors);
        EXPECT_EQ(own.tensors, host.tensors);
    }
}

TEST_F(LoadTensors, progress_rises_to_the_bytes_of_all_tensors) {
    ggml::test::TestDevice device;
    for (ggml_backend_buffer_type_t memory : {ggml_backend_cpu_buffer_type(), device.buffer_type()}) {
        const Loaded loaded = load(memory, GGML_TYPE_F16);
        EXPECT_GT(loaded.told.size(), 4u);
        EXPECT_TRUE(std::is_sorted(loaded.told.begin(), loaded.told.end()));
        EXPECT_EQ(loaded.told.back(), loaded.total);
    }
}

TEST_F(LoadTensors, a_file_that_became_shorter_and_a_cancel_are_errors) {
    Weights::Options options;
    options.memory = {{ggml_backend_cpu_buffer_type()}};
    options.map = false;
    const auto refusal = [&](const std::atomic<bool> & cancel) -> std::string {
        Weights weights(*table_, options);
        weights.linear("a");
        try {
            weights.load({.threads = 2, .cancel = &cancel});
        } catch (const Error & e) {
            return e.parts().code + " " + e.parts().cause;
        }
        return "loaded";
    };
    EXPECT_EQ(refusal(false), "loaded");
    EXPECT_EQ(refusal(true).substr(0, 11), "E_CANCELLED");
    std::filesystem::resize_file(path("m.safetensors"), 100000);
    EXPECT_EQ(refusal(false).substr(0, 39), "E_FILE became shorter while it was read");
}

} // namespace
} // namespace sd
