// How constructors make their result: sizes that notice overflow, result tensors that are refused with the
// operator's name, and the wiring of operands. Nothing here knows a particular operator.
#pragma once

#include "ggml.h"
#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "runtime/tensor/layout.h"

#include <array>
#include <initializer_list>
#include <limits>

namespace ggml {

// A size computed from sizes and caller's numbers. Arithmetic that leaves int64 makes it invalid for good,
// and an invalid size is refused by new_result, so formulas need no check of their own.
class Extent {
  public:
    Extent(int64_t value) : value_(value) {}

    bool valid() const { return valid_; }
    int64_t value() const { return value_; } // meaningless when invalid
    bool fits_int32() const {
        return valid_ && value_ >= std::numeric_limits<int32_t>::min() &&
               value_ <= std::numeric_limits<int32_t>::max();
    }

    friend Extent operator+(Extent a, Extent b) {
        return combine(a, b, [](int64_t x, int64_t y, int64_t & out) { return checked_add(x, y, out); });
    }
    friend Extent operator-(Extent a, Extent b) {
        return combine(a, b, [](int64_t x, int64_t y, int64_t & out) { return checked_sub(x, y, out); });
    }
    friend Extent operator*(Extent a, Extent b) {
        return combine(a, b, [](int64_t x, int64_t y, int64_t & out) { return checked_mul(x, y, out); });
    }
    // Rounds towards zero. A divisor that is not positive gives an invalid size.
    friend Extent operator/(Extent a, Extent b) {
        return combine(a, b, [](int64_t x, int64_t y, int64_t & out) {
            if (y <= 0) return false;
            out = x / y;
            return true;
        });
    }
    friend bool operator==(Extent a, Extent b) { return a.valid_ && b.valid_ && a.value_ == b.value_; }
    friend bool operator>(Extent a, Extent b) { return a.valid_ && b.valid_ && a.value_ > b.value_; }

  private:
    template <class Op>
    static Extent combine(Extent a, Extent b, Op op) {
        Extent out(0);
        out.valid_ = a.valid_ && b.valid_ && op(a.value_, b.value_, out.value_);
        return out;
    }

    int64_t value_;
    bool valid_ = true;
};

using Extents = std::array<Extent, GGML_MAX_DIMS>;
using Operands = std::initializer_list<const ggml_tensor *>;

inline Extents extents_of(const ggml_tensor * t) { return {t->ne[0], t->ne[1], t->ne[2], t->ne[3]}; }

// Product of a tensor's or of requested sizes.
inline Extent count_of(const Extents & ne) { return ne[0] * ne[1] * ne[2] * ne[3]; }

// Whether a dimension of size `part` repeats into one of size `whole`; nothing repeats only into nothing.
inline bool repeats_into(int64_t part, int64_t whole) { return part == 0 ? whole == 0 : whole % part == 0; }

// Rows may be padded, but dimensions 1..3 follow each other without further gaps and elements of a row are
// dense.
bool has_padded_rows(const ggml_tensor * t);

// Contiguous tensor in the context. Stops, naming `op` and its operands, when a size is invalid or negative,
// the bytes do not fit, or rows are not whole blocks of the type.
ggml_tensor * new_result(ggml_context * ctx, const char * op, ggml_type type, const Extents & ne,
                         Operands operands);

// Result of a's shape and type: a view of a when in place, a new tensor otherwise.
ggml_tensor * result_like(ggml_context * ctx, const char * op, ggml_tensor * a, bool inplace);

// Makes t the result of an operator on these sources; null sources are kept as gaps. Returns t.
ggml_tensor * as_node(ggml_tensor * t, ggml_op op, std::initializer_list<ggml_tensor *> sources);

} // namespace ggml
