#include "backends/cpu/kernels/conv/strip.h"

#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <omp.h>

#include <algorithm>
#include <list>
#include <mutex>

namespace ggml::cpu::conv {
namespace {

using dnnl::memory;

// Input and output of a strip together: about what a second-level cache and its share of the third hold.
constexpr int64_t kStripBytes = 2 << 20;
// Outputs per channel below which reading the weights again for every strip would show.
constexpr int64_t kStripPixels = 512;
// Strips an image is cut into at least when it is large enough, so that threads finish together.
constexpr int64_t kWantedStrips = 16;
constexpr int64_t kChannelBlock = 128;
constexpr size_t kCachedConvs = 64;

// dims in oneDNN's order: outer, channel, then depth (3-dimensional convolutions only), height, width.
memory::dims dims(int64_t outer, int64_t channels, bool volume, int64_t planes, int64_t rows, int64_t width) {
    if (volume) return {outer, channels, planes, rows, width};
    return {outer, channels, rows, width};
}

memory::dims spatial(bool volume, int64_t planes, int64_t rows, int64_t width) {
    if (volume) return {planes, rows, width};
    return {rows, width};
}

std::shared_ptr<const StripConv> build(const ConvShape & s, const StripPlan & plan) {
    const bool volume = s.kernel.size[2] > 1 || plan.in_planes > 1;
    const auto tag = volume ? memory::format_tag::ndhwc : memory::format_tag::nhwc;
    const auto kernel_tag = volume ? memory::format_tag::oidhw : memory::format_tag::oihw;
    constexpr auto f32 = memory::data_type::f32;
    auto strip = std::make_shared<StripConv>();
    strip->engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    strip->src = {dims(1, s.ic, volume, plan.in_planes, plan.in_rows, s.src.size[0]), f32, tag};
    strip->dst = {dims(1, plan.channels, volume, plan.planes, plan.rows, s.dst.size[0]), f32, tag};
    const auto kernel_dims =
        dims(plan.channels, s.ic, volume, s.kernel.size[2], s.kernel.size[1], s.kernel.size[0]);
    strip->weights = {kernel_dims, f32, kernel_tag};

    // Borders above, below, before and behind lie in the strip as zeros; only those left and right are
    // oneDNN's.
    const int64_t right = (s.dst.size[0] - 1) * s.stride[0] + s.extent(0) - s.src.size[0] - s.pad[0];
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, strip->src,
        memory::desc(kernel_dims, f32, memory::format_tag::any), strip->dst,
        spatial(volume, s.stride[2], s.stride[1], s.stride[0]),
        spatial(volume, s.dilation[2] - 1, s.dilation[1] - 1, s.dilation[0] - 1),
        spatial(volume, 0, 0, s.pad[0]), spatial(volume, 0, 0, right));
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::convolution_forward::primitive_desc pd(desc, attr, strip->engine);
    strip->packed_weights = pd.weights_desc();
    strip->scratchpad = pd.scratchpad_desc();
    strip->conv = dnnl::convolution_forward(pd);
    strip->pack_weights =
        dnnl::reorder({strip->engine, strip->weights, strip->engine, strip->packed_weights});
    return strip;
}

using Key = std::array<int64_t, 18>;

Key key_of(const ConvShape & s, const StripPlan & plan) {
    return {s.ic,           plan.channels, s.src.size[0],    s.dst.size[0],    plan.in_rows,     plan.rows,
            plan.in_planes, plan.planes,   s.kernel.size[0], s.kernel.size[1], s.kernel.size[2], s.stride[0],
            s.stride[1],    s.stride[2],   s.dilation[0],    s.dilation[1],    s.dilation[2],    s.pad[0]};
}

// Most recently used first.
class Cache {
  public:
    std::shared_ptr<const StripConv> find_or_build(const ConvShape & s, const StripPlan & plan) {
        const Key key = key_of(s, plan);
        const std::lock_guard lock(mutex_);
        const auto hit =
            std::find_if(entries_.begin(), entries_.end(), [&](const Entry & e) { return e.key == key; });
        if (hit != entries_.end()) {
            entries_.splice(entries_.begin(), entries_, hit);
            return hit->conv;
        }
        // oneDNN compiles for the thread count it sees now.
        const int outside = omp_get_max_threads();
        omp_set_num_threads(1);
        try {
            entries_.push_front({key, build(s, plan)});
        } catch (const std::exception & e) {
            omp_set_num_threads(outside);
            GGML_LOG_ERROR("convolution %lldx%lldx%lld, %lld to %lld channels: oneDNN refuses: %s\n",
                           (long long)s.kernel.size[0], (long long)s.kernel.size[1],
                           (long long)s.kernel.size[2], (long long)s.ic, (long long)s.oc, e.what());
            return nullptr;
        }
        omp_set_num_threads(outside);
        if (entries_.size() > kCachedConvs) entries_.pop_back();
        return entries_.front().conv;
    }

  private:
    struct Entry {
        Key key;
        std::shared_ptr<const StripConv> conv;
    };
    std::mutex mutex_;
    std::list<Entry> entries_;
};

} // namespace

StripPlan::StripPlan(const ConvShape & s) {
    n_channel_blocks = ceil_div(s.oc, kChannelBlock);
    channels = std::min(s.oc, ceil_div(ceil_div(s.oc, n_channel_blocks), 16) * 16);

    // Rows of one plane first; whole planes are joined only when they are small.
    const int64_t in_row = s.src.size[0] * s.ic * s.kernel.size[2], out_row = s.dst.size[0] * channels;
    const int64_t row_bytes = std::max<int64_t>(1, (in_row * s.stride[1] + out_row) * int64_t(sizeof(float)));
    const auto wanted = [](int64_t unit_bytes, int64_t unit_pixels, int64_t size) {
        const int64_t enough = std::max(ceil_div(size, kWantedStrips), ceil_div(kStripPixels, unit_pixels));
        return std::clamp<int64_t>(kStripBytes / unit_bytes, 1, std::min(enough, size));
    };
    n_row_strips = ceil_div(s.dst.size[1], wanted(row_bytes, s.dst.size[0], s.dst.size[1]));
    rows = ceil_div(s.dst.size[1], n_row_strips);
    n_plane_strips =
        n_row_strips > 1
            ? s.dst.size[2]
            : ceil_div(s.dst.size[2], wanted(row_bytes * rows, s.dst.size[0] * rows, s.dst.size[2]));
    planes = ceil_div(s.dst.size[2], n_plane_strips);
    in_rows = (rows - 1) * s.stride[1] + s.extent(1);
    in_planes = (planes - 1) * s.stride[2] + s.extent(2);
}

std::shared_ptr<const StripConv> strip_conv(const ConvShape & s, const StripPlan & plan) {
    static Cache cache;
    return cache.find_or_build(s, plan);
}

} // namespace ggml::cpu::conv
