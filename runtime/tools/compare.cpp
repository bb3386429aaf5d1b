#include "runtime/tools/compare.h"

#include "runtime/tensor/types.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace ggml::tools {
namespace {

template <class T>
T load(const void * at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

// Collects elements in ggml order.
class Comparison {
  public:
    explicit Comparison(const ggml_ext_tolerance & tolerance) : tolerance_(tolerance) { d_.first_bad = -1; }

    void add(double value, double reference) { add(value, reference, std::fabs(value - reference)); }

    // Beyond 2^53 doubles would hide a difference.
    void add_integer(int64_t value, int64_t reference) {
        const uint64_t a = uint64_t(value), b = uint64_t(reference);
        add(double(value), double(reference), double(value > reference ? a - b : b - a));
    }

    ggml_ext_difference finish() {
        if (error_ > 0)
            d_.nmse = reference_ > 0 ? error_ / reference_ : std::numeric_limits<double>::infinity();
        return d_;
    }

  private:
    void add(double value, double reference, double error) {
        const int64_t index = d_.count++;
        if (!std::isfinite(value) || !std::isfinite(reference)) {
            if ((std::isnan(value) && std::isnan(reference)) || value == reference) return;
            d_.n_nan += std::isnan(value) && !std::isnan(reference);
            d_.n_inf += std::isinf(value);
            note_bad(index, value, reference);
            return;
        }
        d_.max_abs = std::fmax(d_.max_abs, error);
        if (reference != 0) d_.max_rel = std::fmax(d_.max_rel, error / std::fabs(reference));
        error_ += error * error;
        reference_ += reference * reference;
        if (!(error <= tolerance_.max_abs + tolerance_.max_rel * std::fabs(reference)))
            note_bad(index, value, reference);
    }

    void note_bad(int64_t index, double value, double reference) {
        if (d_.first_bad >= 0) return;
        d_.first_bad = index;
        d_.bad_value = value;
        d_.bad_reference = reference;
    }

    const ggml_ext_tolerance & tolerance_;
    ggml_ext_difference d_ = {};
    double error_ = 0, reference_ = 0; // sums of squares
};

// One element of a type that is not quantized.
void compare_element(Comparison & c, ggml_type type, const char * a, const char * b) {
    switch (type) {
    case GGML_TYPE_F64: c.add(load<double>(a), load<double>(b)); return;
    case GGML_TYPE_F32: c.add(double(load<float>(a)), double(load<float>(b))); return;
    case GGML_TYPE_I8: c.add_integer(load<int8_t>(a), load<int8_t>(b)); return;
    case GGML_TYPE_I16: c.add_integer(load<int16_t>(a), load<int16_t>(b)); return;
    case GGML_TYPE_I32: c.add_integer(load<int32_t>(a), load<int32_t>(b)); return;
    case GGML_TYPE_I64: c.add_integer(load<int64_t>(a), load<int64_t>(b)); return;
    default: break;
    }
    float values[2];
    type_info(type).to_float(a, &values[0], 1);
    type_info(type).to_float(b, &values[1], 1);
    c.add(double(values[0]), double(values[1]));
}

// Blocks of a quantized type lie next to each other in every row.
void compare_blocks(Comparison & c, const ggml_tensor * t, const char * a, const char * b) {
    std::vector<float> values(size_t(t->ne[0])), references(size_t(t->ne[0]));
    type_info(t->type).to_float(a, values.data(), t->ne[0]);
    type_info(t->type).to_float(b, references.data(), t->ne[0]);
    for (size_t i = 0; i < values.size(); ++i) c.add(double(values[i]), double(references[i]));
}

bool is_plain(ggml_type type) {
    switch (type) {
    case GGML_TYPE_F64:
    case GGML_TYPE_F32:
    case GGML_TYPE_I8:
    case GGML_TYPE_I16:
    case GGML_TYPE_I32:
    case GGML_TYPE_I64: return true;
    default: return type_is_readable(type) && type_info(type).block == 1;
    }
}

} // namespace

ggml_ext_difference difference(const ggml_tensor * t, const void * result, const void * reference,
                               const ggml_ext_tolerance & tolerance) {
    Comparison comparison(tolerance);
    const auto *a = static_cast<const char *>(result), *b = static_cast<const char *>(reference);
    const bool plain = is_plain(t->type);
    if (!plain && !type_is_readable(t->type)) {
        for (size_t i = 0; i < ggml_nbytes(t); ++i)
            comparison.add_integer(load<uint8_t>(a + i), load<uint8_t>(b + i));
        return comparison.finish();
    }
    const int64_t n_rows = ggml_nelements(t) > 0 ? ggml_nrows(t) : 0;
    for (int64_t row = 0; row < n_rows; ++row) {
        const int64_t i1 = row % t->ne[1], i2 = row / t->ne[1] % t->ne[2], i3 = row / t->ne[1] / t->ne[2];
        const size_t start = size_t(i1) * t->nb[1] + size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
        if (!plain) compare_blocks(comparison, t, a + start, b + start);
        for (int64_t i = 0; plain && i < t->ne[0]; ++i) {
            const size_t at = start + size_t(i) * t->nb[0];
            compare_element(comparison, t->type, a + at, b + at);
        }
    }
    return comparison.finish();
}

bool makes_sense(const ggml_ext_tolerance & t, ext::Verdict * why) {
    if (t.max_abs >= 0 && t.max_rel >= 0 && t.max_nmse >= 0) return true;
    return ext::refuse(why, GGML_EXT_REASON_TOLERANCE, -1, "max_abs %g, max_rel %g, max_nmse %g", t.max_abs,
                       t.max_rel, t.max_nmse);
}

bool is_good(const ggml_ext_difference & difference, const ggml_ext_tolerance & tolerance) {
    return difference.first_bad < 0 && difference.nmse <= tolerance.max_nmse;
}

std::string describe(const ggml_ext_difference & d) {
    char text[128];
    if (d.first_bad < 0) {
        std::snprintf(text, sizeof(text), "nmse is %g", d.nmse);
    } else {
        std::snprintf(text, sizeof(text), "element %lld is %g, should be %g",
                      static_cast<long long>(d.first_bad), d.bad_value, d.bad_reference);
    }
    return text;
}

} // namespace ggml::tools
