// Products of float matrices for error feedback. Sums go up in k, one after the other, whatever the number of
// threads; their rounding differs between instruction sets with and without fused multiply-add.
#pragma once

#include <cstdint>

namespace sd {

// c[i][j] += sign * sum over k of a(i, k) * b[k][j], for i < m, j < n, k < depth. Rows of b and c lie ldb and
// ldc floats apart; a(i, k) is at a + i * row + k * step, so that a may be the transpose of what lies there.
// sign: 1 or -1.
struct Product {
    const float * a;
    int64_t row, step;
    const float * b;
    int64_t ldb;
    float * c;
    int64_t ldc;
    int64_t m, n, depth;
    float sign = 1;
};
void add_product(const Product & p);

// to[j] += by * from[j], j < n.
void add_scaled_row(float by, const float * from, int64_t n, float * to);

} // namespace sd
