#include "adapters/change.h"

#include <algorithm>
#include <utility>

namespace sd {
namespace {

void add_scaled(float by, const float * from, int64_t n, float * to) {
    for (int64_t i = 0; i < n; ++i) to[i] += by * from[i];
}

// Row i of a b, or of a where b is empty, added to `out`.
void add_row(const Matrix & a, const Matrix & b, int64_t i, float factor, float * out) {
    if (b.empty()) {
        add_scaled(factor, a.row(i), a.columns, out);
        return;
    }
    for (int64_t r = 0; r < b.rows; ++r) add_scaled(factor * a.row(i)[r], b.row(r), b.columns, out);
}

void add_hadamard_row(const Change & c, int64_t k, int64_t i, float * out) {
    std::vector<float> both(size_t(2 * k), 0.0f);
    float *one = both.data(), *two = both.data() + k;
    add_row(c.a, c.b, i, 1.0f, one);
    add_row(c.a2, c.b2, i, 1.0f, two);
    for (int64_t j = 0; j < k; ++j) out[j] += c.factor * one[j] * two[j];
}

void add_kronecker_row(const Change & c, int64_t i, float * out) {
    const int64_t inner = c.b.empty() ? c.a.columns : c.b.columns;
    std::vector<float> right(size_t(inner), 0.0f);
    add_row(c.a, c.b, i % c.a.rows, 1.0f, right.data());
    const float * left = c.left.row(i / c.a.rows);
    for (int64_t block = 0; block < c.left.columns; ++block)
        add_scaled(c.factor * left[block], right.data(), inner, out + block * inner);
}

// The columns of a's rows times those of b's: [rows, a.columns * b.columns].
Matrix row_products(const Matrix & a, const Matrix & b) {
    Matrix out = {a.rows, a.columns * b.columns, {}};
    out.values.reserve(size_t(out.rows * out.columns));
    for (int64_t i = 0; i < a.rows; ++i) {
        for (int64_t p = 0; p < a.columns; ++p) {
            for (int64_t q = 0; q < b.columns; ++q) out.values.push_back(a.row(i)[p] * b.row(i)[q]);
        }
    }
    return out;
}

} // namespace

Matrix product(const Matrix & a, const Matrix & b) {
    Matrix out = {a.rows, b.columns, std::vector<float>(size_t(a.rows * b.columns), 0.0f)};
    for (int64_t i = 0; i < a.rows; ++i) add_row(a, b, i, 1.0f, out.row(i));
    return out;
}

Matrix transposed(const Matrix & m) {
    Matrix out = {m.columns, m.rows, std::vector<float>(m.values.size())};
    for (int64_t i = 0; i < m.rows; ++i) {
        for (int64_t j = 0; j < m.columns; ++j) out.row(j)[i] = m.row(i)[j];
    }
    return out;
}

std::pair<int64_t, int64_t> matrix_sizes(std::vector<int64_t> shape) {
    while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
    if (shape.size() == 2) return {shape[0], shape[1]};
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return {1, elements};
}

void add_difference(const Change & c, int64_t k, int64_t first, int64_t count, float * out) {
    for (int64_t i = first; i < first + count; ++i, out += k) {
        switch (c.kind) {
        case Change::Kind::low_rank: add_row(c.a, c.b, i, c.factor, out); break;
        case Change::Kind::hadamard: add_hadamard_row(c, k, i, out); break;
        case Change::Kind::kronecker: add_kronecker_row(c, i, out); break;
        case Change::Kind::difference: add_scaled(c.factor, c.a.values.data() + i * k, k, out); break;
        }
    }
}

void add_differences(const std::vector<Change> & changes, int64_t n, int64_t k, float * out,
                     const ParallelOptions & options) {
    constexpr int64_t kRows = 16; // enough work to be worth a turn of a thread
    ParallelOptions untold = options;
    untold.progress = {};
    parallel_parts((n + kRows - 1) / kRows, untold, [&](int64_t part) {
        const int64_t first = part * kRows, count = std::min(kRows, n - first);
        for (const Change & c : changes) add_difference(c, k, first, count, out + first * k);
        return uint64_t(0);
    });
}

Change cheapest(const Change & c, int64_t n, int64_t k) {
    if (c.kind != Change::Kind::hadamard) return c;
    const int64_t rank = c.a.columns * c.a2.columns;
    if (rank * (n + k) >= n * k) return c;
    // (sum_p a[i,p] b[p,j]) (sum_q a2[i,q] b2[q,j]) = sum_pq (a[i,p] a2[i,q]) (b[p,j] b2[q,j])
    Change out;
    out.factor = c.factor;
    out.a = row_products(c.a, c.a2);
    out.b = transposed(row_products(transposed(c.b), transposed(c.b2)));
    return out;
}

} // namespace sd
