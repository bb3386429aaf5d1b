#include "nn/weight_stream.h"

#include "base/error.h"
#include "checkpoint/safetensors/writer.h"
#include "checkpoint/test_folder.h"
#include "tests/support/test_device.h"

#include <thread>

namespace sd {
namespace {

std::string as_stored(std::string_view name) { return std::string(name); }

// Six layers of different sizes; the last two have to be converted.
class WeightStreams : public test::TestFolder {
  protected:
    static constexpr int kLayers = 6;
    static constexpr int64_t kColumns = 256;

    void SetUp() override {
        TestFolder::SetUp();
        std::vector<TensorDeclaration> tensors;
        for (int i = 0; i < kLayers; ++i) {
            tensors.push_back({name(i) + ".weight", StoredType::f32, {80 + 16 * i, kColumns}});
            tensors.push_back({name(i) + ".bias", StoredType::f32, {80 + 16 * i}});
        }
        SafetensorsWriter writer(path("m.safetensors"), tensors);
        for (uint64_t i = 0; i < writer.data_bytes() / sizeof(float); ++i) {
            const auto value = float(i % 1021);
            writer.write(&value, sizeof value);
        }
        writer.finish();
        checkpoint_.add(path("m.safetensors"));
        table_.emplace(checkpoint_, quants_, "", as_stored);
    }

    static std::string name(int i) { return std::string(1, 'l').append(std::to_string(i)); }

    std::unique_ptr<Weights> weights(ggml_backend_buffer_type_t memory, WeightHome home, bool map = true) {
        Weights::Options o;
        o.memory = {{memory, home, MemoryBudget{}}};
        o.map = map;
        o.type_of = [](const TensorInfo & t) { return t.name < "l4" ? GGML_TYPE_F32 : GGML_TYPE_F16; };
        auto w = std::make_unique<Weights>(*table_, o);
        layers_.clear();
        for (int i = 0; i < kLayers; ++i) {
            w->begin_group(name(i));
            layers_.push_back(w->linear(name(i)));
        }
        w->prepare({.threads = 2});
        return w;
    }

    // Layers 0 and 3 stay.
    static std::vector<WeightStream::Segment> segments() {
        return {{{0}, true}, {{1}, false}, {{2}, false}, {{3}, true}, {{4}, false}, {{5}, false}};
    }

    static std::vector<std::byte> bytes_of(const ggml_tensor * t) {
        std::vector<std::byte> out(ggml_nbytes(t));
        ggml_backend_tensor_get(t, out.data(), 0, out.size());
        return out;
    }

    void expect_layer(const std::vector<std::vector<std::byte>> & expected, int i) const {
        EXPECT_EQ(bytes_of(layers_[size_t(i)].weight), expected[size_t(2 * i)]) << i;
        EXPECT_EQ(bytes_of(layers_[size_t(i)].bias), expected[size_t(2 * i + 1)]) << i;
    }

    std::vector<std::vector<std::byte>> expected() {
        const auto w = weights(ggml_backend_cpu_buffer_type(), WeightHome::disk, false);
        const auto all = w->place({0, 1, 2, 3, 4, 5});
        Upload upload(ggml_backend_cpu_buffer_type());
        w->fetch({0, 1, 2, 3, 4, 5}, upload, {});
        std::vector<std::vector<std::byte>> out;
        for (const Linear & l : layers_) {
            out.push_back(bytes_of(l.weight));
            out.push_back(bytes_of(l.bias));
        }
        return out;
    }

    Checkpoint checkpoint_;
    QuantModules quants_;
    std::optional<ModelTable> table_;
    std::vector<Linear> layers_;
};

TEST_F(WeightStreams, weights_have_their_values_whenever_they_are_entered) {
    ggml::test::TestDeviceOptions with_staging, without_streams;
    with_staging.staging = true;
    without_streams.async = false;
    ggml::test::TestDevice device, staged(with_staging), plain(without_streams);
    const auto right = expected();
    for (ggml_backend_buffer_type_t memory :
         {ggml_backend_cpu_buffer_type(), device.buffer_type(), staged.buffer_type(), plain.buffer_type()}) {
        for (const WeightHome home : {WeightHome::host, WeightHome::disk}) {
            for (const bool map : {true, false}) {
                const auto w = weights(memory, home, map);
                for (const size_t slots : {1, 2}) {
                    WeightStream stream(*w, segments(), slots, {});
                    // Around twice; then somewhere else, and the same twice.
                    for (const int i : {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 4, 2, 2, 3, 1}) {
                        stream.enter(size_t(i), nullptr);
                        expect_layer(right, i);
                        stream.leave(size_t(i));
                    }
                }
            }
        }
    }
    EXPECT_EQ(device.counters.bytes_in_use, 0u);
}

TEST_F(WeightStreams, memory_is_that_of_what_stays_and_of_the_slots) {
    ggml::test::TestDevice device;
    const auto w = weights(device.buffer_type(), WeightHome::host);
    for (const size_t slots : {1, 2}) {
        WeightStream stream(*w, segments(), slots, {});
        const uint64_t largest = std::max(w->group_allocated(2), w->group_allocated(5));
        EXPECT_EQ(stream.bytes(), w->group_allocated(0) + w->group_allocated(3) + slots * largest);
        for (const size_t i : {1, 2, 4, 5}) {
            stream.enter(i, nullptr);
            EXPECT_EQ(device.counters.bytes_in_use, stream.bytes());
            stream.leave(i);
        }
    }
    EXPECT_EQ(device.counters.bytes_in_use, 0u);
}

TEST_F(WeightStreams, leaving_early_without_leave_is_forgiven) {
    const auto right = expected();
    const auto w = weights(ggml_backend_cpu_buffer_type(), WeightHome::disk, false);
    WeightStream stream(*w, segments(), 2, {});
    for (const int i : {1, 2, 5, 1, 1, 4, 1, 2, 4, 5}) {
        stream.enter(size_t(i), nullptr);
        expect_layer(right, i);
    }
}

TEST_F(WeightStreams, a_cancel_ends_waiting) {
    ggml::test::TestDevice device;
    const auto w = weights(device.buffer_type(), WeightHome::host);
    WeightStream stream(*w, segments(), 2, {});
    stream.enter(1, nullptr);
    stream.leave(1);
    device.hold();
    std::atomic<bool> cancel = false;
    std::thread other([&] { cancel = true; });
    // What was fetched before may be there; sooner or later one is not.
    EXPECT_THROW(
        {
            for (const size_t i : {2, 4, 5, 1, 2, 4, 5}) {
                stream.enter(i, &cancel);
                stream.leave(i);
            }
        },
        Error);
    other.join();
    device.release();
}

TEST_F(WeightStreams, a_file_that_became_shorter_is_an_error_where_it_is_waited_for) {
    ggml::test::TestDevice device;
    const auto w = weights(device.buffer_type(), WeightHome::disk);
    WeightStream stream(*w, segments(), 1, {});
    std::filesystem::resize_file(path("m.safetensors"), 60000);
    for (int again = 0; again < 2; ++again) {
        EXPECT_THROW(
            {
                for (const size_t i : {1, 2, 4, 5}) {
                    stream.enter(i, nullptr);
                    stream.leave(i);
                }
            },
            Error);
    }
}

TEST_F(WeightStreams, what_does_not_fit_the_device_is_an_error_that_names_it) {
    // Too small for what stays, and for what passes through.
    for (const auto & [bytes, cause] : {std::pair(size_t(200000), "of the memory of SMALL, which has less"),
                                        std::pair(size_t(300000), "the memory of SMALL has no room for ")}) {
        ggml::test::TestDeviceOptions small;
        small.name = "SMALL";
        small.memory = bytes;
        ggml::test::TestDevice device(small);
        const auto w = weights(device.buffer_type(), WeightHome::host);
        try {
            WeightStream stream(*w, segments(), 2, {});
            ADD_FAILURE() << bytes;
        } catch (const Error & e) {
            EXPECT_NE(std::string(e.what()).find(cause), std::string::npos) << e.what();
        }
        EXPECT_EQ(device.counters.bytes_in_use, 0u);
    }
}

} // namespace
} // namespace sd
