#include "quantize/codebook.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

constexpr int64_t kRun = 16;
constexpr int kBins = 4096; // of [-1, 1]; a sixtieth of the finest distance of levels and less
constexpr int kIterations = 200;
constexpr double kHeavy = -0.1;

double centre_of(int bin) { return (2.0 * bin + 1.0) / kBins - 1.0; }

} // namespace

RunHistogram::RunHistogram() : counts_(kBins) {}

void RunHistogram::add(const float * rotated, int64_t k) {
    for (const float * run = rotated; run < rotated + k; run += kRun) {
        float most = 0;
        for (int64_t j = 0; j < kRun; ++j) most = std::max(most, std::fabs(run[j]));
        if (most == 0) continue;
        for (int64_t j = 0; j < kRun; ++j) {
            const float at = (run[j] / most + 1.0f) * float(kBins / 2);
            ++counts_[size_t(std::min(int(at), kBins - 1))];
        }
    }
}

void RunHistogram::add(const RunHistogram & other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

double RunHistogram::excess_kurtosis() const {
    double count = 0, sum = 0;
    for (int i = 0; i < kBins; ++i) {
        count += double(counts_[size_t(i)]);
        sum += double(counts_[size_t(i)]) * centre_of(i);
    }
    if (count == 0) return 0;
    const double mean = sum / count;
    double square = 0, fourth = 0;
    for (int i = 0; i < kBins; ++i) {
        const double distance = centre_of(i) - mean, s = distance * distance;
        square += double(counts_[size_t(i)]) * s;
        fourth += double(counts_[size_t(i)]) * s * s;
    }
    return fourth * count / (square * square) - 3;
}

bool RunHistogram::is_heavy_tailed() const { return excess_kurtosis() > kHeavy; }

Codebook RunHistogram::fitted() const {
    std::array<double, 16> levels;
    std::copy(kGaussianLevels.begin(), kGaussianLevels.end(), levels.begin());
    for (int pass = 0; pass < kIterations; ++pass) {
        std::array<double, 16> counts = {}, sums = {};
        size_t level = 0;
        for (int i = 0; i < kBins; ++i) {
            const double at = centre_of(i);
            while (level < 15 && at > (levels[level] + levels[level + 1]) / 2) ++level;
            counts[level] += double(counts_[size_t(i)]);
            sums[level] += double(counts_[size_t(i)]) * at;
        }
        // A level that nothing is near to stays where it is, between its neighbours.
        for (size_t i = 0; i < levels.size(); ++i)
            levels[i] = counts[i] > 0 ? sums[i] / counts[i] : levels[i];
    }
    Codebook book;
    std::copy(levels.begin(), levels.end(), book.begin());
    return book;
}

} // namespace sd
