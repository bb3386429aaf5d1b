#include "runtime/ext/replay/difference.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstring>

namespace ggml::ext {
namespace {

struct Field {
    ggml_ext_reason reason;
    const char * name;
    size_t offset, unit;
    int count;
};

#define KEY_FIELD(reason, field, unit, count)                                                                \
    Field { GGML_EXT_REASON_REPLAY_NEW_##reason, #field, offsetof(KeyTensor, field), unit, count }

constexpr Field kStructure[] = {
    KEY_FIELD(GRAPH, op, 4, 1),
    KEY_FIELD(GRAPH, view_src, 4, 1),
    KEY_FIELD(GRAPH, src, 4, GGML_MAX_SRC),
};
constexpr Field kMetadata[] = {
    KEY_FIELD(METADATA, type, 4, 1),
    KEY_FIELD(METADATA, flags, 4, 1),
    KEY_FIELD(METADATA, op_params, 4, GGML_MAX_OP_PARAMS / 4),
    KEY_FIELD(METADATA, ne, 8, GGML_MAX_DIMS),
    KEY_FIELD(METADATA, nb, 8, GGML_MAX_DIMS),
    KEY_FIELD(METADATA, view_offs, 8, 1),
};
constexpr Field kAddress[] = {
    KEY_FIELD(ADDRESS, data, 8, 1),
    KEY_FIELD(ADDRESS, buffer, 8, 1),
    KEY_FIELD(ADDRESS, extra, 8, 1),
};
#undef KEY_FIELD

uint64_t value_at(const KeyTensor & tensor, const Field & field, int index) {
    const char * at = reinterpret_cast<const char *>(&tensor) + field.offset + size_t(index) * field.unit;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (field.unit == sizeof(wide)) {
        std::memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    std::memcpy(&narrow, at, sizeof(narrow));
    return narrow;
}

// Which node the tensor is, or which node reads it first.
void locate(const Key & key, uint32_t number, Difference & out) {
    if (number < key.n_nodes) {
        out.node = int(number);
        return;
    }
    for (uint32_t i = 0; i < key.n_nodes; ++i) {
        const uint32_t * src = key.tensors[i].src;
        const uint32_t * found = std::find(src, src + GGML_MAX_SRC, number);
        if (found == src + GGML_MAX_SRC) continue;
        out.node = int(i);
        out.src = int(found - src);
        return;
    }
}

template <size_t N>
bool differ(const Key & was, const Key & is, const Field (&fields)[N], const KeyBuilder & builder,
            Difference & out) {
    for (uint32_t i = 0; i < std::min(was.tensors.size(), is.tensors.size()); ++i) {
        for (const Field & field : fields) {
            for (int j = 0; j < field.count; ++j) {
                out.was = value_at(was.tensors[i], field, j);
                out.is = value_at(is.tensors[i], field, j);
                if (out.was == out.is) continue;
                out.reason = field.reason;
                out.what = field.name;
                out.index = field.count > 1 ? j : -1;
                std::memcpy(out.name, builder.tensor(i)->name, sizeof(out.name));
                out.name[sizeof(out.name) - 1] = '\0';
                locate(is, i, out);
                return true;
            }
        }
    }
    return false;
}

Difference of_numbers(ggml_ext_reason reason, const char * what, uint64_t was, uint64_t is) {
    Difference out;
    out.reason = reason;
    out.what = what;
    out.was = was;
    out.is = is;
    return out;
}

Difference of_steps(const Key & was, const Key & is) {
    for (size_t i = 0; i < std::min(was.steps.size(), is.steps.size()); ++i) {
        const KeyStep &a = was.steps[i], &b = is.steps[i];
        if (a.kernel == b.kernel && a.kind == b.kind && a.first == b.first && a.n == b.n) continue;
        Difference out =
            a.kernel != b.kernel
                ? of_numbers(GGML_EXT_REASON_REPLAY_NEW_KERNELS, nullptr, a.kernel, b.kernel)
                : of_numbers(GGML_EXT_REASON_REPLAY_NEW_KERNELS, "end of the step",
                             uint64_t(a.first) + uint64_t(a.n), uint64_t(b.first) + uint64_t(b.n));
        out.node = b.first;
        return out;
    }
    if (was.steps.size() == is.steps.size()) return {};
    return of_numbers(GGML_EXT_REASON_REPLAY_NEW_KERNELS, "number of steps", was.steps.size(),
                      is.steps.size());
}

Difference of_workspace(const Key & was, const Key & is) {
    for (size_t i = 0; i < is.steps.size(); ++i) {
        const uint64_t a = was.steps[i].workspace_bytes, b = is.steps[i].workspace_bytes;
        if (a == b) continue;
        Difference out = of_numbers(GGML_EXT_REASON_REPLAY_NEW_WORKSPACE, "workspace bytes", a, b);
        out.node = is.steps[i].first;
        return out;
    }
    if (was.workspace_bytes == is.workspace_bytes) return {};
    return of_numbers(GGML_EXT_REASON_REPLAY_NEW_WORKSPACE, "workspace bytes", was.workspace_bytes,
                      is.workspace_bytes);
}

// Registrations live as long as the process, so their names can still be read.
const char * implementation(uint64_t kernel) {
    return kernel != 0 ? reinterpret_cast<const Kernel *>(uintptr_t(kernel))->name.c_str()
                       : "the device itself";
}

} // namespace

Difference first_difference(const Key & was, const Key & is, const KeyBuilder & builder) {
    if (was.n_nodes != is.n_nodes)
        return of_numbers(GGML_EXT_REASON_REPLAY_NEW_GRAPH, "number of nodes", was.n_nodes, is.n_nodes);
    Difference out;
    if (differ(was, is, kStructure, builder, out)) return out;
    if (was.tensors.size() != is.tensors.size())
        return of_numbers(GGML_EXT_REASON_REPLAY_NEW_GRAPH, "number of tensors", was.tensors.size(),
                          is.tensors.size());
    if (differ(was, is, kMetadata, builder, out)) return out;
    out = of_steps(was, is);
    if (out.reason != GGML_EXT_REASON_NONE || differ(was, is, kAddress, builder, out)) return out;
    if (was.stream != is.stream)
        return of_numbers(GGML_EXT_REASON_REPLAY_NEW_STREAM, "stream", was.stream, is.stream);
    return of_workspace(was, is);
}

int agreement(const Difference & difference) {
    constexpr ggml_ext_reason kOrder[] = {
        GGML_EXT_REASON_REPLAY_NEW_GRAPH,   GGML_EXT_REASON_REPLAY_NEW_METADATA,
        GGML_EXT_REASON_REPLAY_NEW_KERNELS, GGML_EXT_REASON_REPLAY_NEW_ADDRESS,
        GGML_EXT_REASON_REPLAY_NEW_STREAM,  GGML_EXT_REASON_REPLAY_NEW_WORKSPACE,
    };
    if (difference.reason == kOrder[0] && difference.node < 0) return 0;
    return 1 + int(std::find(std::begin(kOrder), std::end(kOrder), difference.reason) - std::begin(kOrder));
}

void Difference::describe(Verdict & verdict) const {
    char where[GGML_MAX_NAME + 64] = "the plan";
    if (src >= 0) {
        std::snprintf(where, sizeof(where), "'%s', source %d of node %d", name, src, node);
    } else if (node >= 0 && name[0] != '\0') {
        std::snprintf(where, sizeof(where), "node %d '%s'", node, name);
    } else if (node >= 0) {
        std::snprintf(where, sizeof(where), "node %d", node);
    }
    char subscript[16] = "";
    if (index >= 0) std::snprintf(subscript, sizeof(subscript), "[%d]", index);
    if (what == nullptr) {
        refuse(&verdict, reason, node, "%s: %s, was %s", where, implementation(is), implementation(was));
    } else if (what == kStructure[0].name) {
        refuse(&verdict, reason, node, "%s: %s, was %s", where, ggml_op_name(ggml_op(is)),
               ggml_op_name(ggml_op(was)));
    } else if (what == kMetadata[0].name) {
        refuse(&verdict, reason, node, "%s: %s, was %s", where, ggml_type_name(ggml_type(is)),
               ggml_type_name(ggml_type(was)));
    } else if (reason == GGML_EXT_REASON_REPLAY_NEW_ADDRESS) {
        refuse(&verdict, reason, node, "%s: %s is 0x%" PRIx64 ", was 0x%" PRIx64, where, what, is, was);
    } else if (what == kStructure[1].name || what == kStructure[2].name) {
        refuse(&verdict, reason, node, "%s: %s%s is another tensor", where, what, subscript);
    } else {
        refuse(&verdict, reason, node, "%s: %s%s is %" PRIu64 ", was %" PRIu64, where, what, subscript, is,
               was);
    }
}

} // namespace ggml::ext
