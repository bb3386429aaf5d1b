// GGUF through the runtime's own reader, which checks every number; here its records become tensors of the
// engine, and files whose data is missing are refused.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/gguf/open_gguf.h"
#include "checkpoint/limits.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <iterator>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace sd {
namespace {

// ComfyUI's converters keep the shape of tensors they had to reshape under this key and the tensor's name.
constexpr std::string_view kOriginalShape = "comfy.gguf.orig_shape.";

[[noreturn]] void refuse_length(const std::string & most) {
    throw Error({"E_CONTAINER",
                 {},
                 {},
                 "its metadata has more than " + most + ", the most that is read",
                 "the file is damaged, or made to mislead"});
}

struct Reader {
    const File & file;
    std::exception_ptr failure; // of reading the file: no exception may pass through the C API

    static size_t read(void * self, void * out, uint64_t offset, size_t bytes) {
        auto & reader = *static_cast<Reader *>(self);
        try {
            // Tensor data are not asked for, so whatever lies this far is metadata that has no end.
            if (offset > kMostHeaderBytes) refuse_length(std::to_string(kMostHeaderBytes) + " bytes");
            if (offset >= reader.file.size()) return 0;
            bytes = size_t(std::min<uint64_t>(bytes, reader.file.size() - offset));
            reader.file.read(offset, out, bytes);
            return bytes;
        } catch (...) {
            reader.failure = std::current_exception();
            return 0;
        }
    }
};

[[noreturn]] void refuse(std::string_view reason) {
    if (reason.starts_with("out_of_memory:")) throw std::bad_alloc(); // no fault of the file
    const size_t colon = std::min(reason.find(": "), reason.size());
    std::string code = "E_" + std::string(reason.substr(0, colon));
    for (char & c : code) c = c == '.' ? '_' : char(std::toupper(uint8_t(c)));
    const std::string_view cause = reason.substr(std::min(colon + 2, reason.size()));
    const bool incomplete = code == "E_GGUF_TRUNCATED" || code == "E_GGUF_CUT_SHORT";
    throw Error({std::move(code),
                 {},
                 {},
                 std::string(cause.empty() ? reason : cause),
                 incomplete ? "the file is incomplete: fetch it again" : ""});
}

// The counts of tensors and pairs, before anything is made for each of them. Whether they fit the file, and
// whether this is a GGUF file, is for the runtime to say.
void check_counts(const File & file) {
    constexpr uint64_t kCounts = 8; // behind the magic number and the version
    int64_t counts[2] = {};
    if (file.size() < kCounts + sizeof counts) return;
    file.read(kCounts, counts, sizeof counts);
    const int64_t fit = int64_t(std::min<uint64_t>(file.size(), kMostHeaderBytes));
    for (const int64_t count : counts) {
        if (count > int64_t(kMostEntries) && count < fit)
            refuse_length(std::to_string(kMostEntries) + " entries");
    }
}

std::shared_ptr<const gguf_context> open(const File & file) {
    check_counts(file);
    Reader reader{file, nullptr};
    std::string reason;
    std::shared_ptr<const gguf_context> gguf(
        open_gguf(Reader::read, &reader, file.size(), reason),
        [](const gguf_context * g) { gguf_free(const_cast<gguf_context *>(g)); });
    if (reader.failure != nullptr) std::rethrow_exception(reader.failure);
    if (gguf == nullptr) refuse(reason);
    return gguf;
}

// The runtime takes a file that ends before its data for metadata alone. A model needs the data.
void check_data(const gguf_context * gguf, uint64_t size) {
    uint64_t needed = 0;
    for (int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
        if (gguf_get_tensor_size(gguf, i) == 0) continue;
        // Each is at most half of what 64 bits count, so the three cannot wrap.
        const uint64_t end = uint64_t(gguf_get_tensor_offset(gguf, i)) + gguf_get_tensor_size(gguf, i);
        needed = std::max(needed, gguf_get_data_offset(gguf) + end);
    }
    if (needed <= size) return;
    refuse("gguf.truncated: the file is shorter than its header says: " + std::to_string(size) + " of " +
           std::to_string(needed) + " bytes");
}

// The API has four sizes and does not tell how many the file gave: outer ones are dropped.
std::vector<int64_t> shape_of(const gguf_context * gguf, int64_t id) {
    const int64_t * ne = gguf_get_tensor_ne(gguf, id);
    int rank = GGML_MAX_DIMS;
    while (rank > 1 && ne[rank - 1] == 1) --rank;
    return {std::make_reverse_iterator(ne + rank), std::make_reverse_iterator(ne)};
}

// The integers of an array of any integer type; nothing for other pairs and for numbers beyond int64.
std::optional<std::vector<int64_t>> integers(const gguf_context * gguf, int64_t key) {
    if (gguf_get_kv_type(gguf, key) != GGUF_TYPE_ARRAY) return std::nullopt;
    const gguf_type type = gguf_get_arr_type(gguf, key);
    const size_t count = gguf_get_arr_n(gguf, key);
    if (count > size_t(kMaxRank) || type == GGUF_TYPE_STRING) return std::nullopt;
    const void * data = gguf_get_arr_data(gguf, key);
    std::vector<int64_t> out;
    for (size_t i = 0; i < count; ++i) {
        switch (type) {
        case GGUF_TYPE_INT32: out.push_back(static_cast<const int32_t *>(data)[i]); break;
        case GGUF_TYPE_UINT32: out.push_back(static_cast<const uint32_t *>(data)[i]); break;
        case GGUF_TYPE_INT64: out.push_back(static_cast<const int64_t *>(data)[i]); break;
        case GGUF_TYPE_UINT64: {
            const uint64_t value = static_cast<const uint64_t *>(data)[i];
            if (value > uint64_t(std::numeric_limits<int64_t>::max())) return std::nullopt;
            out.push_back(int64_t(value));
            break;
        }
        default: return std::nullopt;
        }
    }
    return out;
}

// Gives a tensor its original shape. The elements and their order stay, so rows may cut through a block.
void restore_shape(const gguf_context * gguf, int64_t key, TensorInfo & tensor) {
    const auto wrong = [&](const std::string & cause) {
        throw Error({"E_GGUF_ORIG_SHAPE",
                     {},
                     tensor.name,
                     std::string(gguf_get_key(gguf, key)) + " " + cause,
                     "convert the model again"});
    };
    const auto shape = integers(gguf, key);
    if (!shape) {
        wrong("is not a list of at most " + std::to_string(kMaxRank) + " whole numbers");
        return;
    }
    // As bytes of single elements: whole rows need not be whole blocks.
    const auto count = tensor_bytes(StoredType::u8, *shape);
    // A dimension of 0 makes the count fit whatever the others are; those must still be countable in bytes.
    const bool countable = is_blocks(tensor.type) || tensor_bytes(tensor.type, *shape).has_value();
    if (!count || int64_t(*count) != tensor.elements() || !countable) {
        wrong("is " + shape_text(*shape) + ", which does not fit the stored " + shape_text(tensor.shape));
    }
    tensor.shape = *shape;
}

void restore_shapes(const gguf_context * gguf, Container & out) {
    std::map<std::string_view, int64_t> keys;
    for (int64_t i = 0; i < gguf_get_n_kv(gguf); ++i) {
        const std::string_view key = gguf_get_key(gguf, i);
        if (key.starts_with(kOriginalShape)) keys[key.substr(kOriginalShape.size())] = i;
    }
    if (keys.empty()) return;
    for (TensorInfo & tensor : out.tensors) {
        const auto found = keys.find(tensor.name);
        if (found == keys.end()) continue;
        restore_shape(gguf, found->second, tensor);
        keys.erase(found);
    }
    if (keys.empty()) return;
    std::string first = "\"";
    first.append(printable(keys.begin()->first)).append("\"");
    const std::string more = keys.size() > 1 ? " and " + std::to_string(keys.size() - 1) + " more" : "";
    out.warnings.push_back("original shapes are given for tensors that are not there: " + first + more);
}

} // namespace

Container read_gguf(const File & file) try {
    Container out{ContainerKind::gguf, {}, {}, open(file), {}};
    const gguf_context * gguf = out.pairs.get();
    check_data(gguf, file.size());
    out.tensors.reserve(size_t(gguf_get_n_tensors(gguf)));
    for (int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
        TensorInfo tensor;
        tensor.name = gguf_get_tensor_name(gguf, i);
        check_tensor_name(tensor.name);
        tensor.type = stored_type(gguf_get_tensor_type(gguf, i));
        tensor.shape = shape_of(gguf, i);
        tensor.bytes = gguf_get_tensor_size(gguf, i);
        // An empty tensor may claim any place; it gets one that every file has.
        if (tensor.bytes > 0) tensor.offset = gguf_get_data_offset(gguf) + gguf_get_tensor_offset(gguf, i);
        out.tensors.push_back(std::move(tensor));
    }
    restore_shapes(gguf, out);
    return out;
} catch (const Error & e) {
    throw e.in_file(file.path());
}

} // namespace sd
