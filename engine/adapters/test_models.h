// For tests: the tables of small models without values, and adapter files of whatever tensors.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/test_folder.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"
#include "models/test_checkpoint.h"

#include <optional>

namespace sd::test {

struct AdapterTensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values = {};    // empty: 1, 2, 3 and so on, an eighth each
    StoredType type = StoredType::f32; // as F32 its values, of others zeros
};

inline std::vector<float> values_of(const AdapterTensor & t) {
    if (!t.values.empty()) return t.values;
    std::vector<float> values(size_t(*tensor_bytes(StoredType::u8, t.shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i + 1) / 8.0f;
    return values;
}

class AdapterTest : public TestFolder {
  protected:
    static constexpr int64_t kWidth = 64, kText = 32;

    void SetUp() override {
        TestFolder::SetUp();
        const Krea2Config dit = {kWidth, 16, 16, 16, 4, 2, 96, 2, kText, 16, 2, 1, 48, 2, 1, 1, 32};
        std::vector<ExpectedTensor> tensors = krea2_tensors(dit);
        diffusion_file_.emplace(tensors);
        text_file_.emplace(
            std::vector<ExpectedTensor>{{"model.embed_tokens.weight", {8, kText}},
                                        {"model.layers.0.input_layernorm.weight", {kText}},
                                        {"model.layers.0.self_attn.q_proj.weight", {kText, kText}},
                                        {"model.layers.0.self_attn.k_proj.weight", {16, kText}},
                                        {"model.layers.0.self_attn.v_proj.weight", {16, kText}},
                                        {"model.layers.0.mlp.down_proj.weight", {kText, 40}}});
        checkpoint_.add(diffusion_file_->path(), Component::diffusion);
        checkpoint_.add(text_file_->path(), Component::llm);
        diffusion_.emplace(checkpoint_, none_, "model.diffusion_model.", krea2_name);
        text_.emplace(checkpoint_, none_, "text_encoders.llm.", qwen3_vl_name);
        targets_.emplace(*diffusion_, *text_);
    }

    std::string put_adapter(const std::string & name, const std::vector<AdapterTensor> & tensors) const {
        std::vector<TensorDeclaration> declarations;
        for (const AdapterTensor & t : tensors) declarations.push_back({t.name, t.type, t.shape});
        SafetensorsWriter writer(path(name), declarations);
        for (const AdapterTensor & t : tensors) {
            const std::vector<float> values = values_of(t);
            if (t.type == StoredType::f32)
                writer.write(values.data(), values.size() * sizeof(float));
            else
                writer.write(std::string(size_t(*tensor_bytes(t.type, t.shape)), '\0').data(),
                             size_t(*tensor_bytes(t.type, t.shape)));
        }
        writer.finish();
        return path(name);
    }

    Adapter read(const std::vector<AdapterTensor> & tensors) const {
        return read_adapter(put_adapter("a.safetensors", tensors), *targets_);
    }
    // Without the file's name.
    std::string refusal(const std::vector<AdapterTensor> & tensors) const {
        const std::string line = refusal_of([&] { read(tensors); });
        const std::string file = path("a.safetensors") + ": ";
        return line.starts_with(file) ? line.substr(file.size()) : line;
    }

    std::optional<TensorFile> diffusion_file_, text_file_;
    Checkpoint checkpoint_;
    QuantModules none_;
    std::optional<ModelTable> diffusion_, text_;
    std::optional<AdapterTargets> targets_;
};

} // namespace sd::test
