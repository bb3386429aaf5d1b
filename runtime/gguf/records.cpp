#include "runtime/gguf/read.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cinttypes>

namespace ggml::gguf {
namespace {

Status read_record(Source & source, int64_t number, TensorRecord & record) {
    if (Status s = read_string(source, "a tensor name", record.name); !s.ok()) return s;
    const char * name = record.name.c_str();
    if (record.name.empty() || record.name.find('\0') != std::string::npos) {
        return failure("gguf.tensor_name", "the name of tensor %" PRId64 " is empty or contains a zero byte",
                       number);
    }
    if (!source.read_value(record.n_dims)) return cut_short(source, name);
    if (record.n_dims < 1 || record.n_dims > GGML_MAX_DIMS) {
        return failure("gguf.rank", "tensor '%s' has %" PRIu32 " dimensions; 1 to %d are possible", name,
                       record.n_dims, GGML_MAX_DIMS);
    }
    for (uint32_t i = 0; i < record.n_dims; ++i) {
        if (!source.read_value(record.ne[i])) return cut_short(source, name);
        if (record.ne[i] < 0) {
            return failure("gguf.dimension", "tensor '%s' has size %" PRId64 " in dimension %" PRIu32, name,
                           record.ne[i], i);
        }
    }
    int32_t type;
    if (!source.read_value(type)) return cut_short(source, name);
    if (type < 0 || type >= GGML_TYPE_COUNT || type_info(ggml_type(type)).block == 0) {
        return failure("gguf.tensor_type", "tensor '%s' has type %" PRId32 ", which does not exist", name,
                       type);
    }
    record.type = ggml_type(type);
    if (!source.read_value(record.offset)) return cut_short(source, name);
    return set_record_bytes(record);
}

} // namespace

Status set_record_bytes(TensorRecord & record) {
    const TypeInfo & info = type_info(record.type);
    const Shape ne = {record.ne[0], record.ne[1], record.ne[2], record.ne[3]};
    if (ne[0] % info.block != 0) {
        return failure("gguf.block",
                       "tensor '%s' has %" PRId64 " elements per row; %s needs a multiple of %" PRId64,
                       record.name.c_str(), ne[0], info.name, info.block);
    }
    Strides nb;
    if (!contiguous_strides(record.type, ne, nb) || !span_bytes(record.type, ne, nb, record.bytes)) {
        return failure("gguf.too_large",
                       "tensor '%s' of shape [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                       "] is larger than memory addresses reach",
                       record.name.c_str(), ne[0], ne[1], ne[2], ne[3]);
    }
    return {};
}

Status read_records(Source & source, int64_t count, gguf_context & out) {
    for (int64_t i = 0; i < count; ++i) {
        TensorRecord record;
        if (Status s = read_record(source, i, record); !s.ok()) return s;
        out.tensors.push_back(std::move(record));
    }
    std::vector<const std::string *> names;
    for (const TensorRecord & record : out.tensors) names.push_back(&record.name);
    std::sort(names.begin(), names.end(), [](const auto * a, const auto * b) { return *a < *b; });
    for (size_t i = 1; i < names.size(); ++i) {
        if (*names[i] == *names[i - 1]) {
            return failure("gguf.duplicate_tensor", "tensor name '%s' occurs twice", names[i]->c_str());
        }
    }
    return {};
}

} // namespace ggml::gguf
