// Tensors that are not what the file says, or of a kind that cannot be read, each with its line.
#include "checkpoint/pytorch/test_files.h"

#include <gtest/gtest.h>

namespace sd::pytorch::test {
namespace {

const std::string kSixFloats = "000011112222333344445555";
const TestTensor kGood{"0", "FloatStorage", 6, 0, {2, 3}, {3, 1}};

std::string said(const Pickle & p) {
    const std::string line = refusal(torch_zip(p, {kSixFloats})), start = "m.pt: tensor w: ";
    return line.rfind(start, 0) == 0 ? line.substr(start.size()) : line;
}
std::string said(const TestTensor & t) { return said(table({{"w", t}})); }

// A tensor whose value in the table is made by `make`.
template <class Make>
std::string said_of(const Make & make) {
    Pickle p;
    p.proto().dict().mark().text("w");
    make(p);
    return said(p.items().stop());
}

TEST(refused_tensors, elements_outside_of_the_storage) {
    TestTensor t = kGood;
    EXPECT_EQ(said(t), "accepted");
    t.offset = 1;
    EXPECT_EQ(said(t), "of shape [2, 3] needs elements 1 to 6 of a storage that has 6");
    t.offset = 7;
    EXPECT_EQ(said(t), "of shape [2, 3] needs elements 7 to 12 of a storage that has 6");
    t.offset = INT64_MAX;
    EXPECT_EQ(said(t),
              "of shape [2, 3] needs elements 9223372036854775807 to 9223372036854775812 of a storage "
              "that has 6");
    t.offset = -1;
    EXPECT_EQ(said(t), "starts at element -1 of its storage");
    t = kGood;
    t.stride = {4, 1};
    EXPECT_EQ(said(t), "of shape [2, 3] needs elements 0 to 6 of a storage that has 6");
    t.stride = {3, -1};
    EXPECT_EQ(said(t), "has a stride of -1");
    t.stride = {3};
    EXPECT_EQ(said(t), "has 2 sizes and 1 strides");
    t.size = {0, 3};
    EXPECT_EQ(said(t), "has another number of sizes than of strides");
}

TEST(refused_tensors, sizes_whose_product_or_sum_wraps) {
    const int64_t big = int64_t(1) << 33;
    TestTensor t = kGood;
    t.size = {big, big};
    t.stride = {0, 0};
    EXPECT_EQ(said(t), "of shape [8589934592, 8589934592] and type F32 is larger than the file it is in");
    t.size = {big, big, 0};
    t.stride = {0, 0, 0};
    EXPECT_EQ(said(t), "of shape [8589934592, 8589934592, 0] and type F32 is larger than the file it is in");
    t.size = {-2, -3};
    t.stride = {3, 1};
    EXPECT_EQ(said(t), "of shape [-2, -3] and type F32 is larger than the file it is in");
    t.size = {3, 2};
    t.stride = {INT64_MAX, 1};
    EXPECT_EQ(said(t), "of shape [3, 2] and strides [9223372036854775807, 1] is larger than any file");
    t.size = {2, 2};
    EXPECT_EQ(said(t), "of shape [2, 2] and strides [9223372036854775807, 1] is larger than any file");
    // One element shown a million times.
    t.size = {1000000};
    t.stride = {0};
    EXPECT_EQ(said(t), "of shape [1000000] and type F32 is larger than the file it is in");
    t.size = t.stride = std::vector<int64_t>(9, 1);
    EXPECT_EQ(said(t), "has 9 dimensions; at most 8 are possible");
}

TEST(refused_tensors, storages_that_are_missing_short_or_of_an_unknown_class) {
    TestTensor t = kGood;
    t.key = "1";
    EXPECT_EQ(said(t), "the zip archive has no entry \"archive/data/1\"");
    t = kGood;
    t.elements = 7;
    EXPECT_EQ(said(t), "its storage \"0\" has 24 bytes in the file, too few for 7 elements of type F32");
    t.elements = -1;
    EXPECT_EQ(said(t), "its storage has -1 elements");
    t = kGood;
    t.storage = "ComplexFloatStorage";
    EXPECT_EQ(said(t),
              "its storage is a torch.ComplexFloatStorage, which cannot be read (convert it to a plain "
              "type with .to() before saving)");
    t.storage = "UntypedStorage";
    EXPECT_EQ(said(t), "does not say of which type its elements are");
    EXPECT_EQ(
        said_of([](Pickle & p) {
            p.typed_tensor({"0", "", 24, 0, {24}, {1}}, "quint4x2");
        }),
        "has elements of type torch.quint4x2, which cannot be read (convert it to a plain type with .to() "
        "before saving)");
    EXPECT_EQ(said_of([](Pickle & p) {
                  p.typed_tensor({"0", "", 23, 0, {6}, {1}}, "float32");
              }),
              "of shape [6] needs elements 0 to 5 of a storage that has 5");
    const Pickle good = table({{"w", kGood}});
    EXPECT_EQ(
        refusal(zip({{"m/data.pkl", good.bytes}, {"m/data/0", kSixFloats, 0, 8}})),
        "m.pt: tensor w: entry \"m/data/0\" of the zip archive is compressed (unpack it, and pack it again "
        "without compression (zip -0 -r))");
}

TEST(refused_tensors, kinds_of_tensors_that_are_more_than_numbers) {
    const auto by = [](const std::string & name) {
        return said_of([&](Pickle & p) { p.global("torch._utils", name).empty_tuple().reduce(); });
    };
    EXPECT_EQ(by("_rebuild_sparse_tensor"), "is sparse (call .to_dense() on it before saving)");
    EXPECT_EQ(by("_rebuild_sparse_csr_tensor"), "is sparse (call .to_dense() on it before saving)");
    EXPECT_EQ(by("_rebuild_nested_tensor"), "is nested (save its parts as tensors of their own)");
    EXPECT_EQ(by("_rebuild_qtensor"), "is quantized by torch (call .dequantize() on it before saving)");
    EXPECT_EQ(by("_rebuild_meta_tensor_no_storage"),
              "is on the meta device, so the file has no data for it (load the weights before saving)");
    EXPECT_EQ(by("_rebuild_wrapper_subclass"),
              "is of a class of its own (convert it to a plain tensor before saving)");
    EXPECT_EQ(by("_rebuild_device_tensor_from_numpy"),
              "is saved for one device only (call .cpu() on it before saving)");
    const auto view = [](Pickle & p) {
        p.global("torch._utils", "_rebuild_tensor_v2").mark().storage(kGood).integer(0);
        p.integers({6}).integers({1}).boolean(false).dict().dict().mark().text("neg").boolean(true).items();
        p.tuple().reduce();
    };
    EXPECT_EQ(said_of(view),
              "is a view that changes the values it shows (call .clone() on it before saving)");
}

TEST(refused_tensors, descriptions_with_parts_of_another_kind) {
    const std::string line = "is not described completely";
    const auto v2 = [](Pickle & p) -> Pickle & { return p.global("torch._utils", "_rebuild_tensor_v2"); };
    EXPECT_EQ(said_of([&](Pickle & p) { v2(p).empty_tuple().reduce(); }), line);
    EXPECT_EQ(said_of([&](Pickle & p) { v2(p).none().reduce(); }), line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().none().integer(0).integers({1}).integers({1}).tuple().reduce();
              }),
              line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().storage(kGood).none().integers({1}).integers({1}).tuple().reduce();
              }),
              line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().storage(kGood).integer(0).list().integers({1}).tuple().reduce();
              }),
              line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().storage(kGood).integer(0).mark().text("1").tuple().integers({1}).tuple();
                  p.reduce();
              }),
              line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  p.global("torch._utils", "_rebuild_parameter").mark().none().tuple().reduce();
              }),
              line);
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().text("0").raw("Q").integer(0).integers({1}).integers({1}).tuple().reduce();
              }),
              "its storage is not described");
    EXPECT_EQ(said_of([&](Pickle & p) {
                  v2(p).mark().mark().text("module").none().none().none().none().tuple().raw("Q").integer(0);
                  p.integers({1}).integers({1}).tuple().reduce();
              }),
              "its storage is not described");
    EXPECT_EQ(
        said_of([&](Pickle & p) {
            v2(p).mark().mark().text("storage").global("torch", "FloatStorage").text("0").text("cpu");
            p.integer(6).integers({1, 2, 3}).tuple().raw("Q").integer(0).integers({1}).integers({1});
            p.tuple().reduce();
        }),
        "its storage is a part of another one, as torch before 0.4 could save it (load it with torch and "
        "save it again)");
    EXPECT_EQ(said_of([&](Pickle & p) {
                  for (int i = 0; i < 5; ++i) p.global("torch._utils", "_rebuild_parameter").mark();
                  p.tensor(kGood);
                  for (int i = 0; i < 5; ++i) p.tuple().reduce();
              }),
              "is wrapped too often");
}

} // namespace
} // namespace sd::pytorch::test
