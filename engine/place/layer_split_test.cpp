#include "place/layer_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace sd {
namespace {

using Numbers = std::vector<uint64_t>;
using Devices = std::vector<size_t>;

constexpr uint64_t kGiB = uint64_t(1) << 30;

TEST(LayerSplit, blocks_are_in_proportion_to_room) {
    EXPECT_EQ(split_layers(Numbers(4, 10), 0, {1, 1}), (Devices{0, 0, 1, 1}));
    EXPECT_EQ(split_layers(Numbers(8, 10), 0, {3 * kGiB, kGiB}), (Devices{0, 0, 0, 0, 0, 0, 1, 1}));
    EXPECT_EQ(split_layers(Numbers(6, kGiB), 0, {kGiB, kGiB, kGiB}), (Devices{0, 0, 1, 1, 2, 2}));
}

TEST(LayerSplit, what_is_no_block_is_in_the_share_of_the_first_device) {
    EXPECT_EQ(split_layers(Numbers(4, 10), 20, {1, 1}), (Devices{0, 1, 1, 1}));
    EXPECT_EQ(split_layers(Numbers(4, 10), 1000, {1, 1}), (Devices{1, 1, 1, 1}));
}

TEST(LayerSplit, what_the_first_device_has_too_much_is_not_taken_from_the_next_one) {
    EXPECT_EQ(split_layers(Numbers(4, 10), 1000, {1, 1, 1}), (Devices{1, 1, 2, 2}));
    EXPECT_EQ(split_layers(Numbers(4, 10), 1000, {0, 0, 0}), (Devices{1, 1, 2, 2}));
    EXPECT_EQ(split_layers(Numbers(6, 1000), 6000, {1000, 4000, 4000}), (Devices{1, 1, 1, 2, 2, 2}));
    const Devices devices = split_layers(Numbers(28, 440), 1100, {100, 1000, 12000});
    EXPECT_EQ(std::count(devices.begin(), devices.end(), 1u), 2);
    EXPECT_EQ(split_layers(Numbers(2, 10), 1000, {5, 0}), (Devices{0, 0}));
}

TEST(LayerSplit, a_device_without_room_gets_nothing) {
    EXPECT_EQ(split_layers(Numbers(3, 10), 0, {0, 5}), (Devices{1, 1, 1}));
    EXPECT_EQ(split_layers(Numbers(3, 10), 0, {5, 0}), (Devices{0, 0, 0}));
    EXPECT_EQ(split_layers(Numbers(2, 10), 0, {5, 0, 5}), (Devices{0, 2}));
    EXPECT_EQ(split_layers(Numbers(2, 10), 0, {0, 0}), (Devices{0, 1}));
    EXPECT_EQ(split_layers({}, 10, {1, 1}), Devices());
    EXPECT_EQ(split_layers(Numbers(2, 10), 0, {7}), (Devices{0, 0}));
}

TEST(LayerSplit, runs_are_in_order_and_no_device_is_more_than_a_block_beyond_its_share) {
    Numbers blocks;
    for (uint64_t i = 0; i < 57; ++i) blocks.push_back(kGiB + i * i % 7 * (kGiB / 4));
    const Numbers room = {24 * kGiB, 8 * kGiB, 0, 80 * kGiB};
    const uint64_t rest = 5 * kGiB, sum = std::accumulate(blocks.begin(), blocks.end(), rest);
    const Devices devices = split_layers(blocks, rest, room);
    EXPECT_TRUE(std::is_sorted(devices.begin(), devices.end()));
    for (size_t d = 0; d < room.size(); ++d) {
        double bytes = d == 0 ? double(rest) : 0.0;
        for (size_t i = 0; i < blocks.size(); ++i) bytes += devices[i] == d ? double(blocks[i]) : 0.0;
        EXPECT_NEAR(bytes, double(sum) * double(room[d]) / double(112 * kGiB), 2.5 * double(kGiB)) << d;
    }
}

} // namespace
} // namespace sd
