// Overlap of two tensors, in two steps: what their storage is part of and where it starts, then whether their
// strides let a byte of one be a byte of the other.
#include "runtime/ext/effects/effects.h"
#include "runtime/tensor/layout.h"

#include <cstdint>
#include <utility>

namespace ggml::ext {
namespace {

// Starts are comparable within one space: the storage of an owner that has no address yet, the memory of one
// device buffer, or the host's memory (null). Devices may start every buffer at the same address.
struct Place {
    const void * space;
    uint64_t start;
};

Place place_of(const ggml_tensor * t) {
    const ggml_tensor * owner = t;
    uint64_t offset = 0;
    for (; owner->view_src != nullptr; owner = owner->view_src) offset += owner->view_offs;
    ggml_backend_buffer_t buffer = owner->buffer != nullptr ? owner->buffer : t->buffer;
    const void * space = buffer == nullptr || ggml_backend_buffer_is_host(buffer) ? nullptr : buffer;
    // A view has an address of its own only after it was initialized.
    if (t->data != nullptr) return {space, reinterpret_cast<uintptr_t>(t->data)};
    if (owner->data != nullptr) return {space, reinterpret_cast<uintptr_t>(owner->data) + offset};
    return {owner, offset};
}

// Strides of the dimensions with more than one step, in blocks along the first one.
struct Steps {
    uint64_t block; // bytes of one block
    int n = 0;
    struct {
        uint64_t count, stride;
    } of[GGML_MAX_DIMS];

    explicit Steps(const ggml_tensor * t) : block(ggml_type_size(t->type)) {
        for (int i = 0; i < GGML_MAX_DIMS; ++i) {
            const int64_t per_step = i == 0 ? ggml_blck_size(t->type) : 1;
            const auto count = uint64_t((t->ne[i] - 1) / per_step + 1);
            if (count > 1) of[n++] = {count, t->nb[i]};
        }
    }

    // Bytes from the first to one past the last. With a pitch: of those dimensions whose steps are no
    // multiple of it.
    uint64_t span(uint64_t pitch = 0) const {
        uint64_t bytes = block;
        for (int i = 0; i < n; ++i) {
            if (pitch == 0 || of[i].stride % pitch != 0) bytes += (of[i].count - 1) * of[i].stride;
        }
        return bytes;
    }
};

// All bytes of a lie in columns [0, width_a) of a grid with rows of `pitch` bytes that starts with a, and
// those of b in width_b columns from where b starts. Columns are taken around the end of a row, so nothing
// needs to be aligned to the grid.
bool apart_in_columns(const Steps & a, const Steps & b, uint64_t pitch, uint64_t b_behind_a) {
    const uint64_t width_a = a.span(pitch), width_b = b.span(pitch);
    const uint64_t column = b_behind_a % pitch;
    return width_a <= column && width_b <= pitch - column;
}

// Rows that interleave, or the left and the right part of the columns of a matrix.
bool interleaved(const Steps & a, const Steps & b, uint64_t b_behind_a) {
    for (const Steps * steps : {&a, &b}) {
        for (int i = 0; i < steps->n; ++i) {
            const uint64_t pitch = steps->of[i].stride;
            if (pitch > 0 && apart_in_columns(a, b, pitch, b_behind_a)) return true;
        }
    }
    return false;
}

bool has_span(const ggml_tensor * t) {
    size_t bytes = 0;
    return span_bytes(t->type, shape_of(t), {t->nb[0], t->nb[1], t->nb[2], t->nb[3]}, bytes);
}

bool same_layout(const ggml_tensor * a, const ggml_tensor * b) {
    return a->type == b->type && ggml_are_same_shape(a, b) && ggml_are_same_stride(a, b);
}

} // namespace

ggml_ext_overlap overlap(const ggml_tensor * a, const ggml_tensor * b) noexcept {
    if (ggml_is_empty(a) || ggml_is_empty(b)) return GGML_EXT_OVERLAP_NONE;
    Place at_a = place_of(a), at_b = place_of(b);
    if (at_a.space != at_b.space) return GGML_EXT_OVERLAP_NONE;
    if (at_a.start == at_b.start && same_layout(a, b)) return GGML_EXT_OVERLAP_EXACT;
    if (at_b.start < at_a.start) {
        std::swap(a, b);
        std::swap(at_a, at_b);
    }

    // Strides whose products overflow are nobody's memory, and nothing is proved about them.
    if (!has_span(a) || !has_span(b)) return GGML_EXT_OVERLAP_PARTIAL;
    const Steps steps_a(a), steps_b(b);
    const uint64_t distance = at_b.start - at_a.start;
    const bool apart = distance >= steps_a.span() || interleaved(steps_a, steps_b, distance);
    return apart ? GGML_EXT_OVERLAP_NONE : GGML_EXT_OVERLAP_PARTIAL;
}

} // namespace ggml::ext

ggml_ext_overlap ggml_ext_tensor_overlap(const ggml_tensor * a, const ggml_tensor * b) {
    return a == nullptr || b == nullptr ? GGML_EXT_OVERLAP_NONE : ggml::ext::overlap(a, b);
}
