#include "tests/support/op_check.h"

#include "runtime/graph/graph.h"
#include "runtime/tensor/types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace ggml::test {
namespace {

// xorshift: the same values on every platform and library.
float next_uniform(uint32_t & state, float lo, float hi) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return lo + (hi - lo) * (float(state >> 8) * 0x1p-24f);
}

bool is_integer(ggml_type type) {
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I16 || type == GGML_TYPE_I32 || type == GGML_TYPE_I64;
}

int64_t ordered_bits(float f) {
    const int32_t bits = std::bit_cast<int32_t>(f);
    return bits >= 0 ? int64_t(bits) : int64_t(INT32_MIN) - int64_t(bits);
}

bool close(double a, double b, const Tolerance & tolerance) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (a == b) return true;
    if (std::isinf(a) || std::isinf(b)) return false;
    if (std::fabs(a - b) <= tolerance.abs + tolerance.rel * std::fmax(std::fabs(a), std::fabs(b)))
        return true;
    return tolerance.ulp > 0 && std::llabs(ordered_bits(float(a)) - ordered_bits(float(b))) <= tolerance.ulp;
}

template <class Visit>
void for_each_row(const ggml_tensor * t, Visit && visit) {
    if (ggml_is_empty(t)) return;
    for (int64_t row = 0; row < ggml_nrows(t); ++row) {
        visit(static_cast<char *>(t->data) + row_offset(t, row_index(t, row)));
    }
}

double read_one(ggml_type type, const char * p) {
    const auto load = [p](auto value) {
        std::memcpy(&value, p, sizeof(value));
        return value;
    };
    switch (type) {
    case GGML_TYPE_F32: return load(float{});
    case GGML_TYPE_F64: return load(double{});
    case GGML_TYPE_F16: return ggml_fp16_to_fp32(load(uint16_t{}));
    case GGML_TYPE_BF16: return std::bit_cast<float>(uint32_t(load(uint16_t{})) << 16);
    case GGML_TYPE_I8: return load(int8_t{});
    case GGML_TYPE_I16: return load(int16_t{});
    case GGML_TYPE_I32: return load(int32_t{});
    case GGML_TYPE_I64: return double(load(int64_t{}));
    default: ADD_FAILURE() << "cannot read elements of type " << ggml_type_name(type); return 0;
    }
}

void write_one(ggml_type type, char * p, double value) {
    const auto store = [p](auto v) { std::memcpy(p, &v, sizeof(v)); };
    switch (type) {
    case GGML_TYPE_F32: return store(float(value));
    case GGML_TYPE_F64: return store(value);
    case GGML_TYPE_F16: return store(ggml_fp32_to_fp16(float(value)));
    case GGML_TYPE_BF16: return store(ggml_fp32_to_bf16(float(value)).bits);
    case GGML_TYPE_I8: return store(int8_t(value));
    case GGML_TYPE_I16: return store(int16_t(value));
    case GGML_TYPE_I32: return store(int32_t(value));
    case GGML_TYPE_I64: return store(int64_t(value));
    default: ADD_FAILURE() << "cannot write elements of type " << ggml_type_name(type);
    }
}

void fill_random(ggml_tensor * t, uint32_t & seed, float lo, float hi) {
    if (ggml_is_quantized(t->type)) {
        std::vector<float> row(static_cast<size_t>(t->ne[0]));
        for_each_row(t, [&](char * p) {
            for (float & v : row) v = next_uniform(seed, lo, hi);
            ggml_quantize_chunk(t->type, row.data(), p, 0, 1, t->ne[0], nullptr);
        });
        return;
    }
    for_each_row(t, [&](char * p) {
        for (int64_t i = 0; i < t->ne[0]; ++i) {
            const float v = next_uniform(seed, lo, hi);
            write_one(t->type, p + size_t(i) * t->nb[0], is_integer(t->type) ? std::round(v) : v);
        }
    });
}

std::string describe(const ggml_tensor * t) {
    char text[160];
    std::snprintf(text, sizeof text, "%s %s [%lld, %lld, %lld, %lld]", ggml_op_desc(t),
                  ggml_type_name(t->type), (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2],
                  (long long)t->ne[3]);
    return text;
}

} // namespace

const char * layout_name(Layout layout) {
    constexpr const char * names[] = {"contiguous", "padded_rows", "transposed01", "permuted12",
                                      "permuted23"};
    return names[int(layout)];
}

OpCheck::OpCheck(size_t arena_bytes) : ctx_(ggml_init({arena_bytes, nullptr, false})) {}

OpCheck::~OpCheck() { ggml_free(ctx_); }

ggml_tensor * OpCheck::input(ggml_type type, Shape ne, Layout layout, float lo, float hi) {
    const auto make = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
        ggml_tensor * t = ggml_new_tensor_4d(ctx_, type, a, b, c, d);
        fill_random(t, seed_, lo, hi);
        return t;
    };
    switch (layout) {
    case Layout::contiguous: return make(ne[0], ne[1], ne[2], ne[3]);
    case Layout::padded_rows: {
        ggml_tensor * owner = make(ne[0] + 5, ne[1], ne[2], ne[3]);
        return ggml_view_4d(ctx_, owner, ne[0], ne[1], ne[2], ne[3], owner->nb[1], owner->nb[2], owner->nb[3],
                            2 * owner->nb[0]);
    }
    case Layout::transposed01: return ggml_permute(ctx_, make(ne[1], ne[0], ne[2], ne[3]), 1, 0, 2, 3);
    case Layout::permuted12: return ggml_permute(ctx_, make(ne[0], ne[2], ne[1], ne[3]), 0, 2, 1, 3);
    case Layout::permuted23: return ggml_permute(ctx_, make(ne[0], ne[1], ne[3], ne[2]), 0, 1, 3, 2);
    }
    return nullptr;
}

ggml_tensor * OpCheck::indices(const std::vector<int64_t> & values, ggml_type type) {
    return indices(values, {int64_t(values.size()), 1, 1, 1}, type);
}

ggml_tensor * OpCheck::indices(const std::vector<int64_t> & values, Shape ne, ggml_type type) {
    ggml_tensor * t = ggml_new_tensor(ctx_, type, 4, ne.data());
    for (size_t i = 0; i < values.size(); ++i) {
        write_one(type, static_cast<char *>(t->data) + i * t->nb[0], double(values[i]));
    }
    return t;
}

ggml_tensor * OpCheck::values(const std::vector<float> & values, Shape ne) {
    ggml_tensor * t = ggml_new_tensor(ctx_, GGML_TYPE_F32, 4, ne.data());
    EXPECT_EQ(size_t(ggml_nelements(t)), values.size());
    if (!values.empty()) std::memcpy(t->data, values.data(), values.size() * sizeof(float));
    return t;
}

void OpCheck::prepare(ggml_tensor * result) {
    if (graph_result_ == result) return;
    graph_ = ggml_new_graph(ctx_);
    graph_result_ = result;
    ggml_build_forward_expand(graph_, result);
    saved_.clear();
    const auto save = [&](ggml_tensor * t) {
        if (t->view_src != nullptr || ggml_is_empty(t)) return;
        const auto * p = static_cast<const uint8_t *>(t->data);
        saved_.push_back({t, std::vector<uint8_t>(p, p + ggml_nbytes(t))});
    };
    for (int i = 0; i < graph_->n_leafs; ++i) save(graph_->leafs[i]);
    // Results that own storage start poisoned, so that an element nobody wrote is seen.
    for (int i = 0; i < graph_->n_nodes; ++i) {
        ggml_tensor * node = graph_->nodes[i];
        if (node->view_src == nullptr && !ggml_is_empty(node))
            std::memset(node->data, 0xA5, ggml_nbytes(node));
        save(node);
    }
}

void OpCheck::restore() {
    for (const Saved & s : saved_) std::memcpy(s.tensor->data, s.bytes.data(), s.bytes.size());
}

ggml_status OpCheck::compute_status(ggml_tensor * result, bool use_ref, int n_threads) {
    prepare(result);
    restore();
    ggml_cplan plan = ggml_graph_plan(graph_, n_threads, nullptr);
    plan.use_ref = use_ref;
    std::vector<uint8_t> work(plan.work_size, 0x5C);
    plan.work_data = work.data();
    return ggml_graph_compute(graph_, &plan);
}

std::vector<double> OpCheck::compute(ggml_tensor * result, bool use_ref, int n_threads) {
    EXPECT_EQ(compute_status(result, use_ref, n_threads), GGML_STATUS_SUCCESS) << describe(result);
    return read_elements(result);
}

bool OpCheck::check(ggml_tensor * result, const Tolerance & tolerance, const RunOptions & options) {
    const std::vector<double> expected = compute(result, true);
    bool ok = true;
    const auto check_level = [&](cpu::Isa isa) {
        std::vector<uint8_t> first;
        for (int n : options.threads) {
            const std::string what =
                describe(result) + ", " + cpu::isa_name(isa) + ", " + std::to_string(n) + " threads";
            if (!expect_close(compute(result, false, n), expected, tolerance, what)) {
                ok = false;
                return;
            }
            const std::vector<uint8_t> bytes = read_bytes(result);
            if (first.empty()) first = bytes;
            if (options.identical_across_threads && bytes != first) {
                ADD_FAILURE() << what << ": bytes differ from those of " << options.threads[0]
                              << " thread(s)";
                ok = false;
                return;
            }
        }
    };
    if (options.all_isa_levels) {
        for_each_isa(check_level);
    } else {
        check_level(cpu::Isa::all);
    }
    return ok;
}

std::vector<double> read_elements(const ggml_tensor * t) {
    std::vector<double> out;
    if (ggml_is_quantized(t->type)) {
        std::vector<float> row(static_cast<size_t>(t->ne[0]));
        for_each_row(t, [&](const char * p) {
            type_info(t->type).to_float(p, row.data(), t->ne[0]);
            out.insert(out.end(), row.begin(), row.end());
        });
        return out;
    }
    for_each_row(t, [&](const char * p) {
        for (int64_t i = 0; i < t->ne[0]; ++i) out.push_back(read_one(t->type, p + size_t(i) * t->nb[0]));
    });
    return out;
}

std::vector<uint8_t> read_bytes(const ggml_tensor * t) {
    std::vector<uint8_t> out;
    const size_t unit = ggml_type_size(t->type);
    for_each_row(t, [&](const char * p) {
        for (int64_t i = 0; i < t->ne[0] / ggml_blck_size(t->type); ++i) {
            const auto * u = reinterpret_cast<const uint8_t *>(p + size_t(i) * t->nb[0]);
            out.insert(out.end(), u, u + unit);
        }
    });
    return out;
}

void set_element(ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3, double value) {
    write_one(t->type, static_cast<char *>(t->data) + size_t(i0) * t->nb[0] + row_offset(t, {i1, i2, i3}),
              value);
}

bool expect_close(const std::vector<double> & actual, const std::vector<double> & expected,
                  const Tolerance & tolerance, const std::string & what) {
    if (actual.size() != expected.size()) {
        ADD_FAILURE() << what << ": " << actual.size() << " elements, expected " << expected.size();
        return false;
    }
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
        if (!close(actual[i], expected[i], tolerance) && bad++ == 0) first = i;
    }
    if (bad > 0) {
        ADD_FAILURE() << what << ": " << bad << " of " << actual.size() << " elements differ, first at "
                      << first << ": " << actual[first] << ", expected " << expected[first];
    }
    return bad == 0;
}

void for_each_isa(const std::function<void(cpu::Isa)> & fn) {
    // Levels the processor lacks are refused by set_isa_cap; `all` would repeat the highest one.
    for (int i = 0; i < int(cpu::Isa::all); ++i) {
        if (cpu::set_isa_cap(cpu::Isa(i))) fn(cpu::Isa(i));
    }
    cpu::set_isa_cap(cpu::Isa::all);
}

} // namespace ggml::test
