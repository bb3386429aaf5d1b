#include "runtime/gguf/read.h"

#include "runtime/base/math.h"

#include <algorithm>
#include <cinttypes>

namespace ggml::gguf {
namespace {

// The smallest pair (empty key is refused, so one byte of key) and the smallest record a file can hold.
constexpr uint64_t kSmallestPair = 8 + 1 + 4 + 1, kSmallestRecord = 8 + 4 + 8 + 4 + 8;

Status read_header(Source & source, gguf_context & out, int64_t & n_tensors, int64_t & n_pairs) {
    char magic[4];
    if (!source.read(magic, sizeof magic)) return cut_short(source, "the magic number");
    if (std::memcmp(magic, GGUF_MAGIC, sizeof magic) != 0) {
        return failure("gguf.bad_magic", "the file starts with %02x %02x %02x %02x, not with \"GGUF\"",
                       uint8_t(magic[0]), uint8_t(magic[1]), uint8_t(magic[2]), uint8_t(magic[3]));
    }
    if (!source.read_value(out.version)) return cut_short(source, "the version");
    if ((out.version & 0xffffu) == 0) {
        return failure("gguf.byte_order",
                       "version 0x%08" PRIx32 ": the file was written for the other byte order", out.version);
    }
    if (out.version < 2 || out.version > GGUF_VERSION) {
        return failure("gguf.version", "version %" PRIu32 "; versions 2 and %d can be read", out.version,
                       GGUF_VERSION);
    }
    if (!source.read_value(n_tensors) || !source.read_value(n_pairs)) return cut_short(source, "the counts");
    if (n_tensors < 0 || uint64_t(n_tensors) > source.remaining() / kSmallestRecord) {
        return failure("gguf.tensor_count", "%" PRId64 " tensors cannot be in %" PRIu64 " bytes", n_tensors,
                       source.remaining());
    }
    if (n_pairs < 0 || uint64_t(n_pairs) > source.remaining() / kSmallestPair) {
        return failure("gguf.pair_count", "%" PRId64 " key/value pairs cannot be in %" PRIu64 " bytes",
                       n_pairs, source.remaining());
    }
    return {};
}

Status read_alignment(gguf_context & out) {
    const int64_t id = gguf_find_key(&out, GGUF_KEY_GENERAL_ALIGNMENT);
    if (id < 0) return {};
    if (gguf_get_kv_type(&out, id) != GGUF_TYPE_UINT32) {
        return failure("gguf.alignment", "%s has type %s; it must be u32", GGUF_KEY_GENERAL_ALIGNMENT,
                       gguf_type_name(gguf_get_kv_type(&out, id)));
    }
    out.alignment = gguf_get_val_u32(&out, id);
    if (!is_power_of_two(out.alignment)) {
        return failure("gguf.alignment", "%s is %zu; it must be a power of two", GGUF_KEY_GENERAL_ALIGNMENT,
                       out.alignment);
    }
    return {};
}

// Every tensor lies at a multiple of the alignment, and no two share bytes.
Status check_places(gguf_context & out) {
    std::vector<const TensorRecord *> order;
    for (const TensorRecord & record : out.tensors) {
        uint64_t end;
        if (record.offset % out.alignment != 0) {
            return failure("gguf.offset",
                           "tensor '%s' starts at %" PRIu64 ", not a multiple of the alignment %zu",
                           record.name.c_str(), record.offset, out.alignment);
        }
        if (!checked_add(record.offset, uint64_t(record.bytes), end) || end > SIZE_MAX / 2) {
            return failure("gguf.offset", "tensor '%s' starts at %" PRIu64 ", beyond any file",
                           record.name.c_str(), record.offset);
        }
        if (record.bytes == 0) continue; // takes no place, wherever it says it is
        out.data_bytes = std::max(out.data_bytes, size_t(end));
        order.push_back(&record);
    }
    std::sort(order.begin(), order.end(),
              [](const auto * a, const auto * b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i) {
        if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes) {
            return failure("gguf.overlap", "tensors '%s' and '%s' share bytes", order[i - 1]->name.c_str(),
                           order[i]->name.c_str());
        }
    }
    return {};
}

Status check_data(const Source & source, bool data_required, const gguf_context & out) {
    const uint64_t size = source.position() + source.remaining();
    const bool metadata_only = size <= out.data_offset;
    if (out.data_bytes == 0 || (metadata_only && !data_required)) return {};
    uint64_t needed;
    if (!checked_add(uint64_t(out.data_offset), uint64_t(out.data_bytes), needed) || needed > size) {
        return failure("gguf.truncated",
                       "the file is shorter than its header says: %" PRIu64 " of %" PRIu64 " bytes", size,
                       needed);
    }
    return {};
}

} // namespace

Status cut_short(const Source & source, const char * what) {
    return failure("gguf.cut_short", "the file ends inside %s, near byte %" PRIu64, what, source.position());
}

Status read_string(Source & source, const char * what, std::string & out) {
    uint64_t length;
    if (!source.read_value(length)) return cut_short(source, what);
    if (length > source.remaining()) {
        return failure("gguf.string_length", "%s has a length of %" PRIu64 " bytes, but %" PRIu64 " are left",
                       what, length, source.remaining());
    }
    std::vector<char> text;
    if (!source.append(text, length)) return cut_short(source, what);
    out.assign(text.begin(), text.end());
    return {};
}

Status read_container(Source & source, bool data_required, gguf_context & out) {
    int64_t n_tensors = 0, n_pairs = 0;
    if (Status s = read_header(source, out, n_tensors, n_pairs); !s.ok()) return s;
    if (Status s = read_pairs(source, n_pairs, out); !s.ok()) return s;
    if (Status s = read_alignment(out); !s.ok()) return s;
    if (Status s = read_records(source, n_tensors, out); !s.ok()) return s;
    if (Status s = check_places(out); !s.ok()) return s;
    // Without tensors there is no data section, and the file may end here without padding.
    if (n_tensors == 0) {
        out.data_offset = size_t(source.position());
        return {};
    }
    if (!checked_align_up(size_t(source.position()), out.alignment, out.data_offset)) {
        return failure("gguf.alignment", "alignment %zu puts the data beyond any file", out.alignment);
    }
    return check_data(source, data_required, out);
}

} // namespace ggml::gguf
