// Any bytes as a GGUF file of the engine: either a reason, or tensors that lie inside the file.
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
        const sd::Container container = sd::read_gguf(file);
        if (container.pairs == nullptr) std::abort();
        for (const sd::TensorInfo & t : container.tensors) {
            if (t.offset > size || t.bytes > size - t.offset || t.elements() < 0) std::abort();
            if (t.shape.size() > size_t(sd::kMaxRank)) std::abort();
            // An original shape need not be rows of whole blocks.
            if (!sd::is_blocks(t.type) && t.bytes != *sd::tensor_bytes(t.type, t.shape)) std::abort();
            if (t.name.empty() || !names.insert(t.name).second) std::abort();
        }
    } catch (const sd::Error &) {
    }
    return 0;
}
