// Files written by Python's pickle and zipfile (tests/data/pytorch/make.py), and by PyTorch (make_torch.py):
// every layout and protocol gives the same four tensors with the values that went in.
#include "checkpoint/container.h"

#include <cstring>
#include <gtest/gtest.h>

namespace sd {
namespace {

File fixture(const std::string & name) {
    return File::open(std::string(CONVROT_TEST_DATA "/pytorch/") + name);
}

// The stored values, in the order they lie in the file.
template <class T>
std::vector<T> values(const File & file, const TensorInfo & t) {
    std::vector<T> out(t.bytes / sizeof(T));
    file.read(t.offset, out.data(), t.bytes);
    return out;
}

class pytorch_fixtures : public testing::TestWithParam<const char *> {};

TEST_P(pytorch_fixtures, holds_the_four_tensors) {
    const File file = fixture(GetParam());
    const Container c = read_pytorch(file);
    ASSERT_EQ(c.tensors.size(), 4u);
    const TensorInfo &weight = c.tensors[0], &bias = c.tensors[1], &tied = c.tensors[2],
                     &steps = c.tensors[3];

    EXPECT_EQ(weight.name, "layer.weight");
    EXPECT_EQ(weight.type, StoredType::f32);
    EXPECT_EQ(weight.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_TRUE(weight.strides.empty());
    EXPECT_EQ(values<float>(file, weight), (std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f}));

    EXPECT_EQ(bias.name, "layer.bias");
    EXPECT_EQ(bias.type, StoredType::f16);
    EXPECT_EQ(bias.shape, (std::vector<int64_t>{3}));
    EXPECT_EQ(values<uint16_t>(file, bias), (std::vector<uint16_t>{0x3c00, 0x4000, 0x4200}));

    EXPECT_EQ(tied.name, "tied.weight");
    EXPECT_EQ(tied.shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(tied.strides, (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(tied.offset, weight.offset);
    EXPECT_EQ(tied.bytes, 24u);

    EXPECT_EQ(steps.name, "steps");
    EXPECT_EQ(steps.type, StoredType::i64);
    EXPECT_EQ(steps.shape, std::vector<int64_t>{});
    EXPECT_EQ(values<int64_t>(file, steps), std::vector<int64_t>{7});
}

INSTANTIATE_TEST_SUITE_P(, pytorch_fixtures,
                         testing::Values("plain.pt", "aligned.pt", "protocol4.pt", "parameters.pt",
                                         "legacy.pt", "training.ckpt", "torch-2.8.pt", "torch-2.8-legacy.pt",
                                         "torch-2.8-training.ckpt"));

TEST(pytorch_files, storages_of_an_aligned_file_start_at_multiples_of_64) {
    EXPECT_EQ(read_pytorch(fixture("aligned.pt")).tensors[1].offset % 64, 0u);
}

TEST(pytorch_files, a_training_checkpoint_says_what_is_left_out) {
    EXPECT_EQ(
        read_pytorch(fixture("training.ckpt")).warnings,
        (std::vector<std::string>{"objects of other classes are left out, and no code of the file is run: "
                                  "\"pytorch_lightning.callbacks.ModelCheckpoint x 1\"",
                                  "only \"state_dict\" is read, and not \"optimizer_states\" beside it"}));
    EXPECT_TRUE(read_pytorch(fixture("plain.pt")).warnings.empty());
}

TEST(pytorch_files, float8_comes_with_its_type) {
    const File file = fixture("float8.pt");
    const Container c = read_pytorch(file);
    ASSERT_EQ(c.tensors.size(), 2u);
    EXPECT_EQ(c.tensors[0].type, StoredType::f8_e4m3);
    EXPECT_EQ(values<uint8_t>(file, c.tensors[0]),
              (std::vector<uint8_t>{0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39}));
    EXPECT_EQ(values<uint16_t>(file, c.tensors[1]), std::vector<uint16_t>{0x4000});
}

} // namespace
} // namespace sd
