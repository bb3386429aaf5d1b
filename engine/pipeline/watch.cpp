#include "pipeline/watch.h"

#include "checkpoint/safetensors/writer.h"

namespace sd {

void Watch::write(const std::string & path) const {
    std::vector<TensorDeclaration> declarations;
    for (const auto & [name, t] : tensors_) {
        declarations.push_back({name, t.ints.empty() ? StoredType::f32 : StoredType::i32, t.shape});
    }
    SafetensorsWriter writer(path, declarations);
    for (const auto & [name, t] : tensors_) {
        if (t.ints.empty())
            writer.write(t.floats.data(), t.floats.size() * sizeof(float));
        else
            writer.write(t.ints.data(), t.ints.size() * sizeof(int32_t));
    }
    writer.finish();
}

} // namespace sd
