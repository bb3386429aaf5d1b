// Pickles that are broken, hostile or of another kind, each with its line.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/pytorch/heap.h"
#include "checkpoint/pytorch/test_files.h"

#include <gtest/gtest.h>

namespace sd::pytorch::test {
namespace {

const std::string kSixFloats = "000011112222333344445555";
const TestTensor kOne{"0", "FloatStorage", 6, 5, {1}, {1}};

// The pickle starts at byte 46 of the file.
std::string said(const Pickle & p) { return refusal(torch_zip(p, {kSixFloats})); }
std::string said(const std::string & opcodes) { return said(Pickle().proto().raw(opcodes)); }

std::string broken(int at, const std::string & cause) {
    return std::string("m.pt: the pickle is broken at byte ") + std::to_string(at) + ": " + cause;
}

TEST(refused_pickles, every_use_of_an_opcode_that_does_not_fit) {
    EXPECT_EQ(said(Pickle().proto(6)), broken(46, "protocol 6 is unknown; 2 to 5 can be read"));
    EXPECT_EQ(said("I1\n."), broken(48, "opcode 0x49 is none that torch.save writes"));
    EXPECT_EQ(said("\x82"), broken(48, "opcode 0x82 is none that torch.save writes"));
    EXPECT_EQ(said("."), broken(48, "nothing is on the stack"));
    EXPECT_EQ(said("N(."), broken(50, "nothing is on the stack"));
    EXPECT_EQ(said("N0."), broken(50, "nothing is on the stack"));
    EXPECT_EQ(said("N(0"), broken(50, "nothing is on the stack"));
    EXPECT_EQ(said("2"), broken(48, "nothing is on the stack"));
    EXPECT_EQ(said("N\x86"), broken(49, "nothing is on the stack"));
    EXPECT_EQ(said("q\x01"), broken(48, "nothing is on the stack"));
    EXPECT_EQ(said("Nt"), broken(49, "there is no mark on the stack"));
    EXPECT_EQ(said("1"), broken(48, "there is no mark on the stack"));
    EXPECT_EQ(said("h\x05"), broken(48, "value 5 was never remembered"));
    EXPECT_EQ(said(std::string("Nr") + number(uint32_t(0xffffffff))),
              broken(49, "value 4294967295 is remembered out of turn"));
    EXPECT_EQ(said("]N}s"), broken(51, "keys for something that is no dictionary"));
    EXPECT_EQ(said("}(Nu"), broken(51, "a key has no value"));
    EXPECT_EQ(said("(Nd"), broken(50, "a key has no value"));
    EXPECT_EQ(said("}Na"), broken(50, "an item for something that is no list"));
    EXPECT_EQ(said("}(Ne"), broken(51, "items for something that is no list"));
    EXPECT_EQ(said("](N\x90"), broken(51, "members for something that is no set"));
    EXPECT_EQ(said("NN\x93"), broken(50, "a name is no text"));
    EXPECT_EQ(said(std::string("\x8b") + number(int32_t(-1))), broken(48, "a number of negative length"));
    EXPECT_EQ(said(std::string("T") + number(int32_t(-1))), broken(48, "a text of negative length"));
    EXPECT_EQ(said("ccollections\nOrderedDict\nN\x85R"),
              broken(75, "a dictionary is made of something else"));
    EXPECT_EQ(said("ccollections\nOrderedDict\n]Na\x85R"),
              broken(77, "a dictionary is made of something else than pairs"));
    EXPECT_EQ(said(std::string("c") + std::string(300, 'm')),
              "m.pt: a line of the pickle at byte 306 is longer than 256 bytes");
}

TEST(refused_pickles, lengths_beyond_the_pickle_are_refused_and_not_allocated) {
    const std::string line = "m.pt: the pickle goes on beyond its end at byte ",
                      advice = " (the file is incomplete: fetch it again)";
    EXPECT_EQ(said("}"), line + "49" + advice);
    EXPECT_EQ(said(std::string("X") + number(UINT32_MAX)), line + "53" + advice);
    EXPECT_EQ(said(std::string("\x8d") + number(UINT64_MAX)), line + "57" + advice);
    EXPECT_EQ(said(std::string("\x8e") + number(uint64_t(1) << 40)), line + "57" + advice);
    EXPECT_EQ(said(std::string("\x96") + number(uint64_t(5000)) + "abc"), line + "60" + advice);
    EXPECT_EQ(said(std::string("\x8b") + number(INT32_MAX)), line + "53" + advice);
    EXPECT_EQ(said("cos"), line + "51" + advice);
    EXPECT_EQ(said(Pickle().proto(4).raw(std::string("\x95") + number(uint32_t(1)))), line + "53" + advice);
}

TEST(refused_pickles, long_texts_and_numbers_are_passed_over) {
    Pickle p;
    p.proto().dict().mark().text("blob").raw(std::string("B") + number(uint32_t(100000)) +
                                             std::string(100000, 'x'));
    p.text("n").raw(std::string("\x8b") + number(int32_t(5000)) + std::string(5000, '\x7f'));
    p.text("w").tensor(kOne).items().stop();
    EXPECT_EQ(read_pytorch(file_of(torch_zip(p, {kSixFloats}))).tensors.size(), 1u);
}

TEST(refused_pickles, a_pickle_that_builds_more_than_it_is_long_is_refused) {
    // A list of pairs, made a dictionary again and again: two bytes would cost 2,000 values each time.
    Pickle p;
    p.proto().global("collections", "OrderedDict").raw("q").raw(std::string(1, '\0')).list().mark();
    for (int i = 0; i < 1000; ++i) p.raw("NN\x86");
    p.appends().raw("\x85q\x01");
    for (int i = 0; i < 50; ++i) p.raw(std::string("0h\0h\1R", 6));
    const std::string line = said(p.stop());
    EXPECT_EQ(line, "m.pt: the pickle builds too much: 7011 values, 1003 objects from 3047 bytes (save only "
                    "the model's state_dict())");
    // Two million empty lists.
    EXPECT_EQ(said(std::string(3000000, ']')),
              "m.pt: the pickle builds too much: 2097152 values, 2097152 objects from 2097154 bytes (save "
              "only the model's state_dict())");
}

TEST(refused_pickles, texts_are_kept_up_to_the_length_of_a_header) {
    Heap heap;
    const std::string text(4096, 'x');
    for (int i = 0; i < 24414; ++i) heap.make_text(Kind::text, text);
    try {
        heap.make_text(Kind::text, text);
        ADD_FAILURE() << "100003840 bytes were kept";
    } catch (const Error & e) {
        EXPECT_STREQ(e.what(), "the pickle has more than 100000000 bytes of text (save only the model's "
                               "state_dict())");
    }
}

TEST(refused_pickles, what_holds_no_tensors_says_what_it_holds) {
    const std::string advice = " (save the model's state_dict() with torch.save)";
    EXPECT_EQ(said("}."), "m.pt: holds no tensors" + advice);
    EXPECT_EQ(said("N."), "m.pt: holds no tensors" + advice);
    EXPECT_EQ(said("cmy.nets\nNet\n)\x81}b."), "m.pt: holds an object of class my.nets.Net, not a table of "
                                               "tensors (save its state_dict() with torch.save)");
}

TEST(refused_pickles, names_must_be_unique_short_and_not_nested_without_end) {
    Pickle p;
    p.proto().dict().mark().text("a.b").tensor(kOne).text("a").dict().mark().text("b").tensor(kOne);
    EXPECT_EQ(said(p.items().items().stop()), "m.pt: tensor a.b: there are two tensors of this name");
    Pickle numbers;
    numbers.proto().dict().mark().text("1").tensor(kOne).integer(1).tensor(kOne).items().stop();
    EXPECT_EQ(said(numbers), "m.pt: tensor 1: there are two tensors of this name");
    EXPECT_EQ(said(Pickle().proto().dict().mark().text("").tensor(kOne).items().stop()),
              "m.pt: a tensor has an empty name");
    EXPECT_EQ(said(Pickle().proto().dict().mark().text("a\x1b[2J").tensor(kOne).items().stop()),
              "m.pt: tensor a\\x1b[2J: its name has control characters, or is not UTF-8");
    EXPECT_EQ(said(Pickle().proto().dict().mark().text("a\xff").tensor(kOne).items().stop()),
              "m.pt: tensor a\\xff: its name has control characters, or is not UTF-8");
    EXPECT_EQ(said(Pickle().proto().dict().mark().text(std::string(513, 'n')).tensor(kOne).items().stop()),
              std::string("m.pt: tensor ") + std::string(120, 'n') +
                  "...: has a name of more than 512 bytes");
    Pickle deep;
    deep.proto();
    for (int i = 0; i < 40; ++i) deep.list();
    deep.raw(std::string(39, 'a')).stop();
    std::string name = "0";
    for (int i = 1; i < 32; ++i) name += ".0";
    EXPECT_EQ(said(deep), std::string("m.pt: tensor ") + name + ": is nested in more than 32 containers");
}

TEST(refused_pickles, other_kinds_of_files_are_named) {
    const Pickle p = table({{"w", kOne}});
    EXPECT_EQ(refusal(""), "m.pt: is no file of torch.save");
    EXPECT_EQ(refusal("\x93NUMPY"), "m.pt: is no file of torch.save");
    EXPECT_EQ(refusal(std::string(257, 'x') + "ustar" + std::string(250, '\0')),
              "m.pt: is a tar archive, as torch before 0.1.10 saved (load it with torch and save it again)");
    EXPECT_EQ(refusal(zip({{"a.npy", "x"}})),
              "m.pt: is a zip archive without FOLDER/data.pkl, so none of torch.save");
    EXPECT_EQ(refusal(zip({{"a/data.pkl", p.bytes}, {"b/data.pkl", p.bytes}})),
              "m.pt: is a zip archive with more than one saved object");
    EXPECT_EQ(
        refusal(zip({{"a/data.pkl", p.bytes}, {"a/constants.pkl", "x"}})),
        "m.pt: is a TorchScript program, not a table of tensors (save its state_dict() with torch.save)");
    EXPECT_EQ(refusal(zip({{"a/data.pkl", p.bytes}, {"a/byteorder", "big"}})),
              "m.pt: has its numbers in the byte order \"big\" (save it again on a little-endian machine)");
    EXPECT_EQ(refusal(zip({{"a/data.pkl", p.bytes, 0, 8}})),
              "m.pt: entry \"a/data.pkl\" of the zip archive is compressed (unpack it, and pack it again "
              "without compression (zip -0 -r))");
}

TEST(refused_pickles, the_older_layout_is_checked_pickle_by_pickle) {
    const Pickle p = table({{"w", kOne}});
    const std::string data = number(int64_t(6)) + kSixFloats;
    EXPECT_EQ(refusal(legacy_head() + p.bytes + legacy_keys({"0"}) + data), "accepted");
    EXPECT_EQ(refusal(p.bytes), "m.pt: is a pickle, but none that torch.save wrote (load it with Python and "
                                "save its tensors with torch.save)");
    EXPECT_EQ(
        refusal(legacy_head(true, 1002) + p.bytes),
        "m.pt: is of a version of torch.save's format that is not known (load it with torch and save it "
        "again)");
    EXPECT_EQ(refusal(legacy_head(false) + p.bytes),
              "m.pt: has its numbers in the byte order \"big\" (save it again on a little-endian machine)");
    EXPECT_EQ(refusal(legacy_head() + p.bytes + Pickle().proto().none().stop().bytes + data),
              "m.pt: has no list of its storages");
    EXPECT_EQ(refusal(legacy_head() + p.bytes + legacy_keys({}) + data),
              "m.pt: tensor w: the file has no storage \"0\"");
    EXPECT_EQ(refusal(legacy_head() + p.bytes + legacy_keys({"7"}) + data),
              "m.pt: has a storage \"7\" of a type that is not known");
    EXPECT_EQ(refusal(legacy_head() + p.bytes + legacy_keys({"0", "0"}) + data + data),
              "m.pt: has a storage \"0\" twice");
    EXPECT_EQ(refusal(legacy_head() + p.bytes + legacy_keys({"0"}) + number(int64_t(-1)) + kSixFloats),
              "m.pt: has a storage \"0\" of -1 elements");
    EXPECT_EQ(
        refusal(legacy_head() + p.bytes + legacy_keys({"0"}) + number(int64_t(1) << 62) + kSixFloats),
        "m.pt: the file is shorter than its header says: storage \"0\" has 4611686018427387904 elements, "
        "and 24 bytes are left (the file is incomplete: fetch it again)");
    const Pickle odd = table({{"w", kOne}, {"q", {"1", "QInt8Storage", 8, 0, {1}, {1}}}});
    EXPECT_EQ(
        refusal(legacy_head() + odd.bytes + legacy_keys({"1", "0"}) + number(int64_t(8)) + "12345678" + data),
        "m.pt: tensor q: its storage is a torch.QInt8Storage, which cannot be read (convert it to a "
        "plain type with .to() before saving)");
    const Pickle two = table({{"w", kOne}, {"x", {"0", "HalfStorage", 6, 0, {1}, {1}}}});
    EXPECT_EQ(refusal(legacy_head() + two.bytes + legacy_keys({"0"}) + data),
              "m.pt: says that storage \"0\" is of two types");
}

TEST(refused_pickles, a_file_that_ends_early_is_refused_wherever_it_ends) {
    const std::string whole = torch_legacy(table({{"w", kOne}}), {kSixFloats}, 4);
    EXPECT_EQ(refusal(whole), "accepted");
    for (size_t n = 0; n < whole.size(); ++n) EXPECT_NE(refusal(whole.substr(0, n)), "accepted") << n;
}

TEST(refused_pickles, a_change_of_any_byte_is_answered_with_tensors_inside_the_file_or_a_reason) {
    const Pickle p = table({{"w", kOne}, {"v", {"0", "FloatStorage", 6, 0, {3, 2}, {1, 3}}}});
    for (const std::string & whole : {torch_zip(p, {kSixFloats}), torch_legacy(p, {kSixFloats}, 4)}) {
        for (size_t i = 0; i < whole.size(); ++i) {
            for (const int value : {0, 1, 0x28, 0x52, 0x7f, 0x80, 0xff}) {
                std::string changed = whole;
                changed[i] = char(value);
                try {
                    for (const TensorInfo & t : read_pytorch(file_of(changed)).tensors) {
                        EXPECT_LE(t.offset + t.bytes, whole.size());
                    }
                } catch (const Error & e) {
                    EXPECT_EQ(std::string(e.what()).rfind("m.pt: ", 0), 0u);
                }
            }
        }
    }
}

} // namespace
} // namespace sd::pytorch::test
