// Files that lie. Each is refused with a reason id, in bounded memory, without touching anything outside it.
#include "ggml-cpp.h"
#include "tests/runtime/gguf/bytes.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace ggml::test {
namespace {

// Opens the file and expects NULL with this reason in the log.
void expect_refused(const Bytes & file, const std::string & reason,
                    gguf_init_params params = {true, nullptr}) {
    LogCapture log;
    gguf_context_ptr gguf(file.open(params));
    EXPECT_EQ(gguf, nullptr) << reason;
    EXPECT_NE(log.text.find(reason), std::string::npos) << "said: " << log.text;
}

Bytes small_file() {
    Bytes b;
    b.header(2, 2).pair_u32("general.alignment", 64);
    b.text("names").value(int32_t(GGUF_TYPE_ARRAY)).value(int32_t(GGUF_TYPE_STRING)).value(uint64_t(2));
    b.text("a").text("bc");
    b.tensor("x", {4, 2}, GGML_TYPE_F32, 0).tensor("y", {32}, GGML_TYPE_Q8_0, 64).pad(64);
    return b.zeros(64 + 34);
}

TEST(gguf_hostile, the_small_file_itself_is_accepted) {
    gguf_context_ptr gguf(small_file().open());
    ASSERT_NE(gguf, nullptr);
    EXPECT_EQ(gguf_get_n_tensors(gguf.get()), 2);
    EXPECT_EQ(gguf_get_alignment(gguf.get()), 64u);
}

TEST(gguf_hostile, truncation_at_every_byte_is_refused) {
    const Bytes whole = small_file();
    ggml_context * ctx = nullptr;
    for (size_t n = 0; n < whole.data.size(); ++n) {
        // A copy of exactly n bytes lets AddressSanitizer see a single byte read past the end.
        Bytes cut;
        cut.data.assign(whole.data.begin(), whole.data.begin() + ptrdiff_t(n));
        LogCapture log;
        gguf_context_ptr gguf(cut.open({false, &ctx}));
        EXPECT_EQ(gguf, nullptr) << n;
        EXPECT_EQ(ctx, nullptr) << n;
        EXPECT_NE(log.text.find("gguf."), std::string::npos) << n << ": " << log.text;
    }
}

TEST(gguf_hostile, a_change_of_any_byte_never_crashes_and_always_answers) {
    const Bytes whole = small_file();
    LogCapture log;
    for (size_t i = 0; i < whole.data.size(); ++i) {
        for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
            Bytes changed = whole;
            changed.data[i] = uint8_t(value);
            ggml_context * ctx = nullptr;
            gguf_context_ptr gguf(changed.open({false, &ctx}));
            EXPECT_EQ(gguf == nullptr, ctx == nullptr);
            ggml_free(ctx);
        }
    }
}

TEST(gguf_hostile, refuses_what_is_no_gguf) {
    expect_refused(Bytes().raw("GGML").value(3u).value(int64_t(0)).value(int64_t(0)), "gguf.bad_magic");
    expect_refused(Bytes().header(0, 0, 1), "gguf.version");
    expect_refused(Bytes().header(0, 0, 4), "gguf.version");
    expect_refused(Bytes().header(0, 0, 0x03000000), "gguf.byte_order");
    expect_refused(Bytes(), "gguf.cut_short");
}

TEST(gguf_hostile, refuses_counts_that_cannot_be_in_the_file) {
    for (int64_t n : {int64_t(-1), int64_t(1), int64_t(1) << 40, INT64_MAX, INT64_MIN}) {
        expect_refused(Bytes().header(n, 0), "gguf.tensor_count");
        expect_refused(Bytes().header(0, n), "gguf.pair_count");
    }
}

TEST(gguf_hostile, refuses_lengths_beyond_the_file_without_allocating_them) {
    for (uint64_t n :
         {uint64_t(100), uint64_t(1) << 30, uint64_t(0xFFFFFFFFFFFF), UINT64_MAX, UINT64_MAX - 7}) {
        expect_refused(Bytes().header(0, 1).value(n).zeros(16), "gguf.string_length");
        Bytes array;
        array.header(0, 1)
            .text("k")
            .value(int32_t(GGUF_TYPE_ARRAY))
            .value(int32_t(GGUF_TYPE_UINT64))
            .value(n)
            .zeros(16);
        expect_refused(array, "gguf.array_length");
        Bytes strings;
        strings.header(0, 1)
            .text("k")
            .value(int32_t(GGUF_TYPE_ARRAY))
            .value(int32_t(GGUF_TYPE_STRING))
            .value(n)
            .zeros(16);
        expect_refused(strings, "gguf.array_length");
    }
}

TEST(gguf_hostile, refuses_keys_and_values_that_mean_nothing) {
    expect_refused(Bytes().header(0, 1).text("").zeros(16), "gguf.key");
    expect_refused(Bytes().header(0, 1).text(std::string("a\0b", 3)).zeros(16), "gguf.key");
    expect_refused(Bytes().header(0, 1).text("k").value(int32_t(13)).zeros(16), "gguf.value_type");
    expect_refused(Bytes().header(0, 1).text("k").value(int32_t(-1)).zeros(16), "gguf.value_type");
    expect_refused(Bytes().header(0, 2).pair_u32("k", 1).pair_u32("k", 2), "gguf.duplicate_key");
    Bytes nested;
    nested.header(0, 1)
        .text("k")
        .value(int32_t(GGUF_TYPE_ARRAY))
        .value(int32_t(GGUF_TYPE_ARRAY))
        .value(uint64_t(1));
    expect_refused(nested.zeros(16), "gguf.nested_array");
}

TEST(gguf_hostile, refuses_alignments_that_are_no_power_of_two) {
    for (uint32_t n : {0u, 3u, 33u, 0xffffffffu}) {
        expect_refused(Bytes().header(0, 1).pair_u32("general.alignment", n), "gguf.alignment");
    }
    Bytes wrong_type;
    wrong_type.header(0, 1).text("general.alignment").value(int32_t(GGUF_TYPE_UINT64)).value(uint64_t(32));
    expect_refused(wrong_type, "gguf.alignment");
}

TEST(gguf_hostile, a_huge_alignment_costs_no_memory) {
    Bytes b;
    b.header(1, 1).pair_u32("general.alignment", 1u << 30).tensor("x", {1}, GGML_TYPE_F32, 0).pad();
    ggml_context * ctx = nullptr;
    expect_refused(b, "gguf.truncated", {false, &ctx});
}

TEST(gguf_hostile, refuses_ranks_other_than_one_to_four) {
    for (uint32_t n : {0u, 5u, 9u, 0x80000000u}) {
        Bytes b;
        b.header(1, 0).text("x").value(n).zeros(128);
        expect_refused(b, "gguf.rank");
    }
}

TEST(gguf_hostile, refuses_sizes_that_are_negative_or_overflow) {
    expect_refused(Bytes().header(1, 0).tensor("x", {-1}, GGML_TYPE_F32, 0).zeros(64), "gguf.dimension");
    const int64_t big = (int64_t(1) << 42) + 1;
    for (const auto & ne : std::vector<std::vector<int64_t>>{
             {4, big, big}, {INT64_MAX}, {big, big, big, big}, {int64_t(1) << 62, 4}, {big, big, big, 0}}) {
        Bytes b;
        b.header(1, 0).tensor("x", ne, GGML_TYPE_F32, 0).zeros(64);
        expect_refused(b, "gguf.too_large");
    }
}

TEST(gguf_hostile, refuses_types_that_do_not_exist_and_broken_rows) {
    for (int32_t type : {-1, 4, 5, 31, 36, int(GGML_TYPE_COUNT), 1000}) {
        expect_refused(Bytes().header(1, 0).tensor("x", {32}, type, 0).zeros(64), "gguf.tensor_type");
    }
    expect_refused(Bytes().header(1, 0).tensor("x", {33}, GGML_TYPE_Q8_0, 0).zeros(64), "gguf.block");
    expect_refused(Bytes().header(1, 0).tensor("x", {128}, GGML_TYPE_Q4_K, 0).zeros(64), "gguf.block");
}

TEST(gguf_hostile, refuses_offsets_off_the_grid_or_out_of_the_file) {
    expect_refused(Bytes().header(1, 0).tensor("x", {4}, GGML_TYPE_F32, 16).zeros(256), "gguf.offset");
    expect_refused(Bytes().header(1, 0).tensor("x", {4}, GGML_TYPE_F32, UINT64_MAX - 31).zeros(256),
                   "gguf.offset");
    expect_refused(Bytes().header(1, 0).tensor("x", {4}, GGML_TYPE_F32, 4096).pad().zeros(64),
                   "gguf.truncated");
}

TEST(gguf_hostile, refuses_tensors_that_share_bytes_or_names) {
    Bytes overlap;
    overlap.header(2, 0).tensor("x", {16}, GGML_TYPE_F32, 0).tensor("y", {4}, GGML_TYPE_F32, 32).pad();
    expect_refused(overlap.zeros(64), "gguf.overlap");
    Bytes twice;
    twice.header(2, 0).tensor("x", {4}, GGML_TYPE_F32, 0).tensor("x", {4}, GGML_TYPE_F32, 32).pad();
    expect_refused(twice.zeros(64), "gguf.duplicate_tensor");
    expect_refused(Bytes().header(1, 0).tensor("", {4}, GGML_TYPE_F32, 0).zeros(64), "gguf.tensor_name");
}

TEST(gguf_hostile, a_long_name_is_metadata_but_no_tensor) {
    Bytes b;
    b.header(1, 0).tensor(std::string(200, 'n'), {4}, GGML_TYPE_F32, 0).pad().zeros(16);
    gguf_context_ptr gguf(b.open());
    ASSERT_NE(gguf, nullptr);
    EXPECT_EQ(std::string(gguf_get_tensor_name(gguf.get(), 0)).size(), 200u);
    ggml_context * ctx = nullptr;
    expect_refused(b, "gguf.name_length", {true, &ctx});
}

TEST(gguf_hostile, names_do_not_reach_the_terminal_as_control_codes) {
    LogCapture log;
    gguf_context_ptr gguf(Bytes().header(1, 0).tensor("\x1b[2Jx", {33}, GGML_TYPE_Q8_0, 0).zeros(64).open());
    EXPECT_EQ(gguf, nullptr);
    EXPECT_EQ(log.text.find('\x1b'), std::string::npos);
}

TEST(gguf_hostile, a_callback_that_ends_early_or_claims_too_much_is_refused) {
    LogCapture log;
    const auto nothing = [](void *, void *, uint64_t, size_t) { return size_t(0); };
    EXPECT_EQ(gguf_init_from_callback(nothing, nullptr, 0, 1u << 30, {true, nullptr}), nullptr);
    const auto too_much = [](void *, void *, uint64_t, size_t n) { return n + 1; };
    EXPECT_EQ(gguf_init_from_callback(too_much, nullptr, 0, 1u << 30, {true, nullptr}), nullptr);
}

// A source for callbacks: the bytes and nothing behind them.
size_t read_bytes(void * self, void * out, uint64_t offset, size_t n) {
    const auto & data = *static_cast<std::vector<uint8_t> *>(self);
    if (offset >= data.size()) return 0;
    const size_t count = std::min(n, data.size() - size_t(offset));
    std::memcpy(out, data.data() + offset, count);
    return count;
}

TEST(gguf_hostile, a_caller_can_have_the_reason_instead_of_a_log_line) {
    LogCapture log;
    Bytes wrong = Bytes().header(0, 0, 4);
    const auto open = [](Bytes & b, char * reason, size_t size) {
        return gguf_init_from_callback_or_reason(read_bytes, &b.data, 0, b.data.size(), {true, nullptr},
                                                 reason, size);
    };
    char reason[100];
    EXPECT_EQ(open(wrong, reason, sizeof reason), nullptr);
    EXPECT_STREQ(reason, "gguf.version: version 4; versions 2 and 3 can be read");
    char cut[13];
    EXPECT_EQ(open(wrong, cut, sizeof cut), nullptr);
    EXPECT_STREQ(cut, "gguf.version");
    EXPECT_EQ(open(wrong, nullptr, 0), nullptr);
    EXPECT_EQ(gguf_init_from_callback_or_reason(nullptr, nullptr, 0, 0, {true, nullptr}, reason, 100),
              nullptr);
    EXPECT_STREQ(reason, "gguf.no_callback: there is nothing to read with");
    Bytes right = small_file();
    const gguf_context_ptr gguf(open(right, reason, sizeof reason));
    EXPECT_NE(gguf, nullptr);
    EXPECT_STREQ(reason, "");
    EXPECT_EQ(log.text, "");
}

} // namespace
} // namespace ggml::test
