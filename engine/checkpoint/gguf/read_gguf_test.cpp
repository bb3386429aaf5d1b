// GGUF files through the engine's door: what becomes of right ones, and the exact line for wrong ones.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/test_folder.h"

#include "ggml-cpp.h"
#include "gguf.h"
#include "tests/support/log_capture.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>

namespace sd {
namespace {

// A file byte by byte, right or wrong.
class Bytes {
  public:
    template <class T>
    Bytes & value(T v) {
        const auto * p = reinterpret_cast<const std::byte *>(&v);
        data.insert(data.end(), p, p + sizeof v);
        return *this;
    }
    Bytes & raw(const std::string & s) {
        const auto * p = reinterpret_cast<const std::byte *>(s.data());
        data.insert(data.end(), p, p + s.size());
        return *this;
    }
    Bytes & text(const std::string & s) { return value(uint64_t(s.size())).raw(s); }
    Bytes & header(int64_t n_tensors, int64_t n_pairs, uint32_t version = 3) {
        return raw("GGUF").value(version).value(n_tensors).value(n_pairs);
    }
    Bytes & alignment(uint32_t n) {
        return text("general.alignment").value(int32_t(GGUF_TYPE_UINT32)).value(n);
    }
    template <class T>
    Bytes & array(const std::string & key, gguf_type type, const std::vector<T> & values) {
        text(key).value(int32_t(GGUF_TYPE_ARRAY)).value(int32_t(type)).value(uint64_t(values.size()));
        for (const T v : values) value(v);
        return *this;
    }
    Bytes & tensor(const std::string & name, std::vector<int64_t> ne, int32_t type, uint64_t offset) {
        text(name).value(uint32_t(ne.size()));
        for (const int64_t n : ne) value(n);
        return value(type).value(offset);
    }
    Bytes & pad(size_t unit = 32) {
        while (data.size() % unit != 0) data.push_back(std::byte(0));
        return *this;
    }
    Bytes & zeros(size_t n) {
        data.insert(data.end(), n, std::byte(0));
        return *this;
    }
    Container read() const { return read_gguf(File::of_bytes("m.gguf", data)); }

    std::vector<std::byte> data;
};

// The line of the refusal; nothing may be logged beside it.
std::string refusal(const Bytes & file) {
    ggml::test::LogCapture log;
    try {
        file.read();
    } catch (const Error & e) {
        EXPECT_EQ(log.text, "");
        EXPECT_EQ(e.parts().code.rfind("E_", 0), 0u) << e.parts().code;
        return e.what();
    }
    return "accepted";
}

TEST(read_gguf, tensors_have_pytorch_shapes_and_places_in_the_file) {
    Bytes b;
    b.header(4, 1).alignment(64);
    b.tensor("w", {64, 3}, GGML_TYPE_Q8_0, 0);
    b.tensor("conv", {1, 1, 4, 2}, GGML_TYPE_F16, 256);
    b.tensor("one", {1}, GGML_TYPE_F32, 320);
    b.tensor("bias", {12, 1}, GGML_TYPE_BF16, 384).pad(64);
    const uint64_t data = b.data.size();
    const Container c = b.zeros(384 + 24).read();
    EXPECT_EQ(c.kind, ContainerKind::gguf);
    ASSERT_EQ(c.tensors.size(), 4u);
    EXPECT_EQ(c.tensors[0].name, "w");
    EXPECT_EQ(c.tensors[0].type, StoredType(GGML_TYPE_Q8_0));
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{3, 64}));
    EXPECT_EQ(c.tensors[0].offset, data);
    EXPECT_EQ(c.tensors[0].bytes, 6 * 34u);
    EXPECT_EQ(c.tensors[1].shape, (std::vector<int64_t>{2, 4, 1, 1}));
    EXPECT_EQ(c.tensors[1].type, StoredType::f16);
    EXPECT_EQ(c.tensors[1].offset, data + 256);
    EXPECT_EQ(c.tensors[2].shape, (std::vector<int64_t>{1}));
    EXPECT_EQ(c.tensors[3].shape, (std::vector<int64_t>{12}));
    EXPECT_EQ(c.tensors[3].type, StoredType::bf16);
    for (const TensorInfo & t : c.tensors) {
        EXPECT_TRUE(t.strides.empty());
        EXPECT_EQ(t.file, 0);
    }
    EXPECT_TRUE(c.warnings.empty());
    ASSERT_NE(c.pairs, nullptr);
    EXPECT_EQ(gguf_get_alignment(c.pairs.get()), 64u);
}

TEST(read_gguf, files_of_the_runtimes_writer_come_back_with_their_bytes) {
    const std::string path = testing::TempDir() + "read_gguf_round_trip.gguf";
    ggml_context_ptr ctx(ggml_init({1u << 16, nullptr, false}));
    gguf_context_ptr g(gguf_init_empty());
    int i = 0;
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F64, GGML_TYPE_I8,
                                 GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64, GGML_TYPE_Q4_K}) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx.get(), type, 256, 2);
        ggml_set_name(t, ggml_type_name(type));
        std::memset(t->data, ++i, ggml_nbytes(t));
        gguf_add_tensor(g.get(), t);
    }
    ASSERT_TRUE(gguf_write_to_file(g.get(), path.c_str(), false));
    const File file = File::open(path);
    const Container c = read_gguf(file);
    ASSERT_EQ(c.tensors.size(), size_t(i));
    for (i = 0; i < int(c.tensors.size()); ++i) {
        const TensorInfo & t = c.tensors[size_t(i)];
        EXPECT_EQ(t.name, ggml_type_name(*ggml_type_of(t.type)));
        EXPECT_EQ(t.shape, (std::vector<int64_t>{2, 256}));
        EXPECT_EQ(t.bytes, *tensor_bytes(t.type, t.shape));
        std::vector<char> bytes(t.bytes);
        file.read(t.offset, bytes.data(), bytes.size());
        EXPECT_EQ(bytes, std::vector<char>(t.bytes, char(i + 1)));
    }
    std::filesystem::remove(path);
}

TEST(read_gguf, original_shapes_replace_stored_ones) {
    const std::string key = "comfy.gguf.orig_shape.";
    Bytes b;
    b.header(3, 5);
    b.array<int32_t>(key + "conv3d", GGUF_TYPE_INT32, {2, 4, 2, 4, 4});
    b.array<uint64_t>(key + "odd", GGUF_TYPE_UINT64, {8, 4});
    b.array<int64_t>(key + "scalar", GGUF_TYPE_INT64, {});
    b.array<int32_t>(key + "gone\n", GGUF_TYPE_INT32, {1});
    b.array<int32_t>(key + "gone too", GGUF_TYPE_INT32, {1});
    b.tensor("conv3d", {256}, GGML_TYPE_Q4_K, 0);
    b.tensor("odd", {32}, GGML_TYPE_Q8_0, 160);
    b.tensor("scalar", {1}, GGML_TYPE_F32, 224).pad();
    const Container c = b.zeros(228).read();
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{2, 4, 2, 4, 4}));
    EXPECT_EQ(c.tensors[0].bytes, 144u);
    EXPECT_EQ(c.tensors[1].shape, (std::vector<int64_t>{8, 4}));
    EXPECT_EQ(c.tensors[1].bytes, 34u);
    EXPECT_EQ(c.tensors[2].shape, std::vector<int64_t>{});
    ASSERT_EQ(c.warnings.size(), 1u);
    EXPECT_EQ(c.warnings[0],
              "original shapes are given for tensors that are not there: \"gone\\x0a\" and 1 more");
}

TEST(read_gguf, original_shapes_that_do_not_fit_are_refused) {
    const std::string key = "comfy.gguf.orig_shape.x";
    const auto with = [&](auto pair) {
        Bytes b;
        b.header(1, 1);
        pair(b);
        return refusal(b.tensor("x", {4, 2}, GGML_TYPE_F32, 0).pad().zeros(32));
    };
    const std::string line = "m.gguf: tensor x: comfy.gguf.orig_shape.x ",
                      advice = " (convert the model again)";
    EXPECT_EQ(with([&](Bytes & b) {
                  b.array<int32_t>(key, GGUF_TYPE_INT32, {3, 3});
              }),
              line + "is [3, 3], which does not fit the stored [2, 4]" + advice);
    EXPECT_EQ(with([&](Bytes & b) {
                  b.array<int32_t>(key, GGUF_TYPE_INT32, {-2, -4});
              }),
              line + "is [-2, -4], which does not fit the stored [2, 4]" + advice);
    const int64_t big = int64_t(1) << 33; // the product is 8 modulo 2^64
    EXPECT_EQ(with([&](Bytes & b) {
                  b.array<int64_t>(key, GGUF_TYPE_INT64, {big, big, 8});
              }),
              line + "is [8589934592, 8589934592, 8], which does not fit the stored [2, 4]" + advice);
    const std::string no_list = line + "is not a list of at most 8 whole numbers" + advice;
    EXPECT_EQ(with([&](Bytes & b) { b.array<float>(key, GGUF_TYPE_FLOAT32, {4, 2}); }), no_list);
    EXPECT_EQ(with([&](Bytes & b) { b.array<uint64_t>(key, GGUF_TYPE_UINT64, {UINT64_MAX}); }), no_list);
    EXPECT_EQ(with([&](Bytes & b) {
                  b.array<int32_t>(key, GGUF_TYPE_INT32, {1, 1, 1, 1, 1, 1, 1, 4, 2});
              }),
              no_list);
    EXPECT_EQ(with([&](Bytes & b) { b.text(key).value(int32_t(GGUF_TYPE_STRING)).text("[4, 2]"); }), no_list);
}

TEST(read_gguf, original_shapes_of_empty_tensors_must_be_countable_too) {
    Bytes b;
    b.header(1, 1).array<int64_t>("comfy.gguf.orig_shape.x", GGUF_TYPE_INT64, {0, int64_t(1) << 62});
    EXPECT_EQ(refusal(b.tensor("x", {0}, GGML_TYPE_F32, 0).pad()),
              "m.gguf: tensor x: comfy.gguf.orig_shape.x is [0, 4611686018427387904], which does not fit the "
              "stored "
              "[0] (convert the model again)");
}

// Row 85 of what has gone wrong elsewhere: a size of 0 divided by, an empty key asserted on.
TEST(read_gguf, empty_tensors_are_legal_and_empty_keys_are_not) {
    Bytes b;
    b.header(2, 0).tensor("none", {0}, GGML_TYPE_F32, uint64_t(1) << 60);
    const Container c = b.tensor("rows", {32, 0}, GGML_TYPE_Q8_0, 0).read();
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{0}));
    EXPECT_EQ(c.tensors[0].bytes, 0u);
    EXPECT_LE(c.tensors[0].offset, b.data.size());
    EXPECT_EQ(c.tensors[1].shape, (std::vector<int64_t>{0, 32}));
    EXPECT_EQ(refusal(Bytes().header(0, 1).text("").zeros(60)),
              "m.gguf: key 0 is empty or contains a zero byte");
}

// Rows 74 and 86: tiny files with giant lengths, counts and alignments. AddressSanitizer's limit on single
// allocations and the exact texts show that nothing is allocated for them.
TEST(read_gguf, lengths_beyond_the_file_are_refused) {
    EXPECT_EQ(refusal(Bytes().header(0, 1).value(uint64_t(0xFFFFFFFFFFFF)).zeros(8)),
              "m.gguf: a key has a length of 281474976710655 bytes, but 8 are left");
    Bytes b;
    b.header(0, 1).text("k").value(int32_t(GGUF_TYPE_STRING)).value(uint64_t(1) << 30).zeros(100);
    EXPECT_EQ(refusal(b), "m.gguf: k has a length of 1073741824 bytes, but 100 are left");
    b = Bytes().header(0, 1).text("k").value(int32_t(GGUF_TYPE_ARRAY)).value(int32_t(GGUF_TYPE_UINT8));
    EXPECT_EQ(refusal(b.value(uint64_t(1) << 30).zeros(100)),
              "m.gguf: key 'k' holds 1073741824 values, but 100 bytes are left");
    b = Bytes().header(1, 1).alignment(uint32_t(1) << 30).tensor("x", {1}, GGML_TYPE_F32, 0).zeros(64);
    EXPECT_EQ(refusal(b), "m.gguf: the file is shorter than its header says: 154 of 1073741828 bytes "
                          "(the file is incomplete: fetch it again)");
    EXPECT_EQ(refusal(Bytes().header(int64_t(1) << 40, 0).zeros(32)),
              "m.gguf: 1099511627776 tensors cannot be in 32 bytes");
}

// A sparse file has any size on disk for nothing, so its size bounds nothing.
class SparseFile : public test::TestFolder {
  protected:
    // The line of the refusal for these bytes and a hole behind them.
    std::string refusal_of(const Bytes & start) const {
        const std::string text(reinterpret_cast<const char *>(start.data.data()), start.data.size());
        const std::string name = put("sparse.gguf", text);
        std::filesystem::resize_file(name, uint64_t(1) << 40);
        try {
            read_gguf(File::open(name));
        } catch (const Error & e) {
            return std::string(e.what()).substr(name.size() + 2);
        }
        return "accepted";
    }
};

TEST_F(SparseFile, metadata_that_fill_it_are_refused) {
    const std::string line = "its metadata has more than 100000000 bytes, the most that is read (the file is "
                             "damaged, or made to mislead)";
    const uint64_t most = (uint64_t(1) << 40) - 4096;
    Bytes b;
    b.header(0, 1).text("k").value(int32_t(GGUF_TYPE_ARRAY)).value(int32_t(GGUF_TYPE_UINT8)).value(most);
    EXPECT_EQ(refusal_of(b), line);
    b = Bytes().header(0, 1).text("k").value(int32_t(GGUF_TYPE_ARRAY)).value(int32_t(GGUF_TYPE_STRING));
    EXPECT_EQ(refusal_of(b.value(most / 8)), line);
    EXPECT_EQ(refusal_of(Bytes().header(0, 1).text("k").value(int32_t(GGUF_TYPE_STRING)).value(most)), line);
    EXPECT_EQ(refusal_of(Bytes().header(0, 1).value(most)), line);
    EXPECT_EQ(refusal_of(Bytes().header(1, 0).value(most)), line);
}

TEST_F(SparseFile, counts_of_what_no_model_has_are_refused) {
    const std::string line = "its metadata has more than 1048576 entries, the most that is read (the file is "
                             "damaged, or made to mislead)";
    EXPECT_EQ(refusal_of(Bytes().header(1048577, 0)), line);
    EXPECT_EQ(refusal_of(Bytes().header(0, 1048577)), line);
    EXPECT_EQ(refusal_of(Bytes().header(0, 1048576)), "key 0 is empty or contains a zero byte");
}

TEST(read_gguf, names_that_would_reach_a_terminal_are_refused) {
    const auto named = [](const std::string & name) {
        return refusal(Bytes().header(1, 0).tensor(name, {1}, GGML_TYPE_F32, 0).pad().zeros(4));
    };
    EXPECT_EQ(named("a\x1b[2J\nerror: b"),
              "m.gguf: tensor a\\x1b[2J\\x0aerror: b: its name has control characters, or is not UTF-8");
    EXPECT_EQ(named("a\xc2\x9b"),
              "m.gguf: tensor a\\xc2\\x9b: its name has control characters, or is not UTF-8");
    EXPECT_EQ(named("a\xff"), "m.gguf: tensor a\\xff: its name has control characters, or is not UTF-8");
    EXPECT_EQ(named(std::string(1025, 'n')),
              "m.gguf: tensor " + std::string(120, 'n') + "...: its name has 1025 bytes, more than 1024");
    EXPECT_EQ(named("\u00fc.\u6a21\u578b"), "accepted");
}

// Row 88: sizes whose product wraps to something small.
TEST(read_gguf, sizes_whose_product_wraps_are_refused) {
    const auto with = [](std::vector<int64_t> ne, ggml_type type) {
        return refusal(Bytes().header(1, 0).tensor("x", std::move(ne), type, 0).pad().zeros(4096));
    };
    EXPECT_EQ(with({int64_t(1) << 22, (int64_t(1) << 42) + 1}, GGML_TYPE_F32),
              "m.gguf: tensor 'x' of shape [4194304, 4398046511105, 1, 1] is larger than memory addresses "
              "reach");
    EXPECT_EQ(with({int64_t(1) << 61, 1}, GGML_TYPE_F64),
              "m.gguf: tensor 'x' of shape [2305843009213693952, 1, 1, 1] is larger than memory addresses "
              "reach");
    EXPECT_EQ(with({-4}, GGML_TYPE_F32), "m.gguf: tensor 'x' has size -4 in dimension 0");
}

// Row 89: the count of dimensions as a loop bound.
TEST(read_gguf, ranks_beyond_four_are_refused) {
    for (const uint32_t rank : {5u, 9u, 0x80000000u, 0u}) {
        Bytes b;
        b.header(1, 0).text("x").value(rank).zeros(128);
        EXPECT_EQ(refusal(b),
                  "m.gguf: tensor 'x' has " + std::to_string(rank) + " dimensions; 1 to 4 are possible");
    }
}

TEST(read_gguf, a_file_without_all_of_its_data_is_refused_wherever_it_ends) {
    Bytes whole;
    whole.header(2, 0).tensor("x", {8}, GGML_TYPE_F32, 0).tensor("y", {4}, GGML_TYPE_F32, 32);
    const size_t header = whole.data.size();
    whole.pad().zeros(48);
    EXPECT_EQ(refusal(whole), "accepted");
    for (size_t n = 4; n < whole.data.size(); ++n) {
        Bytes cut;
        cut.data.assign(whole.data.begin(), whole.data.begin() + ptrdiff_t(n));
        const std::string line = refusal(cut);
        EXPECT_NE(line, "accepted") << n;
        if (n >= header) {
            EXPECT_EQ(line, "m.gguf: the file is shorter than its header says: " + std::to_string(n) +
                                " of " + std::to_string(whole.data.size()) +
                                " bytes (the file is incomplete: fetch it again)");
        }
    }
}

TEST(read_gguf, other_files_are_named) {
    EXPECT_EQ(refusal(Bytes().raw("GGML").zeros(60)),
              "m.gguf: the file starts with 47 47 4d 4c, not with \"GGUF\"");
    EXPECT_EQ(refusal(Bytes().header(0, 0, 1)), "m.gguf: version 1; versions 2 and 3 can be read");
    EXPECT_EQ(refusal(Bytes().header(0, 0, 0x03000000)),
              "m.gguf: version 0x03000000: the file was written for the other byte order");
    EXPECT_EQ(refusal(Bytes()), "m.gguf: the file ends inside the magic number, near byte 0 (the file is "
                                "incomplete: fetch it again)");
    EXPECT_EQ(refusal(Bytes().header(1, 0).tensor("x", {32}, 4, 0).zeros(64)),
              "m.gguf: tensor 'x' has type 4, which does not exist");
}

TEST(read_gguf, a_vocabulary_of_151936_strings_is_read) {
    Bytes b;
    b.header(0, 1).text("tokenizer.ggml.tokens").value(int32_t(GGUF_TYPE_ARRAY));
    b.value(int32_t(GGUF_TYPE_STRING)).value(uint64_t(151936));
    for (int i = 0; i < 151936; ++i) b.text("token" + std::to_string(i));
    const Container c = b.read();
    EXPECT_EQ(gguf_get_arr_n(c.pairs.get(), 0), 151936u);
    EXPECT_STREQ(gguf_get_arr_str(c.pairs.get(), 0, 151935), "token151935");
}

} // namespace
} // namespace sd
