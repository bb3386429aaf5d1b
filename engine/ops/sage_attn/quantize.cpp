#include "ops/sage_attn/quantize.h"

#include "ops/common/float_rounding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sd {
namespace {

// Keeps scales of all-zero rows from being zero.
constexpr float kSmallest = 1e-7f;

// Scale group of a token.
using GroupOf = std::function<int64_t(int64_t token)>;

SageCodes quantize(const SageRows & x, int64_t n_groups, const GroupOf & group_of) {
    SageCodes out = {x.size, {}, {}, {}};
    out.codes.resize(x.values.size());
    std::vector<float> largest(static_cast<size_t>(n_groups), kSmallest);
    for (int64_t t = 0; t < x.tokens; ++t) {
        out.finite.push_back(x.is_finite(t));
        if (!out.finite.back()) continue;
        float & max = largest[static_cast<size_t>(group_of(t))];
        for (int64_t i = 0; i < x.size; ++i) max = std::max(max, std::fabs(x.row(t)[i]));
    }
    for (int64_t t = 0; t < x.tokens; ++t) {
        const float scale = largest[static_cast<size_t>(group_of(t))] / 127.0f;
        out.scale.push_back(scale);
        if (!out.finite[static_cast<size_t>(t)]) continue;
        int8_t * codes = out.codes.data() + t * x.size;
        for (int64_t i = 0; i < x.size; ++i)
            codes[i] = int8_t(std::clamp(std::nearbyint(x.row(t)[i] / scale), -127.0f, 127.0f));
    }
    return out;
}

} // namespace

bool SageRows::is_finite(int64_t token) const {
    return std::all_of(row(token), row(token) + size, [](float x) { return std::isfinite(x); });
}

std::vector<float> sage_mean(const SageRows & rows, int64_t first, int64_t last) {
    std::vector<double> sum(static_cast<size_t>(rows.size));
    int64_t n = 0;
    for (int64_t t = first; t < last; ++t) {
        if (!rows.is_finite(t)) continue;
        ++n;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += double(rows.row(t)[i]);
    }
    std::vector<float> mean;
    for (const double s : sum) mean.push_back(n > 0 ? float(s / double(n)) : 0.0f);
    return mean;
}

void sage_subtract(SageRows & rows, int64_t first, int64_t last, const std::vector<float> & mean) {
    for (int64_t t = first; t < last; ++t) {
        for (size_t i = 0; i < mean.size(); ++i) rows.row(t)[i] -= mean[i];
    }
}

SageCodes sage_quantize_queries(const SageRows & q, SageScales scales) {
    const int64_t warps = (q.tokens + kSageQueryWarp - 1) / kSageQueryWarp;
    if (scales == SageScales::per_warp)
        return quantize(q, warps, [](int64_t t) { return t / kSageQueryWarp; });
    return quantize(q, warps * 8, [](int64_t t) { return t / kSageQueryWarp * 8 + t % 8; });
}

SageCodes sage_quantize_keys(const SageRows & k, SageScales scales) {
    const int64_t blocks = (k.tokens + kSageKeyBlock - 1) / kSageKeyBlock;
    if (scales == SageScales::per_warp)
        return quantize(k, blocks, [](int64_t t) { return t / kSageKeyBlock; });
    return quantize(k, blocks * 4, [](int64_t t) { return t / kSageKeyBlock * 4 + t % 8 / 2; });
}

SageQuantizedValues sage_quantize_values(SageRows v, SageValues how) {
    SageQuantizedValues out = {std::move(v), {}};
    // 448 * 2.25 * 64 keys is 64512, just below the largest F16: sums of a block cannot overflow.
    const float range = how == SageValues::fp8_f16 ? 2.25f : kMaxE4m3;
    for (int64_t i = 0; i < out.rows.size; ++i) {
        float largest = kSmallest;
        bool finite = true;
        for (int64_t t = 0; t < out.rows.tokens; ++t) {
            const float x = out.rows.row(t)[i];
            finite = finite && std::isfinite(how == SageValues::f16 ? as_f16(x) : x);
            largest = std::max(largest, std::fabs(x));
        }
        const float scale = how == SageValues::f16 ? 1.0f : largest / range;
        out.scale.push_back(scale);
        for (int64_t t = 0; t < out.rows.tokens; ++t) {
            float & x = out.rows.row(t)[i];
            x = how == SageValues::f16 ? as_f16(x) : as_e4m3(x / scale);
            if (!finite) x = std::numeric_limits<float>::quiet_NaN();
        }
    }
    return out;
}

} // namespace sd
