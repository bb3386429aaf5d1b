// How the blocks of a model are spread over several devices. Pure numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sd {

// Which device, by number, each block is on: runs of consecutive blocks in the order of the devices, their
// bytes in proportion to the room there. The first device also holds `rest`, which is a part of its share:
// where it is all of it or more, the others get all blocks.
// A device without room gets no block; where none has room, all get the same.
std::vector<size_t> split_layers(const std::vector<uint64_t> & blocks, uint64_t rest,
                                 const std::vector<uint64_t> & room);

} // namespace sd
