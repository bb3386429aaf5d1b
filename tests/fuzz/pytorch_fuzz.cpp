// Any bytes as a file of torch.save: either a reason, or tensors that lie inside the file.
#include "engine/base/error.h"
#include "engine/checkpoint/container.h"

#include <cstdlib>
#include <cstring>
#include <set>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    std::vector<std::byte> bytes(size);
    if (size > 0) std::memcpy(bytes.data(), data, size);
    const sd::File file = sd::File::of_bytes("fuzz", std::move(bytes));
    try {
        std::set<std::string> names;
        for (const sd::TensorInfo & t : sd::read_pytorch(file).tensors) {
            if (t.offset > size || t.bytes > size - t.offset || t.elements() < 0) std::abort();
            if (t.strides.empty() && t.bytes != *sd::tensor_bytes(t.type, t.shape)) std::abort();
            if (!t.strides.empty() && t.strides.size() != t.shape.size()) std::abort();
            if (t.name.empty() || !names.insert(t.name).second) std::abort();
        }
    } catch (const sd::Error &) {
    }
    return 0;
}
