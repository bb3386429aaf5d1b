#include "checkpoint/values/stored_rows.h"

#include "checkpoint/values/floats.h"

#include <algorithm>
#include <cstring>

namespace sd {

StoredRows::StoredRows(const Checkpoint & checkpoint, const TensorInfo & tensor, RowRange rows)
    : checkpoint_(checkpoint), tensor_(tensor), first_row_(rows.begin) {
    const int64_t all = row_count(tensor);
    if (rows.begin < 0 || rows.begin > all || rows.count > all - rows.begin)
        throw checkpoint.error(tensor, "E_RANGE",
                               "row " + std::to_string(rows.begin) +
                                   " and those after it are asked for, but it has " + std::to_string(all));
    elements_ = (rows.count < 0 ? all - rows.begin : rows.count) * row_length(tensor);
    if (!tensor.strides.empty() && elements_ > 0) read_span();
}

int64_t StoredRows::place(int64_t row) const {
    int64_t at = 0;
    for (size_t axis = tensor_.shape.size() - 1; axis-- > 0; row /= tensor_.shape[axis])
        at += row % tensor_.shape[axis] * tensor_.strides[axis];
    return at;
}

void StoredRows::read_span() {
    int64_t first = place(first_row_), last = first;
    for (int64_t row = first_row_; row < first_row_ + elements_ / row_length(tensor_); ++row) {
        first = std::min(first, place(row));
        last = std::max(last, place(row));
    }
    last += (row_length(tensor_) - 1) * tensor_.strides.back();
    span_begin_ = first;
    span_.resize(run_bytes(tensor_.type, last - first + 1));
    checkpoint_.file_of(tensor_).read(tensor_.offset + run_bytes(tensor_.type, first), span_.data(),
                                      span_.size());
}

void StoredRows::gather(int64_t begin, int64_t n, std::byte * out) const {
    const size_t unit = run_bytes(tensor_.type, 1);
    const int64_t length = row_length(tensor_), step = tensor_.strides.back();
    while (n > 0) {
        const int64_t column = begin % length, count = std::min(n, length - column);
        const std::byte * from =
            span_.data() + size_t(place(first_row_ + begin / length) + column * step - span_begin_) * unit;
        for (int64_t i = 0; i < count; ++i)
            std::memcpy(out + size_t(i) * unit, from + size_t(i * step) * unit, unit);
        out += size_t(count) * unit;
        begin += count;
        n -= count;
    }
}

void StoredRows::read(int64_t begin, int64_t n, std::byte * out) const {
    if (!tensor_.strides.empty()) return gather(begin, n, out);
    const int64_t first = first_row_ * row_length(tensor_) + begin;
    checkpoint_.file_of(tensor_).read(tensor_.offset + run_bytes(tensor_.type, first), out,
                                      run_bytes(tensor_.type, n));
}

} // namespace sd
