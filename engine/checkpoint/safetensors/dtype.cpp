#include "checkpoint/safetensors/dtype.h"

#include "base/error.h"

#include <algorithm>
#include <iterator>

namespace sd {
namespace {

// They are the names of tensor_info.cpp.
constexpr StoredType kTypes[] = {
    StoredType::f64,     StoredType::f32,     StoredType::f16,     StoredType::bf16,
    StoredType::i64,     StoredType::i32,     StoredType::i16,     StoredType::i8,
    StoredType::u64,     StoredType::u32,     StoredType::u16,     StoredType::u8,
    StoredType::f8_e4m3, StoredType::f8_e5m2, StoredType::f8_e8m0, StoredType::boolean,
};

// Of the container's specification, but nothing this engine runs has them.
constexpr std::string_view kUnsupported[] = {
    "F4", "F6_E2M3", "F6_E3M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64",
};

std::string known() {
    std::string names;
    for (const StoredType type : kTypes) names += std::string(names.empty() ? "" : ", ") + type_name(type);
    return names;
}

} // namespace

StoredType safetensors_dtype(std::string_view name, const std::string & tensor) {
    for (const StoredType type : kTypes) {
        if (name == type_name(type)) return type;
    }
    const bool unsupported =
        std::find(std::begin(kUnsupported), std::end(kUnsupported), name) != std::end(kUnsupported);
    throw Error({"E_CONTAINER",
                 {},
                 tensor,
                 unsupported ? "elements of type " + in_quotes(name, 40) + " are not supported"
                             : "its dtype " + in_quotes(name, 40) + " is unknown",
                 "known are " + known()});
}

const char * safetensors_dtype_name(StoredType type) {
    const bool known = std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
    return known ? type_name(type) : nullptr;
}

} // namespace sd
