#include "adapters/entry.h"

#include "base/error.h"
#include "checkpoint/values/read_values.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

using enum AdapterRole;

std::string text(int64_t a, int64_t b) { return shape_text({a, b}); }

const char * role_text(AdapterRole role) {
    switch (role) {
    case down: return "lora_down (lora_A)";
    case up: return "lora_up (lora_B)";
    case hada_w1_a: return "hada_w1_a";
    case hada_w1_b: return "hada_w1_b";
    case hada_w2_a: return "hada_w2_a";
    case hada_w2_b: return "hada_w2_b";
    case hada_t1: return "hada_t1";
    case hada_t2: return "hada_t2";
    case lokr_w1: return "lokr_w1";
    case lokr_w1_a: return "lokr_w1_a";
    case lokr_w1_b: return "lokr_w1_b";
    case lokr_w2: return "lokr_w2";
    case lokr_w2_a: return "lokr_w2_a";
    case lokr_w2_b: return "lokr_w2_b";
    default: return "factor";
    }
}

class Reader {
  public:
    Reader(const Checkpoint & file, const AdapterTensors & tensors, std::string name, int64_t n, int64_t k)
        : file_(file), tensors_(tensors), name_(std::move(name)), n_(n), k_(k) {}

    Change lora() const;
    Change loha() const;
    Change lokr() const;

    bool has(AdapterRole role) const { return tensors_.count(role) != 0; }
    [[noreturn]] void refuse(AdapterRole role, const std::string & cause) const {
        throw file_.error(*tensors_.at(role), "E_ADAPTER", cause);
    }

    // Finite floats of a tensor that is known to be of a possible size.
    std::vector<float> floats(const TensorInfo & tensor) const;

  private:
    // Its two sizes; further ones must be 1 (factors of convolutions of one pixel).
    std::vector<int64_t> sizes(AdapterRole role) const;
    // A factor that must have these sizes; 0: any that makes a rank.
    Matrix matrix(AdapterRole role, int64_t rows, int64_t columns) const;
    void need(AdapterRole role) const;
    float scalar(AdapterRole role) const;
    float factor(int64_t rank) const;
    std::pair<int64_t, int64_t> outer_sizes(AdapterRole full, AdapterRole low_a, AdapterRole low_b) const;
    Matrix kronecker_factor(AdapterRole full, AdapterRole low_a, AdapterRole low_b, Matrix & b) const;

    const Checkpoint & file_;
    const AdapterTensors & tensors_;
    std::string name_;
    int64_t n_, k_;
};

std::vector<float> Reader::floats(const TensorInfo & tensor) const {
    if (!is_float(tensor.type) && !is_blocks(tensor.type)) {
        throw file_.error(tensor, "E_ADAPTER",
                          std::string("holds values of the type ") + type_name(tensor.type) +
                              ", and those of an adapter are floats");
    }
    std::vector<float> values = read_floats(file_, tensor);
    if (std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return values;
    throw file_.error(tensor, "E_ADAPTER", "has values that are not finite");
}

std::vector<int64_t> Reader::sizes(AdapterRole role) const {
    std::vector<int64_t> shape = tensors_.at(role)->shape;
    while (shape.size() > 2 && shape.back() == 1) shape.pop_back();
    if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0) return shape;
    refuse(role, "has the shape " + shape_text(tensors_.at(role)->shape) + ", which is no matrix");
}

Matrix Reader::matrix(AdapterRole role, int64_t rows, int64_t columns) const {
    need(role);
    const std::vector<int64_t> shape = sizes(role);
    const bool fits = (rows == 0 || shape[0] == rows) && (columns == 0 || shape[1] == columns);
    if (!fits) {
        const auto size = [](int64_t s) { return s == 0 ? std::string("rank") : std::to_string(s); };
        refuse(role, "has the shape " + text(shape[0], shape[1]) + ", and the layer of " + text(n_, k_) +
                         " needs [" + size(rows) + ", " + size(columns) + "]");
    }
    // Beyond, the adapter would be larger than the layer; made up numbers must not decide how much memory is
    // taken.
    const int64_t rank = rows == 0 ? shape[0] : columns == 0 ? shape[1] : 0;
    if (rank > std::max(n_, k_)) {
        refuse(role, "makes a rank of " + std::to_string(rank) + ", more than the layer of " + text(n_, k_) +
                         " has");
    }
    return {shape[0], shape[1], floats(*tensors_.at(role))};
}

void Reader::need(AdapterRole role) const {
    if (has(role)) return;
    const TensorInfo & other = *tensors_.begin()->second;
    throw file_.error(other, "E_ADAPTER",
                      std::string("comes without its ") + role_text(role) + " of " + name_);
}

float Reader::scalar(AdapterRole role) const {
    const TensorInfo & tensor = *tensors_.at(role);
    if (tensor.elements() != 1) refuse(role, "has the shape " + shape_text(tensor.shape) + ", not one value");
    return floats(tensor)[0];
}

float Reader::factor(int64_t rank) const {
    const AdapterRole role = has(AdapterRole::scale) ? AdapterRole::scale : alpha;
    if (!has(role)) return 1.0f;
    const float value = scalar(role);
    if (value == 0.0f) refuse(role, "is 0, which would leave nothing of the layer's adapter");
    return role == alpha ? value / float(rank) : value;
}

Change Reader::lora() const {
    Change c;
    need(down);
    c.b = matrix(down, 0, k_);
    const int64_t rank = c.b.rows;
    if (has(mid)) {
        const Matrix core = matrix(mid, 0, rank);
        c.b = product(core, c.b);
    }
    c.a = matrix(up, n_, c.b.rows);
    c.factor = factor(rank);
    return c;
}

Change Reader::loha() const {
    Change c;
    c.kind = Change::Kind::hadamard;
    const auto half = [&](AdapterRole role_a, AdapterRole role_b, AdapterRole core, Matrix & a, Matrix & b) {
        b = matrix(role_b, 0, k_);
        if (!has(core)) {
            a = matrix(role_a, n_, b.rows);
            return;
        }
        // In Tucker's form the first factor is the other way around, with the core between the two.
        const Matrix flipped = matrix(role_a, 0, n_);
        a = transposed(flipped);
        const Matrix between = matrix(core, flipped.rows, b.rows);
        b = product(between, b);
    };
    half(hada_w1_a, hada_w1_b, hada_t1, c.a, c.b);
    half(hada_w2_a, hada_w2_b, hada_t2, c.a2, c.b2);
    c.factor = factor(sizes(hada_w1_b)[0]);
    return c;
}

// Of a factor, whether it is there as a whole or as a product.
std::pair<int64_t, int64_t> Reader::outer_sizes(AdapterRole full, AdapterRole low_a,
                                                AdapterRole low_b) const {
    if (has(full)) return {sizes(full)[0], sizes(full)[1]};
    need(low_a);
    need(low_b);
    const bool flipped = full == lokr_w2 && has(lokr_t2);
    return {sizes(low_a)[flipped ? 1 : 0], sizes(low_b)[1]};
}

// A whole factor, or two of low rank: then the second is in `b`.
Matrix Reader::kronecker_factor(AdapterRole full, AdapterRole low_a, AdapterRole low_b, Matrix & b) const {
    if (has(full)) {
        for (const AdapterRole other : {low_a, low_b}) {
            if (has(other)) refuse(other, std::string("is there beside ") + role_text(full));
        }
        return matrix(full, 0, 0);
    }
    if (full == lokr_w2 && has(lokr_t2)) {
        // Tucker's form: both factors [rank, size], the core between them.
        Matrix flipped = matrix(low_a, 0, 0);
        b = matrix(low_b, 0, 0);
        b = product(matrix(lokr_t2, flipped.rows, b.rows), b);
        return transposed(flipped);
    }
    need(low_a);
    b = matrix(low_b, 0, 0);
    return matrix(low_a, 0, b.rows);
}

Change Reader::lokr() const {
    Change c;
    c.kind = Change::Kind::kronecker;
    if (has(lokr_w2) && has(lokr_t2)) refuse(lokr_t2, "is there beside lokr_w2");
    // Sizes first: products of factors that do not fit could be of any size.
    const auto [up, uq] = outer_sizes(lokr_w1, lokr_w1_a, lokr_w1_b);
    const auto [vp, vq] = outer_sizes(lokr_w2, lokr_w2_a, lokr_w2_b);
    const bool fits = n_ % up == 0 && n_ / up == vp && k_ % uq == 0 && k_ / uq == vq;
    if (!fits) {
        refuse(has(lokr_w2) ? lokr_w2 : lokr_w2_a,
               "makes " + text(vp, vq) + ", which with the " + text(up, uq) +
                   " of the first factor does not make the layer's " + text(n_, k_));
    }
    Matrix left_b;
    c.left = kronecker_factor(lokr_w1, lokr_w1_a, lokr_w1_b, left_b);
    const int64_t rank1 = left_b.rows;
    if (!left_b.empty()) c.left = product(c.left, left_b);
    c.a = kronecker_factor(lokr_w2, lokr_w2_a, lokr_w2_b, c.b);
    // Two whole factors have no rank; files then hold any alpha.
    const int64_t rank2 = has(lokr_w2_b) ? sizes(lokr_w2_b)[0] : rank1;
    if (rank2 > 0) c.factor = factor(rank2);
    return c;
}

bool any_of(const AdapterTensors & tensors, AdapterRole first, AdapterRole last) {
    const auto at = tensors.lower_bound(first);
    return at != tensors.end() && at->first <= last;
}

} // namespace

bool has_factors(const AdapterTensors & tensors) {
    return any_of(tensors, down, mid) || any_of(tensors, difference, difference) ||
           any_of(tensors, hada_w1_a, lokr_t2);
}

Change read_change(const Checkpoint & file, const AdapterTensors & tensors, const std::string & name,
                   int64_t n, int64_t k) {
    const bool lora = any_of(tensors, down, mid), loha = any_of(tensors, hada_w1_a, hada_t2),
               lokr = any_of(tensors, lokr_w1, lokr_t2), plain = any_of(tensors, difference, difference);
    if (lora + loha + lokr + plain != 1) {
        throw file.error(*tensors.begin()->second, "E_ADAPTER",
                         "is not the only kind of adapter for " + name + " in this file");
    }
    const Reader reader(file, tensors, name, n, k);
    if (plain) return read_difference(file, *tensors.at(difference), n, k);
    return lora ? reader.lora() : loha ? reader.loha() : reader.lokr();
}

Change read_difference(const Checkpoint & file, const TensorInfo & tensor, int64_t n, int64_t k) {
    if (tensor.elements() != n * k) {
        throw file.error(tensor, "E_ADAPTER",
                         "has the shape " + shape_text(tensor.shape) + ", and what it changes has " +
                             (n == 1 ? std::to_string(k) + " elements" : "the shape " + text(n, k)));
    }
    const AdapterTensors none;
    Change c;
    c.kind = Change::Kind::difference;
    c.a = {n, k, Reader(file, none, {}, n, k).floats(tensor)};
    return c;
}

Change rows_of(const Change & c, int64_t first, int64_t count, int64_t k) {
    const auto rows = [&](const Matrix & m) {
        return Matrix{count,
                      m.columns,
                      {m.values.begin() + first * m.columns, m.values.begin() + (first + count) * m.columns}};
    };
    Change out = c;
    if (c.kind != Change::Kind::kronecker) {
        out.a = rows(c.a);
        if (c.kind == Change::Kind::hadamard) out.a2 = rows(c.a2);
        return out;
    }
    out = {};
    out.kind = Change::Kind::difference;
    out.a = {count, k, std::vector<float>(size_t(count * k), 0.0f)};
    add_difference(c, k, first, count, out.a.values.data());
    return out;
}

} // namespace sd
