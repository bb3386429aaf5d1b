// How UPSCALE samples one dimension: the source elements that make up a result element, and their weights.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu {

struct Tap {
    int32_t index;
    float weight;
};

class UpscaleAxis {
  public:
    // Dimension `dim` of an UPSCALE node. Dimensions 2 and 3 are sampled to the nearest, whatever the mode.
    UpscaleAxis(const ggml_tensor * dst, int dim);

    // For the nearest mode: the source index of result index i.
    int64_t nearest(int64_t i) const;

    // Most taps of any result element in the other modes.
    int64_t max_taps() const;

    // Writes the taps of result index i, in ascending order, and returns how many; at most max_taps().
    int64_t taps(int64_t i, Tap * out) const;

  private:
    int64_t linear(int64_t i, Tap * out) const;
    int64_t antialiased(int64_t i, Tap * out) const;
    int64_t cubic(int64_t i, Tap * out) const;
    int32_t inside(int64_t index) const;

    int mode_;
    bool antialias_;
    int64_t n_;     // source elements
    float factor_;  // result elements per source element
    float offset_;  // centre of an element: 0.5, or 0 when the corners are aligned
    float support_; // half width of the antialiasing triangle, in source elements
};

} // namespace ggml::cpu
