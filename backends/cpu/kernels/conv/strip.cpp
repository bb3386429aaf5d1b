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
// Columns of a strip, of output and of input between the first taps: oneDNN's time to choose and compile
// grows with them (7 s for a million).
constexpr int64_t kStripColumns = 4096;
constexpr int64_t kStripInputColumns = 4 * kStripColumns;
// 1 GiB. Images of 4096 channels fit; kernels dilated beyond their image do not.
constexpr size_t kMaxStripFloats = size_t(1) << 28;
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

std::shared_ptr<StripConv> describe(const ConvShape & s, const StripPlan & plan) {
    const bool volume = s.kernel.size[2] > 1 || plan.in_planes > 1;
    const auto tag = volume ? memory::format_tag::ndhwc : memory::format_tag::nhwc;
    const auto kernel_tag = volume ? memory::format_tag::oidhw : memory::format_tag::oihw;
    constexpr auto f32 = memory::data_type::f32;
    auto strip = std::make_shared<StripConv>();
    strip->engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    strip->src = {dims(1, s.ic, volume, plan.in_planes, plan.in_rows, plan.in_columns), f32, tag};
    strip->dst = {dims(1, plan.channels, volume, plan.planes, plan.rows, plan.columns), f32, tag};
    const auto kernel_dims =
        dims(plan.channels, s.ic, volume, s.kernel.size[2], s.kernel.size[1], s.kernel.size[0]);
    strip->weights = {kernel_dims, f32, kernel_tag};

    // Borders above, below, before and behind lie in the strip as zeros; only those left and right of whole
    // rows are oneDNN's.
    const int64_t right = (plan.columns - 1) * s.stride[0] + s.extent(0) - plan.in_columns - plan.pad;
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, strip->src,
        memory::desc(kernel_dims, f32, memory::format_tag::any), strip->dst,
        spatial(volume, s.stride[2], s.stride[1], s.stride[0]),
        spatial(volume, s.dilation[2] - 1, s.dilation[1] - 1, s.dilation[0] - 1),
        spatial(volume, 0, 0, plan.pad), spatial(volume, 0, 0, right));
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    strip->description = {desc, attr, strip->engine};
    strip->packed_weights = strip->description.weights_desc();
    strip->scratchpad = strip->description.scratchpad_desc();
    return strip;
}

void compile(StripConv & strip) {
    strip.pack_weights = dnnl::reorder({strip.engine, strip.weights, strip.engine, strip.packed_weights});
    strip.conv = dnnl::convolution_forward(strip.description); // last: tells that both are there
}

using Key = std::array<int64_t, 18>;

Key key_of(const ConvShape & s, const StripPlan & plan) {
    return {s.ic,           plan.channels, plan.in_columns,  plan.columns,     plan.in_rows,     plan.rows,
            plan.in_planes, plan.planes,   s.kernel.size[0], s.kernel.size[1], s.kernel.size[2], s.stride[0],
            s.stride[1],    s.stride[2],   s.dilation[0],    s.dilation[1],    s.dilation[2],    plan.pad};
}

// oneDNN chooses and compiles for the thread count it sees.
class OneThread {
  public:
    OneThread() : outside_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(outside_); }
    OneThread(const OneThread &) = delete;
    OneThread & operator=(const OneThread &) = delete;

  private:
    int outside_;
};

// Most recently used first.
class Cache {
  public:
    std::shared_ptr<const StripConv> get(const ConvShape & s, const StripPlan & plan, bool compiled) {
        const std::lock_guard lock(mutex_);
        try {
            const OneThread guard;
            const std::shared_ptr<StripConv> strip = find_or_describe(s, plan);
            if (compiled && !strip->conv) compile(*strip);
            return strip;
        } catch (const std::exception & e) {
            GGML_LOG_ERROR("convolution %lldx%lldx%lld, %lld to %lld channels: oneDNN refuses: %s\n",
                           (long long)s.kernel.size[0], (long long)s.kernel.size[1],
                           (long long)s.kernel.size[2], (long long)s.ic, (long long)s.oc, e.what());
            return nullptr;
        }
    }

  private:
    struct Entry {
        Key key;
        std::shared_ptr<StripConv> strip;
    };

    std::shared_ptr<StripConv> find_or_describe(const ConvShape & s, const StripPlan & plan) {
        const Key key = key_of(s, plan);
        const auto hit =
            std::find_if(entries_.begin(), entries_.end(), [&](const Entry & e) { return e.key == key; });
        if (hit != entries_.end()) {
            entries_.splice(entries_.begin(), entries_, hit);
        } else {
            entries_.push_front({key, describe(s, plan)});
            if (entries_.size() > kCachedConvs) entries_.pop_back();
        }
        return entries_.front().strip;
    }

    std::mutex mutex_;
    std::list<Entry> entries_;
};

Cache & cache() {
    static Cache the_cache;
    return the_cache;
}

// Byte counts of absurd shapes do not fit; only whether they exceed a strip matters.
int64_t capped(size_t value) { return int64_t(std::min<size_t>(value, INT64_MAX)); }

int64_t row_bytes(const ConvShape & s, int64_t in_columns, int64_t columns, int64_t channels) {
    const size_t in_row = saturating_mul(in_columns, s.ic, s.kernel.size[2], s.stride[1]);
    const size_t floats = saturating_add(in_row, saturating_mul(columns, channels));
    return std::max<int64_t>(1, capped(saturating_mul(floats, sizeof(float))));
}

// Units (rows, planes) of a strip.
int64_t strip_units(int64_t unit_bytes, int64_t unit_pixels, int64_t size) {
    const int64_t enough = std::max(ceil_div(size, kWantedStrips), ceil_div(kStripPixels, unit_pixels));
    return std::clamp<int64_t>(kStripBytes / unit_bytes, 1, std::min(enough, size));
}

} // namespace

StripPlan::StripPlan(const ConvShape & s) {
    n_channel_blocks = ceil_div(s.oc, kChannelBlock);
    channels = std::min(s.oc, ceil_div(ceil_div(s.oc, n_channel_blocks), 16) * 16);

    // Whole rows unless they are huge; rows of one plane first; whole planes are joined only when they are
    // small.
    const Triple & size = s.dst.size;
    n_column_strips =
        ceil_div(size[0], std::clamp<int64_t>(kStripInputColumns / s.stride[0], 1, kStripColumns));
    columns = ceil_div(size[0], n_column_strips);
    const bool cut = n_column_strips > 1;
    pad = cut ? 0 : s.pad[0];
    in_columns = cut ? (columns - 1) * s.stride[0] + s.extent(0) : s.src.size[0];

    const int64_t bytes = row_bytes(s, in_columns, columns, channels);
    n_row_strips = ceil_div(size[1], strip_units(bytes, columns, size[1]));
    rows = ceil_div(size[1], n_row_strips);
    n_plane_strips =
        n_row_strips > 1
            ? size[2]
            : ceil_div(size[2], strip_units(capped(saturating_mul(bytes, rows)), columns * rows, size[2]));
    planes = ceil_div(size[2], n_plane_strips);
    in_rows = (rows - 1) * s.stride[1] + s.extent(1);
    in_planes = (planes - 1) * s.stride[2] + s.extent(2);

    src_floats = saturating_mul(in_planes, in_rows, in_columns, s.ic);
    dst_floats = saturating_mul(planes, rows, columns, channels);
    const size_t weights =
        saturating_mul(channels, s.ic, s.kernel.size[0], s.kernel.size[1], s.kernel.size[2]);
    possible = src_floats <= kMaxStripFloats && dst_floats <= kMaxStripFloats && weights <= INT32_MAX;
}

std::shared_ptr<const StripConv> describe_strip(const ConvShape & s, const StripPlan & plan) {
    return cache().get(s, plan, false);
}
std::shared_ptr<const StripConv> compile_strip(const ConvShape & s, const StripPlan & plan) {
    return cache().get(s, plan, true);
}

} // namespace ggml::cpu::conv
