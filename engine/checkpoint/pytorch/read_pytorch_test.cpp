// Right files in all layouts: which tensors are found, where, and what is left out.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/pytorch/test_files.h"

#include <gtest/gtest.h>

namespace sd::pytorch::test {
namespace {

Container read(const std::string & bytes) { return read_pytorch(file_of(bytes)); }

std::string bytes_at(const std::string & file, const TensorInfo & t) {
    return file.substr(t.offset, t.bytes);
}

std::vector<std::string> names(const Container & c) {
    std::vector<std::string> out;
    for (const TensorInfo & t : c.tensors) out.push_back(t.name);
    return out;
}

const std::string kSixFloats = "0000111122223333444455556666";
const TestTensor kTwoByThree{"0", "FloatStorage", 6, 0, {2, 3}, {3, 1}};
const TestTensor kOne{"0", "FloatStorage", 6, 5, {1}, {1}};

TEST(read_pytorch, both_layouts_give_the_same_tensors_with_their_bytes) {
    const Pickle p = table({{"a.weight", kTwoByThree},
                            {"a.bias", {"1", "FloatStorage", 3, 1, {2}, {1}}},
                            {"scalar", {"0", "FloatStorage", 6, 5, {}, {}}}});
    for (const bool legacy : {false, true}) {
        const std::string file = legacy ? torch_legacy(p, {"0000111122223333444455556666", "aaaabbbbcccc"}, 4)
                                        : torch_zip(p, {"0000111122223333444455556666", "aaaabbbbcccc"});
        const Container c = read(file);
        EXPECT_EQ(c.kind, ContainerKind::pytorch);
        ASSERT_EQ(names(c), (std::vector<std::string>{"a.weight", "a.bias", "scalar"}));
        EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{2, 3}));
        EXPECT_EQ(c.tensors[0].type, StoredType::f32);
        EXPECT_TRUE(c.tensors[0].strides.empty());
        EXPECT_EQ(bytes_at(file, c.tensors[0]), "000011112222333344445555");
        EXPECT_EQ(bytes_at(file, c.tensors[1]), "bbbbcccc");
        EXPECT_EQ(c.tensors[2].shape, std::vector<int64_t>{});
        EXPECT_EQ(bytes_at(file, c.tensors[2]), "5555");
        EXPECT_TRUE(c.warnings.empty());
    }
}

TEST(read_pytorch, every_storage_class_has_its_type) {
    const std::pair<const char *, StoredType> classes[] = {
        {"FloatStorage", StoredType::f32},  {"HalfStorage", StoredType::f16},
        {"DoubleStorage", StoredType::f64}, {"BFloat16Storage", StoredType::bf16},
        {"LongStorage", StoredType::i64},   {"IntStorage", StoredType::i32},
        {"ShortStorage", StoredType::i16},  {"CharStorage", StoredType::i8},
        {"ByteStorage", StoredType::u8},    {"BoolStorage", StoredType::boolean},
    };
    for (const auto & [name, type] : classes) {
        const size_t unit = *tensor_bytes(type, {1});
        const Pickle p = table({{"t", {"0", name, 3, 1, {2}, {1}}}});
        const std::string data = std::string(unit, 'a') + std::string(2 * unit, 'b');
        for (const std::string & file : {torch_zip(p, {data}), torch_legacy(p, {data}, unit)}) {
            const Container c = read(file);
            EXPECT_EQ(c.tensors[0].type, type) << name;
            EXPECT_EQ(bytes_at(file, c.tensors[0]), std::string(2 * unit, 'b')) << name;
        }
    }
}

TEST(read_pytorch, the_device_a_storage_was_saved_from_does_not_matter) {
    Pickle p;
    p.proto().dict().mark().text("w").global("torch._utils", "_rebuild_tensor").mark();
    p.mark().text("storage").global("torch.cuda", "HalfStorage").integer(0).text("cuda:7").integer(2).tuple();
    p.raw("Q").integer(0).integers({2}).integers({1}).tuple().reduce().items().stop();
    const std::string file = torch_zip(p, {"aabb"});
    EXPECT_EQ(read(file).tensors[0].type, StoredType::f16);
    EXPECT_EQ(bytes_at(file, read(file).tensors[0]), "aabb");
}

TEST(read_pytorch, types_newer_than_storage_classes_come_with_the_tensor) {
    const std::pair<const char *, StoredType> types[] = {
        {"float8_e4m3fn", StoredType::f8_e4m3},
        {"float8_e5m2", StoredType::f8_e5m2},
        {"uint16", StoredType::u16},
        {"uint32", StoredType::u32},
        {"uint64", StoredType::u64},
        {"bfloat16", StoredType::bf16},
    };
    for (const auto & [name, type] : types) {
        const size_t unit = *tensor_bytes(type, {1});
        const std::string data = std::string(unit, 'a') + std::string(2 * unit, 'b');
        Pickle p;
        p.proto().dict().mark().text("t");
        p.typed_tensor({"0", "", int64_t(data.size()), 1, {2}, {1}}, name).items().stop();
        const std::string file = torch_zip(p, {data});
        const Container c = read(file);
        EXPECT_EQ(c.tensors[0].type, type) << name;
        EXPECT_EQ(bytes_at(file, c.tensors[0]), std::string(2 * unit, 'b')) << name;
    }
}

TEST(read_pytorch, strides_are_given_only_where_elements_do_not_follow_one_another) {
    const auto strides = [](std::vector<int64_t> size, std::vector<int64_t> stride) {
        const TestTensor t{"0", "FloatStorage", 6, 0, std::move(size), std::move(stride)};
        return read(torch_zip(table({{"t", t}}), {kSixFloats})).tensors[0];
    };
    EXPECT_EQ(strides({2, 3}, {3, 1}).strides, std::vector<int64_t>{});
    EXPECT_EQ(strides({2, 1, 3}, {3, 99, 1}).strides, std::vector<int64_t>{});
    EXPECT_EQ(strides({1, 6}, {0, 1}).strides, std::vector<int64_t>{});
    EXPECT_EQ(strides({3, 2}, {1, 3}).strides, (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(strides({3, 2}, {1, 3}).bytes, 24u);
    EXPECT_EQ(strides({2, 2}, {3, 1}).bytes, 20u); // to the last element
    EXPECT_EQ(strides({3}, {2}).strides, (std::vector<int64_t>{2}));
    EXPECT_EQ(strides({4}, {0}).strides, (std::vector<int64_t>{0}));
    EXPECT_EQ(strides({4}, {0}).bytes, 4u);
}

TEST(read_pytorch, empty_tensors_and_tied_weights_are_legal) {
    const Pickle p = table({{"none", {"0", "FloatStorage", 0, 0, {0, 8}, {8, 1}}},
                            {"x", {"1", "HalfStorage", 4, 0, {4}, {1}}},
                            {"y", {"1", "HalfStorage", 4, 0, {2, 2}, {2, 1}}}});
    const Container c = read(torch_zip(p, {"", "aabbccdd"}));
    EXPECT_EQ(c.tensors[0].bytes, 0u);
    EXPECT_TRUE(c.tensors[0].strides.empty());
    EXPECT_EQ(c.tensors[1].offset, c.tensors[2].offset);
}

TEST(read_pytorch, wide_records_and_padding_before_data_are_read) {
    const Pickle p = table({{"t", kTwoByThree}});
    const std::string pad = std::string("FB") + number(uint16_t(30)) + std::string(30, 'Z');
    // As torch writes: sizes only behind the data and in the table of contents.
    std::vector<TestEntry> entries{{"m/data.pkl", p.bytes, 0x0808, 0, pad},
                                   {"m/.format_version", "1"},
                                   {"m/.storage_alignment", "64"},
                                   {"m/data/0", kSixFloats, 0x0808, 0, pad}};
    entries[0].local_size = entries[3].local_size = 0;
    for (const bool zip64 : {false, true}) {
        const std::string file = zip(entries, zip64);
        EXPECT_EQ(bytes_at(file, read(file).tensors[0]), "000011112222333344445555");
    }
}

TEST(read_pytorch, weights_are_found_inside_the_wrappers_of_training_programs) {
    Pickle p;
    p.proto().dict().mark().text("epoch").integer(3).text("optimizer").dict().mark();
    p.text("exp_avg").tensor(kOne).items().text("params").dict().mark().text("old").tensor(kOne).items();
    p.text("params_ema").dict().mark().text("w").tensor(kTwoByThree).text("n").integer(1).items();
    p.items().stop();
    const Container c = read(torch_zip(p, {kSixFloats}));
    EXPECT_EQ(names(c), (std::vector<std::string>{"w"}));
    ASSERT_EQ(c.warnings.size(), 1u);
    EXPECT_EQ(c.warnings[0], "only \"params_ema\" is read, and not \"optimizer\", \"params\" beside it");
    // One inside the other, and one that only looks like a wrapper.
    Pickle q;
    q.proto().dict().mark().text("state_dict").dict().text("model").dict().mark().text("module").dict();
    q.mark().text("w").tensor(kOne).items().items().items().stop();
    EXPECT_EQ(names(read(torch_zip(q, {kSixFloats}))), (std::vector<std::string>{"w"}));
    Pickle r;
    r.proto().dict().mark().text("model").dict().mark().text("w").tensor(kOne).items().text("b").tensor(kOne);
    r.items().stop();
    EXPECT_EQ(names(read(torch_zip(r, {kSixFloats}))), (std::vector<std::string>{"model.w", "b"}));
    Pickle s;
    s.proto().dict().mark().text("rng").tensor(kOne).text("model").dict().mark().text("w").tensor(kOne);
    s.text("v").tensor(kOne).items().items().stop();
    const Container d = read(torch_zip(s, {kSixFloats}));
    EXPECT_EQ(names(d), (std::vector<std::string>{"w", "v"}));
    EXPECT_EQ(d.warnings, (std::vector<std::string>{"only \"model\" is read, and not \"rng\" beside it"}));
}

TEST(read_pytorch, names_join_keys_and_places) {
    Pickle p;
    p.proto().dict().mark().text("a").dict().mark().integer(7).tensor(kOne).text("l").list().mark();
    p.none().tensor(kOne).appends().items().text("t").mark().tensor(kOne).tuple().none().tensor(kOne);
    p.items().stop();
    EXPECT_EQ(names(read(torch_zip(p, {kSixFloats}))), (std::vector<std::string>{"a.7", "a.l.1", "t.0"}));
    EXPECT_EQ(names(read(torch_zip(Pickle().proto().tensor(kOne).stop(), {kSixFloats}))),
              (std::vector<std::string>{"tensor"}));
}

TEST(read_pytorch, a_later_key_replaces_an_earlier_one_as_in_python) {
    Pickle p;
    p.proto().dict().mark().text("w").tensor(kOne).text("x").tensor(kOne).items();
    p.text("w").tensor(kTwoByThree).raw("s").stop();
    const Container c = read(torch_zip(p, {kSixFloats}));
    EXPECT_EQ(names(c), (std::vector<std::string>{"w", "x"}));
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{2, 3}));
}

TEST(read_pytorch, ordered_and_default_dictionaries_are_dictionaries) {
    Pickle p;
    p.proto()
        .global("collections", "OrderedDict")
        .empty_tuple()
        .reduce()
        .mark()
        .text("a")
        .tensor(kOne)
        .items();
    // torch.nn.Module.state_dict() puts versions of its modules beside the keys.
    p.dict().mark().text("_metadata").dict().items().raw("b").stop();
    EXPECT_EQ(names(read(torch_zip(p, {kSixFloats}))), (std::vector<std::string>{"a"}));
    Pickle q; // OrderedDict([["a", tensor]]), as Python 2 wrote it
    q.proto().global("collections", "OrderedDict").list().list().text("a").raw("a").tensor(kOne).raw("a");
    q.raw("a\x85R").stop();
    EXPECT_EQ(names(read(torch_zip(q, {kSixFloats}))), (std::vector<std::string>{"a"}));
    Pickle r;
    r.proto().global("collections", "defaultdict").global("__builtin__", "list").raw("\x85R").mark();
    r.text("a").tensor(kOne).items().stop();
    EXPECT_EQ(names(read(torch_zip(r, {kSixFloats}))), (std::vector<std::string>{"a"}));
}

TEST(read_pytorch, parameters_and_subclasses_are_their_tensors) {
    Pickle p;
    p.proto().dict().mark().text("p").global("torch._utils", "_rebuild_parameter").mark().tensor(kOne);
    p.boolean(true).dict().tuple().reduce();
    p.text("s").global("torch._tensor", "_rebuild_from_type_v2").mark();
    p.global("torch._utils", "_rebuild_tensor_v2").global("mine", "Tensor").mark().storage(kTwoByThree);
    p.integer(0).integers({2, 3}).integers({3, 1}).boolean(false).dict().tuple().dict().tuple().reduce();
    const Container c = read(torch_zip(p.items().stop(), {kSixFloats}));
    EXPECT_EQ(names(c), (std::vector<std::string>{"p", "s"}));
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{1}));
    EXPECT_EQ(c.tensors[1].shape, (std::vector<int64_t>{2, 3}));
}

TEST(read_pytorch, other_objects_are_named_and_nothing_is_run) {
    Pickle p;
    p.proto().dict().mark().text("w").tensor(kOne);
    p.text("a").global("os", "system").text("echo").raw("\x85R");
    p.text("b").global("os", "system").text("echo").raw("\x85R");
    // An object with state, one that is called, one that fills itself.
    p.text("c").global("my.callbacks", "Best").empty_tuple().raw("\x81").dict().raw("b");
    p.text("d").global("my.callbacks", "Best").empty_tuple().raw("\x81").empty_tuple().reduce();
    p.text("e").global("my", "List").empty_tuple().reduce().mark().integer(1).appends();
    p.text("f").global("numpy.core.multiarray", "scalar").empty_tuple().reduce();
    const Container c = read(torch_zip(p.items().stop(), {kSixFloats}));
    EXPECT_EQ(names(c), (std::vector<std::string>{"w"}));
    ASSERT_EQ(c.warnings.size(), 1u);
    EXPECT_EQ(c.warnings[0], "objects of other classes are left out, and no code of the file is run: "
                             "\"my.List x 1\", \"my.callbacks.Best x 2\", \"os.system x 2\"");
}

TEST(read_pytorch, a_dictionary_that_is_reached_twice_is_read_once) {
    Pickle p;
    p.proto().dict().mark().text("a").dict().raw("q\x01").mark().text("w").tensor(kOne).items();
    p.text("b").raw("h\x01").items().stop();
    const Container c = read(torch_zip(p, {kSixFloats}));
    EXPECT_EQ(names(c), (std::vector<std::string>{"a.w"}));
    ASSERT_EQ(c.warnings.size(), 1u);
    EXPECT_EQ(c.warnings[0], "\"b\" is there under another name already and is left out");
}

TEST(read_pytorch, containers_may_hold_themselves) {
    Pickle p;
    p.proto().dict().raw("q\x01").mark().text("me").raw("h\x01").text("l").list().raw("q\x02h\x02");
    p.raw("a").text("w").tensor(kOne).items().stop();
    EXPECT_EQ(names(read(torch_zip(p, {kSixFloats}))), (std::vector<std::string>{"w"}));
}

TEST(read_pytorch, dictionaries_that_hold_one_another_twice_cost_no_more_than_their_number) {
    // Each dictionary holds the one before it twice: 2^20 ways lead to the tensor.
    Pickle p;
    p.proto().dict().mark().text("w").tensor(kOne).items();
    for (int i = 0; i < 20; ++i) {
        const auto key = uint8_t(i + 1);
        p.op('q', key).raw("0}").mark().text("a").op('h', key).text("b").op('h', key).items();
    }
    EXPECT_EQ(read(torch_zip(p.stop(), {kSixFloats})).tensors.size(), 1u);
}

} // namespace
} // namespace sd::pytorch::test
