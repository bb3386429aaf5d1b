// What adapters do to layers of every kind of weights, against merged weights that are summed up here.
#include "nn/correction.h"

#include "base/error.h"
#include "checkpoint/safetensors/writer.h"
#include "checkpoint/test_folder.h"
#include "nn/weights.h"
#include "pipeline/runner.h"

#include <cmath>
#include <cstring>

namespace sd {
namespace {

std::string as_stored(std::string_view name) { return std::string(name); }

constexpr int64_t kN = 48, kK = 64, kRows = 5;

// Values without pattern, about -1 to 1.
std::vector<float> random_values(size_t n, uint32_t state) {
    std::vector<float> values(n);
    for (float & v : values) {
        state = state * 1664525u + 1013904223u;
        v = float(int32_t(state)) * 0x1p-31f;
    }
    return values;
}
Matrix random_matrix(int64_t rows, int64_t columns, uint32_t seed) {
    return {rows, columns, random_values(size_t(rows * columns), seed)};
}

Change low_rank(int64_t rank, float factor, uint32_t seed) {
    return {Change::Kind::low_rank,
            factor,
            {},
            random_matrix(kN, rank, seed),
            random_matrix(rank, kK, seed + 1),
            {},
            {}};
}
Change kronecker(float factor, int64_t rank, uint32_t seed) { // [4, 8] and [12, 8]
    Change c = {Change::Kind::kronecker, factor, random_matrix(4, 8, seed), {}, {}, {}, {}};
    c.a = random_matrix(12, rank == 0 ? 8 : rank, seed + 1);
    if (rank > 0) c.b = random_matrix(rank, 8, seed + 2);
    return c;
}
Change hadamard(float factor, uint32_t seed) {
    return {Change::Kind::hadamard,
            factor,
            {},
            random_matrix(kN, 7, seed),
            random_matrix(7, kK, seed + 1),
            random_matrix(kN, 7, seed + 2),
            random_matrix(7, kK, seed + 3)};
}
Change plain(float factor, uint32_t seed) {
    return {Change::Kind::difference, factor, {}, random_matrix(kN, kK, seed), {}, {}, {}};
}

// Element (i, j) of a b, or of a.
double at(const Matrix & a, const Matrix & b, int64_t i, int64_t j) {
    if (b.empty()) return double(a.row(i)[j]);
    double sum = 0.0;
    for (int64_t r = 0; r < b.rows; ++r) sum += double(a.row(i)[r]) * double(b.row(r)[j]);
    return sum;
}

double element(const Change & c, int64_t i, int64_t j) {
    const double f = double(c.factor);
    switch (c.kind) {
    case Change::Kind::low_rank: return f * at(c.a, c.b, i, j);
    case Change::Kind::hadamard: return f * at(c.a, c.b, i, j) * at(c.a2, c.b2, i, j);
    case Change::Kind::kronecker: return f * double(c.left.row(i / 12)[j / 8]) * at(c.a, c.b, i % 12, j % 8);
    case Change::Kind::difference: return f * double(c.a.row(i)[j]);
    }
    return 0.0;
}

class Corrections : public test::TestFolder, public testing::WithParamInterface<const char *> {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "corrections-" + std::to_string(::getpid()); // parameters are in names
        std::filesystem::create_directories(folder_);
        write();
    }

    // Layers m and other, both of this kind of weights.
    void write() {
        const std::string kind = GetParam();
        std::string settings;
        std::vector<TensorDeclaration> tensors;
        std::vector<std::string> data;
        const auto put = [&](const std::string & name, StoredType type, const std::vector<int64_t> & shape,
                             std::string bytes) {
            tensors.push_back({name, type, shape});
            data.push_back(std::move(bytes));
        };
        const auto floats = [](const std::vector<float> & v) {
            return std::string(reinterpret_cast<const char *>(v.data()), v.size() * sizeof(float));
        };
        const auto bytes = [](int64_t n, uint32_t seed) {
            std::string text;
            for (const float v : random_values(size_t(n), seed)) text += char(int8_t(v * 127.0f));
            return text;
        };
        uint32_t seed = 1;
        for (const std::string m : {"m", "other"}) {
            seed += 17;
            const std::vector<float> scales(size_t(kN), 0.01f);
            if (kind == "f32")
                put(m + ".weight", StoredType::f32, {kN, kK}, floats(random_values(kN * kK, seed)));
            if (kind == "int8") {
                put(m + ".weight", StoredType::i8, {kN, kK}, bytes(kN * kK, seed));
                put(m + ".weight_scale", StoredType::f32, {kN, 1}, floats(scales));
                settings = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":64})";
            }
            if (kind == "w4a4") {
                put(m + ".weight", StoredType::i8, {kN, kK / 2}, bytes(kN * kK / 2, seed));
                put(m + ".weight_scale", StoredType::f32, {kN, 1}, floats(scales));
                settings = R"({"format":"convrot_w4a4","convrot_groupsize":64})";
            }
            if (kind == "w4a8") {
                put(m + ".weight", StoredType::u8, {kN, kK / 2}, bytes(kN * kK / 2, seed));
                put(m + ".weight_codebook", StoredType::f32, {16}, floats(random_values(16, 3)));
                put(m + ".weight_s_channel", StoredType::f32, {kN}, floats(scales));
                put(m + ".weight_s_rel", StoredType::f8_e4m3, {kN, kK / 16},
                    std::string(kN * kK / 16, '\x38')); // 1
                settings = R"({"format":"asym_w4a8_int8","group_size":16,"convrot_groupsize":64})";
            }
            if (!settings.empty())
                put(m + ".comfy_quant", StoredType::u8, {int64_t(settings.size())}, settings);
        }
        put("m.bias", StoredType::f32, {kN}, floats(random_values(kN, 5)));
        put("norm.scale", StoredType::f32, {kK}, floats(random_values(kK, 6)));
        SafetensorsWriter writer(path("m.safetensors"), tensors);
        for (const std::string & d : data) writer.write(d.data(), d.size());
        writer.finish();
        checkpoint_.add(path("m.safetensors"));
        quants_ = find_quant_modules(checkpoint_);
        table_.emplace(checkpoint_, quants_, "", as_stored);
    }

    struct Outputs {
        std::vector<float> m, other;
        int nodes = 0;
    };

    Outputs run(const ModelChanges & changes, bool merge = false) {
        Runner runner(2);
        Weights::Options options;
        options.memory = {{runner.weight_memory()}};
        options.changes = &changes;
        options.merge = merge;
        Weights weights(*table_, options);
        const std::vector<Linear> layers = weights.linears({"m", "other"});
        weights.load({.threads = 2});
        Graph g(64 + weights.correction_nodes());
        ggml_tensor * x = g.input("x", GGML_TYPE_F32, {kK, kRows});
        ggml_tensor * m = g.output("m", linear(g, layers[0], x));
        ggml_tensor * other = g.output("other", linear(g, layers[1], x));
        runner.allocate(g);
        runner.set(x, x_);
        runner.compute(g, nullptr);
        return {runner.floats(m), runner.floats(other), ggml_graph_n_nodes(g.graph())};
    }

    // `with` is `without` and the sum of the changes applied to x.
    void expect_added(const std::vector<float> & with, const std::vector<float> & without,
                      const std::vector<Change> & changes) {
        for (int64_t row = 0; row < kRows; ++row) {
            for (int64_t i = 0; i < kN; ++i) {
                double sum = 0.0;
                for (const Change & c : changes)
                    for (int64_t j = 0; j < kK; ++j)
                        sum += element(c, i, j) * double(x_[size_t(row * kK + j)]);
                const size_t place = size_t(row * kN + i);
                ASSERT_NEAR(double(with[place]) - double(without[place]), sum, 5e-5) << row << " " << i;
            }
        }
    }

    Checkpoint checkpoint_;
    QuantModules quants_;
    std::optional<ModelTable> table_;
    std::vector<float> x_ = random_values(size_t(kK * kRows), 99);
};

TEST_P(Corrections, every_kind_adds_what_merged_weights_would) {
    const Outputs without = run({});
    const std::vector<std::vector<Change>> cases = {
        {low_rank(3, 0.5f, 10)},  {low_rank(1, -2.0f, 11)}, {kronecker(1.5f, 0, 12)},
        {kronecker(1.5f, 2, 13)}, {hadamard(0.3f, 14)},     {cheapest(hadamard(0.3f, 14), kN, kK)},
        {plain(0.7f, 15)},        {low_rank(60, 0.2f, 16)}};
    for (const std::vector<Change> & changes : cases) {
        const Outputs with = run({{"m.weight", changes}});
        expect_added(with.m, without.m, changes);
        EXPECT_EQ(with.other, without.other);
    }
}

TEST_P(Corrections, several_adapters_and_layers_of_one_input_add_up) {
    const Outputs without = run({});
    const std::vector<Change> many = {low_rank(3, 0.5f, 20), kronecker(-1.0f, 2, 21), low_rank(5, 0.25f, 22),
                                      kronecker(0.5f, 0, 23)};
    const std::vector<Change> few = {low_rank(2, 1.0f, 24)};
    const std::vector<Change> dense = {low_rank(2, 1.0f, 25), plain(0.5f, 26), kronecker(0.5f, 2, 27)};
    const Outputs with = run({{"m.weight", many}, {"other.weight", few}});
    expect_added(with.m, without.m, many);
    expect_added(with.other, without.other, few);
    // down once for both; a view, up and a sum for each
    const Outputs both = run({{"m.weight", few}, {"other.weight", few}});
    EXPECT_EQ(both.nodes, without.nodes + 1 + 2 * 3);
    const Outputs folded = run({{"other.weight", dense}});
    expect_added(folded.other, without.other, dense);
    EXPECT_EQ(folded.nodes, without.nodes + 2);
}

TEST_P(Corrections, biases_are_changed_and_made) {
    const Outputs without = run({});
    Change change;
    change.kind = Change::Kind::difference;
    change.factor = 2.0f;
    change.a = random_matrix(1, kN, 30);
    const Outputs with = run({{"m.bias", {change}}, {"other.bias", {change}}});
    for (size_t i = 0; i < with.m.size(); ++i) {
        EXPECT_NEAR(with.m[i] - without.m[i], 2.0f * change.a.values[i % kN], 1e-5f);
        EXPECT_NEAR(with.other[i] - without.other[i], 2.0f * change.a.values[i % kN], 1e-5f);
    }
}

TEST_P(Corrections, no_changes_leave_the_graph_as_it_is) {
    EXPECT_EQ(run({}).m, run({{"third.weight", {low_rank(2, 1.0f, 40)}}}).m);
    EXPECT_EQ(run({}).nodes, run({{"third.weight", {low_rank(2, 1.0f, 40)}}}).nodes);
}

INSTANTIATE_TEST_SUITE_P(weights, Corrections, testing::Values("f32", "int8", "w4a4", "w4a8"));

class Merging : public Corrections {};

TEST_P(Merging, float_weights_become_the_sum_rounded_once) {
    const Outputs without = run({}, true);
    const std::vector<Change> all = {low_rank(3, 0.5f, 10), kronecker(1.5f, 2, 13), hadamard(0.3f, 14),
                                     plain(0.7f, 15)};
    const Outputs merged = run({{"m.weight", all}}, true);
    expect_added(merged.m, without.m, all);
    EXPECT_EQ(merged.other, without.other);
    EXPECT_EQ(merged.nodes, without.nodes);
}

TEST_P(Merging, norms_and_tables_are_changed_before_what_is_added_to_them) {
    Change change;
    change.kind = Change::Kind::difference;
    change.factor = -0.5f;
    change.a = random_matrix(1, kK, 50);
    const ModelChanges changes = {{"norm.scale", {change}}};
    Runner runner(1);
    Weights::Options options;
    options.memory = {{runner.weight_memory()}};
    options.changes = &changes;
    Weights weights(*table_, options);
    ggml_tensor * norm = weights.vector("norm.scale", 1.0f);
    weights.load();
    const std::vector<float> stored = random_values(kK, 6);
    for (size_t i = 0; i < size_t(kK); ++i)
        EXPECT_NEAR(static_cast<const float *>(norm->data)[i], 1.0f + stored[i] - 0.5f * change.a.values[i],
                    1e-6f);
}

INSTANTIATE_TEST_SUITE_P(weights, Merging, testing::Values("f32"));

} // namespace
} // namespace sd
