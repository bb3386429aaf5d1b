#include "quantize/source.h"

#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"

#include <algorithm>

namespace sd {
namespace {

constexpr int64_t kPiece = int64_t(1) << 20; // values

} // namespace

int64_t LayerSource::piece_rows() const {
    return layer_.weight->strides.empty() ? std::clamp<int64_t>(kPiece / layer_.k, 1, layer_.n) : layer_.n;
}

void LayerSource::read(int64_t first, int64_t count, float * out) {
    if (layer_.module == nullptr) {
        read_values(checkpoint_, *layer_.weight, GGML_TYPE_F32, {first, count}, out, {.threads = 1});
    } else {
        std::call_once(opened_, [&] { dequantizer_.emplace(checkpoint_, *layer_.module); });
        dequantizer_->read(first, count, out);
    }
    if (layer_.changes == nullptr) return;
    for (const Change & c : *layer_.changes) add_difference(c, layer_.k, first, count, out);
}

void LayerSource::refuse(int64_t first, const BadRow & bad) const {
    throw checkpoint_.error(*layer_.weight, "E_VALUE", bad.cause(first + bad.row),
                            bad.rotated ? "leave the layer as it is with --exclude"
                                        : "--allow-nonfinite takes such values for 0");
}

int64_t copy_piece(const CopyPlan & copy) {
    const TensorInfo & t = *copy.source;
    if (!t.strides.empty()) return std::max<int64_t>(1, t.elements());
    if (copy.changes == nullptr) return kPiece;
    const auto [n, k] = matrix_sizes(t.shape);
    return std::clamp<int64_t>(kPiece / std::max<int64_t>(1, k), 1, n) * std::max<int64_t>(1, k);
}

void read_elements(const Checkpoint & checkpoint, const TensorInfo & tensor, int64_t first, int64_t count,
                   std::byte * out) {
    TensorInfo part = tensor;
    if (part.strides.empty()) {
        part.shape = {count};
        part.offset += run_bytes(part.type, first);
        part.bytes = run_bytes(part.type, count);
    }
    read_stored(checkpoint, part, {}, out, {.threads = 1});
}

void read_copy(const Checkpoint & checkpoint, const CopyPlan & copy, int64_t first, int64_t count,
               std::vector<float> & scratch, std::byte * out) {
    const TensorInfo & t = *copy.source;
    if (copy.changes == nullptr) return read_elements(checkpoint, t, first, count, out);
    // Convolutions are one row for their changes, and many for who reads them.
    const auto [n, k] = matrix_sizes(t.shape);
    const RowRange rows = n > 1 ? RowRange{first / k, count / k} : RowRange{};
    scratch.resize(size_t(count));
    read_values(checkpoint, t, GGML_TYPE_F32, rows, scratch.data(), {.threads = 1});
    for (const Change & c : *copy.changes) add_difference(c, k, first / k, count / k, scratch.data());
    const std::string problem = from_floats(scratch.data(), count, *ggml_type_of(t.type), out);
    if (!problem.empty()) throw checkpoint.error(t, "E_VALUE", "with the adapters merged " + problem);
}

} // namespace sd
