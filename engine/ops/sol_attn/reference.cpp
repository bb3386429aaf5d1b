#include "ops/sol_attn/reference.h"

#include "ops/common/attrs.h"
#include "ops/common/float_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

namespace sd {
namespace {

constexpr int64_t kSize = 128;                // elements of a row
constexpr double kLog2e = 1.4426950408889634; // scores are exponents of two, as on devices
constexpr double kSmallestVariance = 1e-6; // added to that of the scores, so that equal ones stay comparable

using Rows = std::vector<float>; // kSize floats each

double dot(const float * a, const float * b) {
    double sum = 0.0;
    for (int64_t i = 0; i < kSize; ++i) sum += double(a[i]) * double(b[i]);
    return sum;
}

bool is_finite(const float * row) {
    return std::all_of(row, row + kSize, [](float x) { return std::isfinite(x); });
}

class Head {
  public:
    Head(const ggml_tensor * node, int64_t number, SolPrecision precision)
        : precision_(precision), attrs_(attrs_of<SolAttnAttrs>(node)), tokens_(node->ne[2]),
          blocks_((tokens_ + kSolBlock - 1) / kSolBlock), q_(read(node->src[0], number)),
          k_(read(node->src[1], number)), v_(read(node->src[2], number)) {
        summarize();
    }

    // exact: blocks_ entries. True when the score of a block of keys is above the threshold, or it is a
    // neighbour.
    void route(int64_t query_block, uint8_t * exact) const {
        const std::vector<double> centroid = mean_of_queries(query_block);
        double mean = 0.0, variance = 0.0;
        for (size_t i = 0; i < centroid.size(); ++i) {
            mean += centroid[i] * key_mean_[i];
            variance += centroid[i] * centroid[i] * key_variance_[i];
        }
        const double scale = double(attrs_.scale) * kLog2e;
        const double threshold =
            mean * scale + double(attrs_.tau) * std::sqrt(variance * scale * scale + kSmallestVariance);
        for (int64_t block = 0; block < blocks_; ++block) {
            double score = 0.0; // the mean over the queries, whose products are linear
            for (size_t i = 0; i < centroid.size(); ++i)
                score += centroid[i] * double(row(block_keys_, block)[i]);
            exact[block] = score * scale > threshold || std::abs(block - query_block) <= 1;
        }
    }

    // y: kSize floats.
    void attend(int64_t token, const uint8_t * exact, float * y) const {
        std::fill(y, y + kSize, std::numeric_limits<float>::quiet_NaN());
        if (!finite_keys_ || !is_finite(row(q_, token))) return;
        std::vector<Term> terms;
        for (int64_t block = 0; block < blocks_; ++block) add_terms(token, block, exact[block] != 0, terms);
        const double max = std::max_element(terms.begin(), terms.end(), [](const Term & a, const Term & b) {
                               return a.score < b.score;
                           })->score;
        std::vector<double> sums(kSize);
        double total = 0.0;
        for (const Term & term : terms) {
            const double p = std::exp2(term.score - max);
            total += p * double(term.tokens);
            const double rounded = double(round(float(p)));
            for (size_t i = 0; i < sums.size(); ++i) sums[i] += rounded * double(term.value[i]);
        }
        for (size_t i = 0; i < sums.size(); ++i) {
            if (finite_values_[i]) y[i] = round(float(sums[i] / total));
        }
    }

    int64_t tokens() const { return tokens_; }
    int64_t blocks() const { return blocks_; }

  private:
    // A key, or a block of them.
    struct Term {
        double score;
        int64_t tokens;
        const float * value;
    };

    static const float * row(const Rows & rows, int64_t i) { return rows.data() + i * kSize; }
    float round(float x) const { return precision_ == SolPrecision::bf16 ? as_bf16(x) : x; }

    Rows read(const ggml_tensor * t, int64_t number) const {
        const float * p = static_cast<const float *>(t->data) + number * tokens_ * kSize;
        Rows rows(p, p + tokens_ * kSize);
        for (float & x : rows) x = round(x);
        return rows;
    }

    int64_t first(int64_t block) const { return block * kSolBlock; }
    int64_t last(int64_t block) const { return std::min(first(block) + kSolBlock, tokens_); }

    // Means of keys and sums of values of each block, and over the blocks the mean and variance of the
    // former.
    void summarize() {
        finite_keys_ = true;
        for (int64_t t = 0; t < tokens_; ++t) finite_keys_ = finite_keys_ && is_finite(row(k_, t));
        key_mean_.resize(kSize);
        key_variance_.resize(kSize);
        finite_values_.resize(kSize);
        block_keys_.resize(static_cast<size_t>(blocks_ * kSize));
        block_values_.resize(block_keys_.size());
        for (int64_t i = 0; i < kSize; ++i) summarize(i);
    }
    void summarize(int64_t i) {
        double sum = 0.0, squares = 0.0;
        bool finite = true;
        for (int64_t block = 0; block < blocks_; ++block) {
            double keys = 0.0, values = 0.0; // no sum of floats leaves the range of double
            for (int64_t t = first(block); t < last(block); ++t) {
                keys += double(row(k_, t)[i]);
                values += double(row(v_, t)[i]);
            }
            const float key = round(float(keys / double(last(block) - first(block))));
            block_keys_[static_cast<size_t>(block * kSize + i)] = key;
            block_values_[static_cast<size_t>(block * kSize + i)] = round(float(values));
            finite = finite && std::isfinite(values);
            sum += double(key);
            squares += double(key) * double(key);
        }
        finite_values_[static_cast<size_t>(i)] = finite;
        const double mean = sum / double(blocks_);
        key_mean_[static_cast<size_t>(i)] = mean;
        key_variance_[static_cast<size_t>(i)] = std::max(squares / double(blocks_) - mean * mean, 0.0);
    }

    std::vector<double> mean_of_queries(int64_t block) const {
        std::vector<double> mean(kSize);
        int64_t n = 0;
        for (int64_t t = first(block); t < last(block); ++t) {
            if (!is_finite(row(q_, t))) continue;
            ++n;
            for (size_t i = 0; i < mean.size(); ++i) mean[i] += double(row(q_, t)[i]);
        }
        for (double & m : mean) m /= double(std::max<int64_t>(n, 1));
        return mean;
    }

    void add_terms(int64_t token, int64_t block, bool exact, std::vector<Term> & terms) const {
        const double scale = double(attrs_.scale) * kLog2e;
        const float * query = row(q_, token);
        if (!exact) {
            terms.push_back({dot(query, row(block_keys_, block)) * scale, last(block) - first(block),
                             row(block_values_, block)});
            return;
        }
        for (int64_t t = first(block); t < last(block); ++t)
            terms.push_back({dot(query, row(k_, t)) * scale, 1, row(v_, t)});
    }

    SolPrecision precision_;
    SolAttnAttrs attrs_;
    int64_t tokens_, blocks_;
    Rows q_, k_, v_, block_keys_, block_values_;
    std::vector<double> key_mean_, key_variance_;
    bool finite_keys_ = false;
    std::vector<bool> finite_values_; // of each element of a row
};

void compute(ggml_tensor * node, SolPrecision precision, SolRouting & routing) {
    const int64_t heads = node->ne[1], tokens = node->ne[2], all = heads * node->ne[3];
    routing = {};
    for (int64_t number = 0; number < all; ++number) {
        const Head head(node, number, precision);
        routing.blocks = head.blocks();
        routing.exact.resize(static_cast<size_t>(all * head.blocks() * head.blocks()));
        auto * y = static_cast<float *>(node->data) + number / heads * tokens * heads * kSize;
        for (int64_t block = 0; block < head.blocks(); ++block) {
            uint8_t * exact = routing.exact.data() + (number * head.blocks() + block) * head.blocks();
            head.route(block, exact);
            for (int64_t t = block * kSolBlock; t < std::min((block + 1) * kSolBlock, tokens); ++t)
                head.attend(t, exact, y + (t * heads + number % heads) * kSize);
        }
    }
}

} // namespace

int64_t SolRouting::count() const { return std::accumulate(exact.begin(), exact.end(), int64_t(0)); }

ggml_status sol_attn_compute(ggml_tensor * node, SolPrecision precision, SolRouting * routing) {
    try {
        SolRouting unasked;
        compute(node, precision, routing != nullptr ? *routing : unasked);
    } catch (const std::bad_alloc &) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status sol_attn_reference(ggml_tensor * node, void *) {
    return sol_attn_compute(node, SolPrecision::f32, nullptr);
}

} // namespace sd
