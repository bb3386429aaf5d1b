#include "backends/cpu/kernels/conv/exact.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ggml::cpu::conv {
namespace {

float load_float(const char * at) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

// Products of one input channel with its kernel plane; taps that fall outside the input do not take part.
double channel_sum(const ConvShape & s, const Position & at, const char * src, const char * kernel) {
    double sum = 0;
    for (int64_t kz = 0; kz < s.kernel.size[2]; ++kz) {
        const int64_t z = s.origin(2, at.z) + kz * s.dilation[2];
        if (z < 0 || z >= s.src.size[2]) continue;
        for (int64_t ky = 0; ky < s.kernel.size[1]; ++ky) {
            const int64_t y = s.origin(1, at.y) + ky * s.dilation[1];
            if (y < 0 || y >= s.src.size[1]) continue;
            for (int64_t kx = 0; kx < s.kernel.size[0]; ++kx) {
                const int64_t x = s.origin(0, at.x) + kx * s.dilation[0];
                if (x < 0 || x >= s.src.size[0]) continue;
                const char * value =
                    src + size_t(x) * s.src.nb[0] + size_t(y) * s.src.nb[1] + size_t(z) * s.src.nb[2];
                const char * weight = kernel + size_t(kx) * s.kernel.nb[0] + size_t(ky) * s.kernel.nb[1] +
                                      size_t(kz) * s.kernel.nb[2];
                sum += double(load_float(value)) * double(kernel_element(s.kernel_type, weight));
            }
        }
    }
    return sum;
}

// Outputs [begin, end) of a dimension under which the whole kernel lies inside the input.
struct Inner {
    int64_t begin, end;
    bool contains(int64_t o) const { return o >= begin && o < end; }
};

Inner inner_outputs(const ConvShape & s, int dimension) {
    const auto i = size_t(dimension);
    const int64_t outputs = s.dst.size[i], stride = s.stride[i];
    const int64_t begin = std::min(outputs, (s.pad[i] + stride - 1) / stride);
    const int64_t room = s.src.size[i] + s.pad[i] - s.extent(dimension);
    return {begin, std::clamp(room < 0 ? 0 : room / stride + 1, begin, outputs)};
}

} // namespace

void exact_output(const ConvShape & s, const Position & at, bool depthwise) {
    const int64_t first = depthwise ? at.oc : 0, last = depthwise ? at.oc + 1 : s.ic;
    const char * kernel = s.kernel.data + size_t(at.oc) * s.kernel.nb_outer;
    double sum = 0;
    for (int64_t c = first; c < last; ++c) {
        const char * src = s.src.data + size_t(at.n) * s.src.nb_outer + size_t(c) * s.src.nb_channel;
        sum += channel_sum(s, at, src, kernel + size_t(c) * s.kernel.nb_channel);
    }
    const float result = float(sum);
    std::memcpy(s.dst.data + size_t(at.n) * s.dst.nb_outer + size_t(at.oc) * s.dst.nb_channel +
                    size_t(at.x) * s.dst.nb[0] + size_t(at.y) * s.dst.nb[1] + size_t(at.z) * s.dst.nb[2],
                &result, sizeof(result));
}

bool has_borders(const ConvShape & s) {
    for (int i = 0; i < 3; ++i) {
        const Inner inner = inner_outputs(s, i);
        if (inner.begin > 0 || inner.end < s.dst.size[size_t(i)]) return true;
    }
    return false;
}

void exact_outputs(const Team & team, const ConvShape & s, Outputs which) {
    const Inner columns = inner_outputs(s, 0), rows = inner_outputs(s, 1), planes = inner_outputs(s, 2);
    const int64_t width = s.dst.size[0], height = s.dst.size[1], depth = s.dst.size[2];
    team.parallel_chunks(s.n * s.oc * depth * height, 1, [&](int64_t row, int64_t) {
        Position at{row / height / depth / s.oc, row / height / depth % s.oc, 0, row % height,
                    row / height % depth};
        const bool whole = which == Outputs::all || !rows.contains(at.y) || !planes.contains(at.z);
        while (at.x < width) {
            if (!whole && columns.contains(at.x)) {
                at.x = columns.end;
                continue;
            }
            exact_output(s, at, false);
            ++at.x;
        }
    });
}

bool all_finite(const float * values, int64_t n) {
    // Exponents of all ones are infinities and NaNs. Without a branch, so that it becomes vector code.
    constexpr uint32_t kExponent = 0x7f800000;
    uint32_t special = 0;
    for (int64_t i = 0; i < n; ++i) {
        special |= uint32_t((std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent);
    }
    return special == 0;
}

} // namespace ggml::cpu::conv
