// What adapters do to the tensors of a model, whatever file it came from: numbers only, no names of files or
// modules. Differences are exact formulas over F32 factors; nothing here is rounded to another type.
#pragma once

#include "base/parallel.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sd {

// Row-major.
struct Matrix {
    int64_t rows = 0, columns = 0;
    std::vector<float> values;

    bool empty() const { return values.empty(); }
    const float * row(int64_t i) const { return values.data() + i * columns; }
    float * row(int64_t i) { return values.data() + i * columns; }
};

Matrix product(const Matrix & a, const Matrix & b);
Matrix transposed(const Matrix & m);

// A difference to a matrix [n, k]; vectors are one row.
struct Change {
    enum class Kind {
        low_rank,   // a b: a [n, r], b [r, k]                                                     (LoRA)
        hadamard,   // (a b) o (a2 b2), element by element                                         (LoHa)
        kronecker,  // left (x) (a b), or left (x) a where b is empty: rows of blocks like `a b`   (LoKr)
        difference, // a [n, k], in any shape of as many elements
    };
    Kind kind = Kind::low_rank;
    float factor = 1.0f; // of everything: strength, and alpha / rank
    Matrix left, a, b, a2, b2;
};

// out[i][j] += factor * difference[first + i][j] for `count` rows of k.
void add_difference(const Change & change, int64_t k, int64_t first, int64_t count, float * out);

// How changes see a tensor: [n, k] of a matrix; anything else is one row.
std::pair<int64_t, int64_t> matrix_sizes(std::vector<int64_t> shape);

// All rows of a tensor [n, k], in parallel.
void add_differences(const std::vector<Change> & changes, int64_t n, int64_t k, float * out,
                     const ParallelOptions & options = {});

// A change with the same difference that is cheaper to apply to activations: element-wise products of small
// ranks are a low rank, too, the product of theirs. `change` itself when there is none.
Change cheapest(const Change & change, int64_t n, int64_t k);

// Changes to a model, by tensor name, with the strengths already in.
using ModelChanges = std::map<std::string, std::vector<Change>, std::less<>>;

} // namespace sd
