#include "quantize/source.h"

#include "checkpoint/values/read_values.h"

#include <algorithm>

namespace sd {

int64_t LayerSource::piece_rows() const {
    constexpr int64_t kPiece = int64_t(1) << 20;
    return layer_.weight->strides.empty() ? std::clamp<int64_t>(kPiece / layer_.k, 1, layer_.n) : layer_.n;
}

void LayerSource::read(int64_t first, int64_t count, float * out) {
    if (layer_.module == nullptr)
        return read_values(checkpoint_, *layer_.weight, GGML_TYPE_F32, {first, count}, out, {.threads = 1});
    std::call_once(opened_, [&] { dequantizer_.emplace(checkpoint_, *layer_.module); });
    dequantizer_->read(first, count, out);
}

void LayerSource::refuse(int64_t first, const BadRow & bad) const {
    throw checkpoint_.error(*layer_.weight, "E_VALUE", bad.cause(first + bad.row),
                            bad.rotated ? "leave the layer as it is with --exclude"
                                        : "--allow-nonfinite takes such values for 0");
}

} // namespace sd
