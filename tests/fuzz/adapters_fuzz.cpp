// Any bytes as an adapter file, up to what it changes in two small models: adapters are refused, or all their
// changes fit the tensors they name and can be added.
#include "engine/adapters/adapter.h"
#include "engine/models/krea2/config.h"
#include "engine/models/qwen3_vl/config.h"
#include "engine/models/test_checkpoint.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace sd;

volatile float sink; // keeps the sums from being optimized away

constexpr int64_t kWidth = 64, kText = 32;

struct Models {
    test::TensorFile diffusion_file{
        krea2_tensors({kWidth, 16, 16, 16, 4, 2, 96, 2, kText, 16, 2, 1, 48, 2, 1, 1, 32})};
    test::TensorFile text_file{{{"model.embed_tokens.weight", {8, kText}},
                                {"model.layers.0.input_layernorm.weight", {kText}},
                                {"model.layers.0.self_attn.q_proj.weight", {kText, kText}},
                                {"model.layers.0.self_attn.k_proj.weight", {16, kText}},
                                {"model.layers.0.self_attn.v_proj.weight", {16, kText}},
                                {"model.layers.0.mlp.down_proj.weight", {kText, 40}}}};
    Checkpoint checkpoint = opened();
    QuantModules none;
    ModelTable diffusion{checkpoint, none, "model.diffusion_model.", krea2_name};
    ModelTable text{checkpoint, none, "text_encoders.llm.", qwen3_vl_name};
    AdapterTargets targets{diffusion, text};

  private:
    Checkpoint opened() const {
        Checkpoint both;
        both.add(diffusion_file.path(), Component::diffusion);
        both.add(text_file.path(), Component::llm);
        return both;
    }
};

// What read_adapter promises of a change to a tensor of n rows of k.
void add(const Change & change, int64_t n, int64_t k) {
    std::vector<float> row(static_cast<size_t>(k), 0.0f);
    add_difference(change, k, 0, 1, row.data());
    add_difference(change, k, n - 1, 1, row.data());
    add_difference(cheapest(change, n, k), k, n - 1, 1, row.data());
    sink = row.back();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    static const Models models;
    static const int file = memfd_create("adapter", 0);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size)) std::abort();
    try {
        const Adapter adapter = read_adapter("/proc/self/fd/" + std::to_string(file), models.targets);
        for (size_t part = 0; part < kAdapterParts; ++part) {
            const ModelTable & table =
                part == size_t(AdapterPart::diffusion) ? models.diffusion : models.text;
            for (const auto & [name, changes] : adapter.changes[part]) {
                // A bias that the layer does not have yet is as long as the layer has rows.
                const ModelTensor * tensor = table.find(name);
                if (tensor == nullptr) continue;
                const auto [n, k] = matrix_sizes(tensor->shape);
                for (const Change & change : changes) add(change, n, k);
            }
        }
    } catch (const Error &) {
    }
    return 0;
}
