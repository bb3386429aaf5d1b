// Each kind of adapter, read from a file, against sums written out here.
#include "adapters/test_models.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using test::AdapterTensor;
using test::values_of;

class AdapterChanges : public test::AdapterTest {
  protected:
    // The difference to a tensor with everything a file says.
    std::vector<float> difference(const std::vector<AdapterTensor> & tensors, const std::string & tensor,
                                  int64_t n, int64_t k, AdapterPart part = AdapterPart::diffusion) const {
        const Adapter adapter = read(tensors);
        EXPECT_TRUE(adapter.unmatched.empty());
        std::vector<float> out(size_t(n * k), 0.0f);
        add_differences(adapter.changes[size_t(part)].at(tensor), n, k, out.data(), {.threads = 2});
        return out;
    }

    static void expect_near(const std::vector<float> & got, const std::vector<double> & expected) {
        ASSERT_EQ(got.size(), expected.size());
        double largest = 0.0;
        for (const double v : expected) largest = std::max(largest, std::abs(v));
        for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(double(got[i]), expected[i], 1e-5 * largest) << i;
    }

    // sum over the inner size of row-major a [n, r] and b [r, k].
    static std::vector<double> times(const std::vector<double> & a, const std::vector<double> & b, int64_t n,
                                     int64_t r, int64_t k) {
        std::vector<double> out(size_t(n * k), 0.0);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < k; ++j)
                for (int64_t s = 0; s < r; ++s)
                    out[size_t(i * k + j)] += a[size_t(i * r + s)] * b[size_t(s * k + j)];
        return out;
    }
    static std::vector<double> wide(const AdapterTensor & t) {
        const std::vector<float> v = values_of(t);
        return {v.begin(), v.end()};
    }

    // Values without pattern, about -1 to 1.
    static AdapterTensor random(const std::string & name, const std::vector<int64_t> & shape) {
        AdapterTensor t = {name, shape};
        t.values.resize(size_t(*tensor_bytes(StoredType::u8, shape)));
        uint32_t state = uint32_t(std::hash<std::string>{}(name)) | 1u;
        for (float & v : t.values) {
            state = state * 1664525u + 1013904223u;
            v = float(int32_t(state)) * 0x1p-31f;
        }
        return t;
    }
};

// Products as double sums, scaled.
std::vector<double> scaled(std::vector<double> v, double by) {
    for (double & x : v) x *= by;
    return v;
}

TEST_F(AdapterChanges, lora_is_the_product_times_alpha_by_rank) {
    const AdapterTensor a = random("blocks.0.attn.wk.lora_A.weight", {4, 64}),
                        b = random("blocks.0.attn.wk.lora_B.weight", {32, 4});
    const auto plain = times(wide(b), wide(a), 32, 4, 64);
    expect_near(difference({a, b}, "blocks.0.attn.wk.weight", 32, 64), plain);
    expect_near(difference({a, b, {"blocks.0.attn.wk.alpha", {}, {2.0f}}}, "blocks.0.attn.wk.weight", 32, 64),
                scaled(plain, 0.5));
    expect_near(
        difference({a, b, {"blocks.0.attn.wk.alpha", {1}, {2.0f}}, {"blocks.0.attn.wk.scale", {}, {-3.0f}}},
                   "blocks.0.attn.wk.weight", 32, 64),
        scaled(plain, -3.0));
}

TEST_F(AdapterChanges, lora_of_rank_one_divides_alpha_by_one) {
    const AdapterTensor a = random("first.lora_down.weight", {1, 64}),
                        b = random("first.lora_up.weight", {64, 1});
    expect_near(difference({a, b, {"first.alpha", {}, {0.5f}}}, "first.weight", 64, 64),
                scaled(times(wide(b), wide(a), 64, 1, 64), 0.5));
}

TEST_F(AdapterChanges, lora_with_a_core_divides_alpha_by_the_rank_of_down) {
    const AdapterTensor a = random("first.lora_down.weight", {3, 64, 1, 1}),
                        m = random("first.lora_mid.weight", {2, 3, 1, 1}),
                        b = random("first.lora_up.weight", {64, 2, 1, 1});
    expect_near(difference({a, m, b, {"first.alpha", {}, {6.0f}}}, "first.weight", 64, 64),
                scaled(times(wide(b), times(wide(m), wide(a), 2, 3, 64), 64, 2, 64), 2.0));
}

std::vector<double> by_elements(const std::vector<double> & a, const std::vector<double> & b) {
    std::vector<double> out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(a[i] * b[i]);
    return out;
}

TEST_F(AdapterChanges, loha_is_the_product_element_by_element_as_low_rank_and_as_it_is) {
    const std::string m = "lora_unet_blocks_0_attn_wk.";
    for (const int64_t rank : {2, 7}) { // 49 products of ranks are dearer than the layer
        const AdapterTensor a1 = random(m + "hada_w1_a", {32, rank}),
                            b1 = random(m + "hada_w1_b", {rank, 64}),
                            a2 = random(m + "hada_w2_a", {32, rank}),
                            b2 = random(m + "hada_w2_b", {rank, 64});
        const auto expected =
            by_elements(times(wide(a1), wide(b1), 32, rank, 64), times(wide(a2), wide(b2), 32, rank, 64));
        const std::vector<AdapterTensor> all = {a1, b1, a2, b2, {m + "alpha", {}, {1.0f}}};
        expect_near(difference(all, "blocks.0.attn.wk.weight", 32, 64), scaled(expected, 1.0 / double(rank)));
        const Change change = read(all).changes[0].at("blocks.0.attn.wk.weight")[0];
        EXPECT_EQ(change.kind == Change::Kind::low_rank, rank == 2);
    }
}

TEST_F(AdapterChanges, loha_in_tuckers_form_has_its_first_factors_the_other_way_around) {
    const std::string m = "blocks.0.attn.wk.";
    const AdapterTensor a1 = random(m + "hada_w1_a", {2, 32}), b1 = random(m + "hada_w1_b", {2, 64}),
                        a2 = random(m + "hada_w2_a", {2, 32}), b2 = random(m + "hada_w2_b", {2, 64}),
                        t1 = random(m + "hada_t1", {2, 2, 1, 1}), t2 = random(m + "hada_t2", {2, 2, 1, 1});
    std::vector<double> expected(32 * 64, 0.0);
    const auto half = [](const AdapterTensor & a, const AdapterTensor & t, const AdapterTensor & b, int64_t p,
                         int64_t r) {
        double sum = 0.0; // einsum("ij,jr,ip->pr", t, b, a)
        for (int64_t i = 0; i < 2; ++i)
            for (int64_t j = 0; j < 2; ++j)
                sum += double(t.values[size_t(i * 2 + j)]) * double(b.values[size_t(j * 64 + r)]) *
                       double(a.values[size_t(i * 32 + p)]);
        return sum;
    };
    for (int64_t p = 0; p < 32; ++p)
        for (int64_t r = 0; r < 64; ++r)
            expected[size_t(p * 64 + r)] = half(a1, t1, b1, p, r) * half(a2, t2, b2, p, r);
    expect_near(difference({a1, b1, a2, b2, t1, t2}, "blocks.0.attn.wk.weight", 32, 64), expected);
}

class LokrVariants : public AdapterChanges,
                     public testing::WithParamInterface<std::tuple<bool, bool, bool>> {};

TEST_P(LokrVariants, every_mixture_of_whole_and_low_rank_factors_is_the_kronecker_product) {
    const auto [low1, low2, tucker] = GetParam();
    const std::string m = "diffusion_model.blocks.0.attn.wk.";
    std::vector<AdapterTensor> tensors = {{m + "alpha", {}, {6.0f}}};
    std::vector<double> w1, w2; // [4, 8] and [8, 8]
    if (low1) {
        tensors.push_back(random(m + "lokr_w1_a", {4, 2}));
        tensors.push_back(random(m + "lokr_w1_b", {2, 8}));
        w1 = times(wide(tensors[1]), wide(tensors[2]), 4, 2, 8);
    } else {
        tensors.push_back(random(m + "lokr_w1", {4, 8}));
        w1 = wide(tensors[1]);
    }
    if (!low2) {
        tensors.push_back(random(m + "lokr_w2", {8, 8}));
        w2 = wide(tensors.back());
    } else if (!tucker) {
        const AdapterTensor a = random(m + "lokr_w2_a", {8, 3}), b = random(m + "lokr_w2_b", {3, 8});
        w2 = times(wide(a), wide(b), 8, 3, 8);
        tensors.insert(tensors.end(), {a, b});
    } else {
        const AdapterTensor t = random(m + "lokr_t2", {3, 3, 1, 1}), a = random(m + "lokr_w2_a", {3, 8}),
                            b = random(m + "lokr_w2_b", {3, 8});
        w2.assign(64, 0.0);
        for (size_t p = 0; p < 8; ++p)
            for (size_t r = 0; r < 8; ++r)
                for (size_t i = 0; i < 3; ++i)
                    for (size_t j = 0; j < 3; ++j)
                        w2[p * 8 + r] += double(t.values[i * 3 + j]) * double(b.values[j * 8 + r]) *
                                         double(a.values[i * 8 + p]);
        tensors.insert(tensors.end(), {t, a, b});
    }
    const double k = low2 ? 6.0 / 3.0 : low1 ? 6.0 / 2.0 : 1.0;
    std::vector<double> expected(32 * 64);
    for (size_t a = 0; a < 4; ++a)
        for (size_t b = 0; b < 8; ++b)
            for (size_t c = 0; c < 8; ++c)
                for (size_t d = 0; d < 8; ++d)
                    expected[(a * 8 + c) * 64 + b * 8 + d] = k * w1[a * 8 + b] * w2[c * 8 + d];
    expect_near(difference(tensors, "blocks.0.attn.wk.weight", 32, 64), expected);
}

INSTANTIATE_TEST_SUITE_P(all, LokrVariants,
                         testing::Values(std::tuple(false, false, false), std::tuple(true, false, false),
                                         std::tuple(false, true, false), std::tuple(true, true, false),
                                         std::tuple(false, true, true), std::tuple(true, true, true)));

TEST_F(AdapterChanges, whole_factors_of_lokr_ignore_alpha) {
    const std::string m = "blocks.0.attn.wk.";
    const std::vector<AdapterTensor> factors = {random(m + "lokr_w1", {4, 8}), random(m + "lokr_w2", {8, 8})};
    std::vector<AdapterTensor> with = factors;
    with.push_back({m + "alpha", {}, {1e9f}});
    EXPECT_EQ(difference(with, "blocks.0.attn.wk.weight", 32, 64),
              difference(factors, "blocks.0.attn.wk.weight", 32, 64));
}

TEST_F(AdapterChanges, differences_of_weights_norms_tables_and_biases_are_what_they_say) {
    const AdapterTensor w = random("blocks.0.attn.wk.diff", {32, 64}),
                        norm = random("diffusion_model.blocks.0.prenorm.scale.diff", {64}),
                        table = random("transformer_blocks.0.scale_shift_table.diff", {6, 64}),
                        bias = random("first.diff_b", {64});
    const std::vector<AdapterTensor> all = {w, norm, table, bias};
    expect_near(difference(all, "blocks.0.attn.wk.weight", 32, 64), wide(w));
    expect_near(difference(all, "blocks.0.prenorm.scale", 1, 64), wide(norm));
    expect_near(difference(all, "blocks.0.mod.lin", 1, 6 * 64), wide(table));
    expect_near(difference(all, "first.bias", 1, 64), wide(bias));
}

TEST_F(AdapterChanges, fused_projections_are_cut_into_rows) {
    const AdapterTensor a = random("blocks.0.attn.qkv.lora_A.weight", {4, 64}),
                        b = random("blocks.0.attn.qkv.lora_B.weight", {64 + 32 + 32, 4});
    const auto whole = times(wide(b), wide(a), 128, 4, 64);
    const auto rows = [&](int64_t first, int64_t count) {
        return std::vector<double>(whole.begin() + first * 64, whole.begin() + (first + count) * 64);
    };
    expect_near(difference({a, b}, "blocks.0.attn.wq.weight", 64, 64), rows(0, 64));
    expect_near(difference({a, b}, "blocks.0.attn.wk.weight", 32, 64), rows(64, 32));
    expect_near(difference({a, b}, "blocks.0.attn.wv.weight", 32, 64), rows(96, 32));
}

TEST_F(AdapterChanges, fused_projections_of_lokr_are_cut_into_rows) {
    const std::string fused = "blocks.0.attn.qkv.";
    const AdapterTensor w1 = random(fused + "lokr_w1", {8, 8}), w2 = random(fused + "lokr_w2", {16, 8});
    const std::vector<float> q = difference({w1, w2}, "blocks.0.attn.wk.weight", 32, 64);
    EXPECT_FLOAT_EQ(q[0], w1.values[4 * 8] * w2.values[0]);                        // row 64: block 4, row 0
    EXPECT_FLOAT_EQ(q[17 * 64 + 63], w1.values[5 * 8 + 7] * w2.values[1 * 8 + 7]); // row 81
}

TEST_F(AdapterChanges, text_encoders_have_their_own_list) {
    const AdapterTensor a = random("lora_te_model_layers_0_mlp_down_proj.lora_down.weight", {2, 40}),
                        b = random("lora_te_model_layers_0_mlp_down_proj.lora_up.weight", {32, 2});
    expect_near(difference({a, b}, "layers.0.mlp.down_proj.weight", 32, 40, AdapterPart::text_encoder),
                times(wide(b), wide(a), 32, 2, 40));
}

} // namespace
} // namespace sd
