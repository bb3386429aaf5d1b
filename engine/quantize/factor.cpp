// Second moments and their factor.
#include "base/error.h"
#include "base/parallel.h"
#include "quantize/feedback.h"
#include "quantize/matrix_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sd {
namespace {

constexpr int64_t kBlock = 64;
constexpr double kDamping = 0.01, kMoreDamping = 10;
constexpr int kMostTries = 6;

ParallelOptions with(int threads) { return {.threads = std::max(0, threads)}; }

template <class Body>
void for_blocks(int64_t count, int64_t each, int threads, const Body & body) {
    parallel_parts((count + each - 1) / each, with(threads), [&](int64_t i) {
        body(i * each, std::min(count, (i + 1) * each));
        return uint64_t(0);
    });
}

// H + damping = R R^T, R upper triangular, from the last column to the first; in place.
class Triangle {
  public:
    Triangle(std::vector<float> & h, int64_t k, int threads) : h_(h.data()), k_(k), threads_(threads) {}

    // False: a pivot is not above zero.
    bool make() {
        for (int64_t end = k_; end > 0;) {
            const int64_t begin = std::max<int64_t>(0, end - kBlock);
            if (!corner(begin, end)) return false;
            for_blocks(begin, kBlock, threads_, [&](int64_t i, int64_t last) {
                for (; i < last; ++i) solve(i, begin, end - begin);
            });
            subtract(begin, end - begin);
            end = begin;
        }
        return true;
    }

  private:
    bool corner(int64_t begin, int64_t end) {
        const int64_t n = end - begin;
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = i; j < n; ++j) corner_[i][j] = double(h_[(begin + i) * k_ + begin + j]);
        }
        for (int64_t c = n - 1; c >= 0; --c) {
            if (!(corner_[c][c] > 0) || !std::isfinite(corner_[c][c])) return false;
            const double root = std::sqrt(corner_[c][c]);
            corner_[c][c] = root;
            for (int64_t i = 0; i < c; ++i) corner_[i][c] /= root;
            for (int64_t i = 0; i < c; ++i) {
                for (int64_t j = i; j < c; ++j) corner_[i][j] -= corner_[i][c] * corner_[j][c];
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = i; j < n; ++j) h_[(begin + i) * k_ + begin + j] = float(corner_[i][j]);
        }
        return true;
    }

    // Row i of the columns above the corner.
    void solve(int64_t i, int64_t begin, int64_t n) const {
        float * const row = h_ + i * k_ + begin;
        double x[kBlock];
        for (int64_t c = n - 1; c >= 0; --c) {
            double sum = double(row[c]);
            for (int64_t l = c + 1; l < n; ++l) sum -= x[l] * corner_[c][l];
            x[c] = sum / corner_[c][c];
        }
        for (int64_t c = 0; c < n; ++c) row[c] = float(x[c]);
    }

    // What these columns account for, from all before them.
    void subtract(int64_t begin, int64_t n) {
        turned_.resize(size_t(begin * n));
        for (int64_t i = 0; i < begin; ++i) {
            for (int64_t c = 0; c < n; ++c) turned_[size_t(c * begin + i)] = h_[i * k_ + begin + c];
        }
        for_blocks(begin, kBlock, threads_, [&](int64_t i, int64_t last) {
            add_product({h_ + i * k_ + begin, k_, 1, turned_.data() + i, begin, h_ + i * k_ + i, k_, last - i,
                         begin - i, n, -1.0f});
        });
    }

    float * h_;
    int64_t k_;
    int threads_;
    double corner_[kBlock][kBlock] = {};
    std::vector<float> turned_;
};

Error wrong(const std::string & cause) { return Error({"E_CALIBRATION", {}, {}, cause, {}}); }

} // namespace

void add_moments(const float * x, int64_t rows, int threads, SecondMoments & to) {
    constexpr int64_t kDepth = 256; // rows that are in the cache together
    const int64_t k = to.k;
    to.rows += rows;
    for_blocks(k, kBlock, threads, [&](int64_t i, int64_t last) {
        for (int64_t row = 0; row < rows; row += kDepth) {
            const float * const at = x + row * k + i;
            add_product(
                {at, 1, k, at, k, to.h.data() + i * k + i, k, last - i, k - i, std::min(kDepth, rows - row)});
        }
    });
}

FeedbackFactor factor_of(SecondMoments && moments, int threads) {
    FeedbackFactor out;
    out.k = moments.k;
    const int64_t k = out.k;
    std::vector<double> diagonal;
    double mean = 0;
    for (int64_t i = 0; i < k; ++i) {
        diagonal.push_back(double(moments.h[size_t(i * k + i)]));
        mean += diagonal.back() / double(k);
    }
    if (!std::isfinite(mean)) throw wrong("activations are not finite");
    if (!(mean > 0)) throw wrong("all activations are zero");
    out.u = moments.h; // tried again with more damping, from the start
    double share = kDamping;
    for (int tries = 1;; ++tries, share *= kMoreDamping) {
        out.damping = share * mean;
        for (int64_t i = 0; i < k; ++i) out.u[size_t(i * k + i)] = float(diagonal[size_t(i)] + out.damping);
        if (Triangle(out.u, k, threads).make()) break;
        if (tries == kMostTries) throw wrong("their moments have no factor");
        std::copy(moments.h.begin(), moments.h.end(), out.u.begin());
    }
    moments.h = {};
    std::vector<float> inverse;
    for (int64_t i = 0; i < k; ++i) {
        const double root = double(out.u[size_t(i * k + i)]);
        out.d.push_back(root * root);
        inverse.push_back(float(1 / root));
    }
    for_blocks(k, kBlock, threads, [&](int64_t i, int64_t last) {
        for (; i < last; ++i) {
            for (int64_t j = i + 1; j < k; ++j) out.u[size_t(i * k + j)] *= inverse[size_t(j)];
        }
    });
    return out;
}

} // namespace sd
