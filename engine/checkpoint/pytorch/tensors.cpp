#include "checkpoint/pytorch/tensors.h"

#include "base/error.h"

#include <limits>

namespace sd::pytorch {
namespace {

enum class Rebuild { tensor, typed_tensor, wrapped, wrapped_by_type, refused };

struct Function {
    std::string_view name;
    Rebuild rebuild;
    const char * cause = "";
    const char * advice = "";
};

constexpr const char * kDense = "call .to_dense() on it before saving";

// The functions torch.save names for tensors.
constexpr Function kFunctions[] = {
    {"torch._utils._rebuild_tensor", Rebuild::tensor},
    {"torch._utils._rebuild_tensor_v2", Rebuild::tensor},
    {"torch._utils._rebuild_tensor_v3", Rebuild::typed_tensor},
    {"torch._utils._rebuild_parameter", Rebuild::wrapped},
    {"torch._utils._rebuild_parameter_with_state", Rebuild::wrapped},
    {"torch._tensor._rebuild_from_type", Rebuild::wrapped_by_type},
    {"torch._tensor._rebuild_from_type_v2", Rebuild::wrapped_by_type},
    {"torch._utils._rebuild_sparse_tensor", Rebuild::refused, "is sparse", kDense},
    {"torch._utils._rebuild_sparse_csr_tensor", Rebuild::refused, "is sparse", kDense},
    {"torch._utils._rebuild_nested_tensor", Rebuild::refused, "is nested",
     "save its parts as tensors of their own"},
    {"torch._utils._rebuild_qtensor", Rebuild::refused, "is quantized by torch",
     "call .dequantize() on it before saving"},
    {"torch._utils._rebuild_meta_tensor_no_storage", Rebuild::refused,
     "is on the meta device, so the file has no data for it", "load the weights before saving"},
    {"torch._utils._rebuild_wrapper_subclass", Rebuild::refused, "is of a class of its own",
     "convert it to a plain tensor before saving"},
    {"torch._utils._rebuild_device_tensor_from_numpy", Rebuild::refused, "is saved for one device only",
     "call .cpu() on it before saving"},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", Rebuild::refused, "is saved for one device only",
     "call .cpu() on it before saving"},
};

struct DataType {
    std::string_view name;
    StoredType type;
};

constexpr DataType kDataTypes[] = {
    {"torch.float32", StoredType::f32},
    {"torch.float16", StoredType::f16},
    {"torch.float64", StoredType::f64},
    {"torch.bfloat16", StoredType::bf16},
    {"torch.int64", StoredType::i64},
    {"torch.int32", StoredType::i32},
    {"torch.int16", StoredType::i16},
    {"torch.int8", StoredType::i8},
    {"torch.uint8", StoredType::u8},
    {"torch.uint16", StoredType::u16},
    {"torch.uint32", StoredType::u32},
    {"torch.uint64", StoredType::u64},
    {"torch.bool", StoredType::boolean},
    {"torch.float8_e4m3fn", StoredType::f8_e4m3},
    {"torch.float8_e5m2", StoredType::f8_e5m2},
    {"torch.float8_e8m0fnu", StoredType::f8_e8m0},
};

const Function * function_of(const Heap & heap, Value value) {
    if (value.kind != Kind::global) return nullptr;
    const std::string & name = heap.name(value);
    for (const Function & f : kFunctions) {
        if (f.name == name) return &f;
    }
    return nullptr;
}

// One tensor on its way from the call to the file.
struct Tensor {
    const Heap & heap;
    const std::string & name;

    [[noreturn]] void fail(std::string cause, std::string advice = {}) const {
        throw Error({"E_TENSOR", {}, name, std::move(cause), std::move(advice)});
    }

    const std::vector<Value> & tuple(Value v, size_t at_least) const {
        if (v.kind != Kind::tuple || heap.items(v).size() < at_least) fail("is not described completely");
        return heap.items(v);
    }

    std::vector<int64_t> integers(Value v) const {
        std::vector<int64_t> out;
        const std::vector<Value> & items = tuple(v, 0);
        if (items.size() > size_t(kMaxRank)) {
            fail("has " + std::to_string(items.size()) + " dimensions; at most " + std::to_string(kMaxRank) +
                 " are possible");
        }
        for (const Value item : items) {
            if (item.kind != Kind::integer) fail("is not described completely");
            out.push_back(item.number);
        }
        return out;
    }

    // Follows wrappers to the function that rebuilds the tensor and its arguments.
    const Function & unwrap(Value call, Value & arguments) const {
        Value callee = heap.items(call)[0];
        arguments = heap.items(call)[1];
        // Parameters wrap tensors, and subclasses of tensors wrap parameters.
        for (int depth = 0; depth < 4; ++depth) {
            const Function * f = function_of(heap, callee);
            if (f == nullptr) fail("is rebuilt by a function that is not known");
            if (f->rebuild == Rebuild::refused) fail(f->cause, f->advice);
            if (f->rebuild == Rebuild::wrapped) {
                const Value inner = tuple(arguments, 1)[0];
                if (inner.kind != Kind::call) fail("is not described completely");
                callee = heap.items(inner)[0];
                arguments = heap.items(inner)[1];
            } else if (f->rebuild == Rebuild::wrapped_by_type) {
                const std::vector<Value> & parts = tuple(arguments, 3);
                callee = parts[0];
                arguments = parts[2];
            } else {
                return *f;
            }
        }
        fail("is wrapped too often");
    }

    StorageId storage(Value v) const {
        if (v.kind != Kind::stored) fail("is not described completely");
        try {
            return storage_id(heap, v);
        } catch (const Error & e) {
            fail(e.parts().cause, e.parts().advice);
        }
    }

    StoredType data_type(Value v) const {
        if (v.kind != Kind::global) fail("is not described completely");
        for (const DataType & known : kDataTypes) {
            if (known.name == heap.name(v)) return known.type;
        }
        fail("has elements of type " + printable(heap.name(v)) + ", which cannot be read",
             "convert it to a plain type with .to() before saving");
    }

    // What complex numbers leave behind: values that are to be changed when they are read.
    void check_metadata(const std::vector<Value> & arguments, size_t which) const {
        if (arguments.size() <= which || arguments[which].kind != Kind::dict) return;
        const std::vector<Value> & items = heap.items(arguments[which]);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (items[i + 1].kind == Kind::boolean && items[i + 1].number == 1) {
                fail("is a view that changes the values it shows", "call .clone() on it before saving");
            }
        }
    }

    // Fills strides, where they are needed, and returns how many elements of the storage are spanned.
    int64_t span(TensorInfo & out, const std::vector<int64_t> & strides) const {
        if (strides.size() != out.shape.size()) {
            fail("has " + std::to_string(out.shape.size()) + " sizes and " + std::to_string(strides.size()) +
                 " strides");
        }
        int64_t expected = 1, last = 0;
        bool contiguous = true;
        for (size_t i = strides.size(); i-- > 0;) {
            if (strides[i] < 0) fail("has a stride of " + std::to_string(strides[i]));
            if (out.shape[i] == 1) continue; // never stepped over, so its stride means nothing
            contiguous = contiguous && strides[i] == expected;
            expected *= out.shape[i];
            int64_t step;
            if (__builtin_mul_overflow(out.shape[i] - 1, strides[i], &step) ||
                __builtin_add_overflow(last, step, &last) || last == std::numeric_limits<int64_t>::max()) {
                fail("of shape " + shape_text(out.shape) + " and strides " + shape_text(strides) +
                     " is larger than any file");
            }
        }
        if (!contiguous) out.strides = strides;
        return last + 1;
    }
};

void check_bounds(const Tensor & t, TensorInfo & out, const StorageId & id, const Place & place,
                  int64_t first, const std::vector<int64_t> & strides) {
    const uint64_t unit = element_bytes(out.type);
    const uint64_t have = uint64_t(id.elements) / (id.untyped ? unit : 1); // elements of the tensor's type
    if (have > place.bytes / unit) {
        t.fail("its storage \"" + printable(id.key) + "\" has " + std::to_string(place.bytes) +
               " bytes in the file, too few for " + std::to_string(have) + " elements of type " +
               type_name(out.type));
    }
    if (first < 0) t.fail("starts at element " + std::to_string(first) + " of its storage");
    if (out.elements() == 0) {
        if (strides.size() != out.shape.size()) t.fail("has another number of sizes than of strides");
        out.offset = place.offset;
        return;
    }
    const int64_t span = t.span(out, strides);
    if (uint64_t(first) > have || uint64_t(span) > have - uint64_t(first)) {
        t.fail("of shape " + shape_text(out.shape) + " needs elements " + std::to_string(first) + " to " +
               std::to_string(uint64_t(first) + uint64_t(span) - 1) + " of a storage that has " +
               std::to_string(have));
    }
    out.offset = place.offset + uint64_t(first) * unit;
    out.bytes = uint64_t(span) * unit;
}

} // namespace

bool is_tensor(const Heap & heap, Value value) {
    return value.kind == Kind::call && function_of(heap, heap.items(value)[0]) != nullptr;
}

TensorInfo tensor_of(const Heap & heap, Value value, const std::string & name, const FindStorage & find,
                     uint64_t file_bytes) {
    const Tensor t{heap, name};
    Value call;
    const Function & function = t.unwrap(value, call);
    const bool typed = function.rebuild == Rebuild::typed_tensor;
    // (storage, offset, sizes, strides[, requires_grad, hooks[, type][, metadata]])
    const std::vector<Value> & arguments = t.tuple(call, typed ? 7 : 4);
    if (arguments[1].kind != Kind::integer) t.fail("is not described completely");
    const StorageId id = t.storage(arguments[0]);
    if (id.untyped != typed) t.fail("does not say of which type its elements are");

    TensorInfo out;
    out.name = name;
    out.type = typed ? t.data_type(arguments[6]) : id.type;
    out.shape = t.integers(arguments[2]);
    t.check_metadata(arguments, typed ? 7 : 6);
    // Shows of one element repeated (strides of 0) may have more elements than the storage, not than a file
    // of this size: whoever unfolds them must not run out of memory.
    const auto bytes = tensor_bytes(out.type, out.shape);
    if (!bytes || *bytes > file_bytes) {
        t.fail("of shape " + shape_text(out.shape) + " and type " + type_name(out.type) +
               " is larger than the file it is in");
    }
    try {
        check_bounds(t, out, id, find(id.key), arguments[1].number, t.integers(arguments[3]));
    } catch (const Error & e) {
        if (!e.parts().tensor.empty()) throw;
        t.fail(e.parts().cause, e.parts().advice);
    }
    return out;
}

} // namespace sd::pytorch
