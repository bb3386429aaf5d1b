#include "checkpoint/values/read_values.h"

#include "checkpoint/comfy_quant/test_model.h"
#include "checkpoint/values/codecs.h"
#include "checkpoint/values/floats.h"
#include "checkpoint/values/stored_rows.h"

#include <cmath>
#include <limits>
#include <random>

namespace sd {
namespace {

using test::bytes_of;
using test::TestModel;

std::vector<float> random_floats(size_t n) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float & v : values) v = normal(random);
    return values;
}

class ReadValuesTest : public test::QuantTest {
  protected:
    std::vector<float> floats(const TestModel & model, ggml_type target = GGML_TYPE_F32) const {
        const Checkpoint checkpoint = load(model);
        const TensorInfo & tensor = checkpoint.get("t");
        const size_t n = size_t(tensor.elements());
        std::vector<std::byte> out(run_bytes(stored_type(target), int64_t(n)));
        read_values(checkpoint, tensor, target, {}, out.data());
        std::vector<float> values(n);
        to_floats(stored_type(target), out.data(), int64_t(n), values.data());
        return values;
    }
    template <class T>
    std::vector<float> floats(const std::string & dtype, const std::vector<T> & values) const {
        return floats(TestModel().add("t", dtype, {int64_t(values.size())}, bytes_of(values)));
    }
};

using Floats = std::vector<float>;

TEST_F(ReadValuesTest, every_plain_type_becomes_floats) {
    EXPECT_EQ(floats<float>("F32", {1.5f, -0.25f}), (Floats{1.5f, -0.25f}));
    EXPECT_EQ(floats<double>("F64", {1.5, 1e-60, 1 + 1e-12}), (Floats{1.5f, 0.0f, 1.0f}));
    EXPECT_EQ(floats<uint16_t>("F16", {0x3c00, 0xc000}), (Floats{1, -2}));
    EXPECT_EQ(floats<uint16_t>("BF16", {0x3f80, 0xc000}), (Floats{1, -2}));
    EXPECT_EQ(floats<uint8_t>("F8_E4M3", {0x38, 0xfe}), (Floats{1, -448}));
    EXPECT_EQ(floats<uint8_t>("F8_E5M2", {0x3c, 0xc0}), (Floats{1, -2}));
    EXPECT_EQ(floats<int8_t>("I8", {-128, 127}), (Floats{-128, 127}));
    EXPECT_EQ(floats<uint8_t>("U8", {0, 255}), (Floats{0, 255}));
    EXPECT_EQ(floats<uint8_t>("BOOL", {0, 1, 2}), (Floats{0, 1, 1}));
    EXPECT_EQ(floats<int16_t>("I16", {-32768}), (Floats{-32768}));
    EXPECT_EQ(floats<uint16_t>("U16", {65535}), (Floats{65535}));
    EXPECT_EQ(floats<int32_t>("I32", {-7}), (Floats{-7}));
    EXPECT_EQ(floats<uint32_t>("U32", {4294967295u}), (Floats{4294967296.0f}));
    EXPECT_EQ(floats<int64_t>("I64", {-(int64_t(1) << 40)}), (Floats{-std::ldexp(1.0f, 40)}));
    EXPECT_EQ(floats<uint64_t>("U64", {uint64_t(1) << 63}), (Floats{std::ldexp(1.0f, 63)}));
}

TEST_F(ReadValuesTest, floats_become_every_type_that_weights_can_have) {
    const std::vector<float> values = random_floats(2 * 512);
    const TestModel model = TestModel().floats("t", {2, 512}, values);
    int types = 0;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = ggml_type(i);
        if (!is_float_target(type)) continue;
        ++types;
        std::vector<std::byte> expected(run_bytes(stored_type(type), 1024));
        ASSERT_EQ(from_floats(values.data(), 1024, type, expected.data()), "");
        std::vector<float> decoded(1024);
        to_floats(stored_type(type), expected.data(), 1024, decoded.data());
        EXPECT_EQ(floats(model, type), decoded) << ggml_type_name(type);
        double error = 0, size = 0;
        for (size_t k = 0; k < 1024; ++k) {
            error += std::pow(double(decoded[k]) - double(values[k]), 2);
            size += std::pow(double(values[k]), 2);
        }
        EXPECT_LT(error, 0.4 * size) << ggml_type_name(type); // one bit for each value keeps that much
    }
    EXPECT_GE(types, 13);
}

TEST_F(ReadValuesTest, rows_in_many_parts_are_the_rows_of_one) {
    // Three parts and a bit, of rows that no part begins with.
    const int64_t length = 1000 * 32, rows = 25;
    const std::vector<float> values = random_floats(size_t(rows * length));
    const Checkpoint checkpoint = load(TestModel().floats("t", {5, 5, length}, values));
    const TensorInfo & t = checkpoint.get("t");
    EXPECT_EQ(row_count(t), rows);
    for (const RowRange range : {RowRange{0, -1}, RowRange{3, 20}, RowRange{24, 1}, RowRange{7, 0}}) {
        const int64_t n = (range.count < 0 ? rows : range.count) * length;
        for (const int threads : {1, 3}) {
            std::vector<float> all(static_cast<size_t>(n));
            read_values(checkpoint, t, GGML_TYPE_F32, range, all.data(), {.threads = threads});
            EXPECT_TRUE(std::equal(all.begin(), all.end(), values.begin() + range.begin * length));
            std::vector<std::byte> blocks(run_bytes(StoredType(GGML_TYPE_Q8_0), n)), expected = blocks;
            uint64_t progress = 0;
            read_values(checkpoint, t, GGML_TYPE_Q8_0, range, blocks.data(),
                        {.threads = threads, .progress = [&](uint64_t bytes) { progress += bytes; }});
            ASSERT_EQ(from_floats(all.data(), n, GGML_TYPE_Q8_0, expected.data()), "");
            EXPECT_EQ(blocks, expected);
            EXPECT_EQ(progress, blocks.size());
        }
    }
}

TEST_F(ReadValuesTest, strides_are_followed) {
    // As a PyTorch file has them: the same 24 numbers, transposed, permuted, expanded and with gaps.
    Checkpoint checkpoint = load(TestModel().add("t", "F32", {24}, [] {
        std::vector<float> values;
        for (int i = 0; i < 24; ++i) values.push_back(float(i));
        return bytes_of(values);
    }()));
    const TensorInfo base = checkpoint.get("t");
    struct Case {
        std::vector<int64_t> shape, strides;
        int64_t offset;
    };
    for (const Case & c : {Case{{6, 4}, {1, 6}, 0}, Case{{2, 3, 4}, {1, 8, 2}, 0}, Case{{3, 5}, {0, 2}, 4},
                           Case{{4}, {5}, 1}, Case{{2, 1, 3}, {12, 0, 1}, 3}}) {
        TensorInfo t = base;
        t.shape = c.shape;
        t.strides = c.strides;
        t.offset += uint64_t(c.offset) * 4;
        std::vector<float> expected;
        for (int64_t i = 0; i < t.elements(); ++i) {
            int64_t at = c.offset, rest = i;
            for (size_t axis = c.shape.size(); axis-- > 0; rest /= c.shape[axis])
                at += rest % c.shape[axis] * c.strides[axis];
            expected.push_back(float(at));
        }
        std::vector<float> values(expected.size());
        read_values(checkpoint, t, GGML_TYPE_F32, {}, values.data());
        EXPECT_EQ(values, expected);
        const int64_t last = row_count(t) - 1, length = row_length(t);
        std::vector<ggml_fp16_t> row(static_cast<size_t>(length));
        read_values(checkpoint, t, GGML_TYPE_F16, {last, 1}, row.data());
        for (int64_t i = 0; i < length; ++i)
            EXPECT_EQ(ggml_fp16_to_fp32(row[size_t(i)]), expected[size_t(last * length + i)]);
    }
}

TEST_F(ReadValuesTest, scalars_and_empty_tensors_are_read) {
    EXPECT_EQ(floats(TestModel().floats("t", {}, {3})), Floats{3});
    EXPECT_EQ(floats(TestModel().floats("t", {0}, {})), Floats{});
    EXPECT_EQ(floats(TestModel().floats("t", {3, 0}, {})), Floats{});
}

TEST_F(ReadValuesTest, integers_become_i32_when_they_fit) {
    const auto read = [&](int64_t value) {
        return refusal([&] {
            const Checkpoint checkpoint = load(TestModel().add("t", "I64", {1}, bytes_of<int64_t>({value})));
            int32_t out = 0;
            read_values(checkpoint, checkpoint.get("t"), GGML_TYPE_I32, {}, &out);
            EXPECT_EQ(out, value);
        });
    };
    EXPECT_EQ(read(std::numeric_limits<int32_t>::min()), "");
    EXPECT_EQ(read(int64_t(1) << 31), "E_VALUE FILE: tensor t: an integer does not fit I32");
}

TEST_F(ReadValuesTest, what_a_type_cannot_hold_is_refused) {
    const auto line = [&](std::vector<float> values, ggml_type type) {
        values.resize(32);
        return refusal([&] { floats(TestModel().floats("t", {1, 32}, values), type); });
    };
    EXPECT_EQ(line({70000}, GGML_TYPE_F16),
              "E_VALUE FILE: tensor t: the value 70000.000000 is beyond the range of f16");
    EXPECT_EQ(line({70000}, GGML_TYPE_BF16), "");
    EXPECT_EQ(line({INFINITY}, GGML_TYPE_F16), "");
    EXPECT_EQ(line({NAN}, GGML_TYPE_Q8_0),
              "E_VALUE FILE: tensor t: a value is NaN or infinite, which q8_0 cannot hold");
    EXPECT_EQ(line({1e30f}, GGML_TYPE_Q8_0), "E_VALUE FILE: tensor t: values are beyond the range of q8_0");
    EXPECT_EQ(line({1}, GGML_TYPE_Q4_K),
              "E_TYPE FILE: tensor t: rows of 32 values are no whole blocks of q4_K, 256 values each");
    EXPECT_EQ(line({1}, GGML_TYPE_I32), "E_TYPE FILE: tensor t: F32 is not converted to i32");
    EXPECT_EQ(line({1}, GGML_TYPE_Q8_K), "E_TYPE FILE: tensor t: F32 is not converted to q8_K");
}

TEST_F(ReadValuesTest, rows_outside_the_tensor_are_refused) {
    const Checkpoint checkpoint = load(TestModel().add("t", "F32", {2, 4}));
    std::vector<float> out(8);
    for (const RowRange range : {RowRange{-1, 1}, RowRange{3, -1}, RowRange{1, 2}, RowRange{0, INT64_MAX}})
        EXPECT_EQ(
            refusal([&] { read_values(checkpoint, checkpoint.get("t"), GGML_TYPE_F32, range, out.data()); }),
            "E_RANGE FILE: tensor t: row " + std::to_string(range.begin) +
                " and those after it are asked for, but it has 2");
}

TEST_F(ReadValuesTest, a_file_that_became_shorter_is_an_error_from_any_thread) {
    const Checkpoint checkpoint = load(TestModel().add("t", "F32", {4, 1 << 20}));
    std::filesystem::resize_file(path("model.safetensors"), 1 << 20);
    std::vector<float> out(4 << 20);
    EXPECT_NE(refusal([&] {
                  read_values(checkpoint, checkpoint.get("t"), GGML_TYPE_F32, {}, out.data(), {.threads = 4});
              }),
              "");
}

TEST_F(ReadValuesTest, reading_stops_on_request) {
    const Checkpoint checkpoint = load(TestModel().add("t", "BF16", {4, 1 << 20}));
    std::vector<float> out(4 << 20);
    std::atomic<bool> cancel = false;
    uint64_t done = 0;
    const ParallelOptions options = {.threads = 1, .cancel = &cancel, .progress = [&](uint64_t bytes) {
                                         done += bytes;
                                         cancel = true;
                                     }};
    EXPECT_EQ(refusal([&] {
                  read_values(checkpoint, checkpoint.get("t"), GGML_TYPE_F32, {}, out.data(), options);
              }),
              "E_CANCELLED stopped on request");
    EXPECT_EQ(done, uint64_t(1) << 20);
}

TEST_F(ReadValuesTest, tensors_without_a_wish_keep_their_type_where_ggml_has_it) {
    EXPECT_EQ(natural_type(StoredType::bf16), GGML_TYPE_BF16);
    EXPECT_EQ(natural_type(StoredType::i8), GGML_TYPE_I8);
    EXPECT_EQ(natural_type(StoredType(GGML_TYPE_Q4_K)), GGML_TYPE_Q4_K);
    EXPECT_EQ(natural_type(StoredType::f64), GGML_TYPE_F32);
    EXPECT_EQ(natural_type(StoredType::f8_e5m2), GGML_TYPE_F16);
    EXPECT_EQ(natural_type(StoredType::f8_e8m0), GGML_TYPE_F32);
    EXPECT_EQ(natural_type(StoredType::i64), GGML_TYPE_I32);
    EXPECT_EQ(natural_type(StoredType::boolean), GGML_TYPE_I32);
}

} // namespace
} // namespace sd
