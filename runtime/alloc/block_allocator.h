// Where blocks of bytes lie inside memory that does not exist yet. Promise: blocks that are allocated at the
// same time never overlap; offsets and sizes are multiples of the alignment; a request that cannot be
// numbered is refused. Memory comes in chunks because a buffer type may limit the size of one buffer.
#pragma once

#include <cstddef>
#include <vector>

namespace ggml::alloc {

struct BlockAddress {
    int chunk = -1;
    size_t offset = 0;
};

class BlockAllocator {
  public:
    // alignment: power of two. A chunk grows up to max_chunk, further only for a single larger block.
    BlockAllocator(size_t alignment, size_t max_chunk);

    // Bytes a request takes: rounded up, and one unit for nothing, so that every block has its own address.
    // False when that overflows.
    [[nodiscard]] bool block_bytes(size_t bytes, size_t & rounded) const;

    [[nodiscard]] bool allocate(size_t bytes, BlockAddress & at);

    // Gives back [at, at + bytes), which must lie in allocated blocks. It may be the tail of one.
    void release(BlockAddress at, size_t bytes);

    // Chunks used so far and the most bytes ever used at once in each: the sizes of the buffers to make.
    std::vector<size_t> chunk_sizes() const;

  private:
    struct FreeBlock {
        size_t offset, bytes;
        size_t end() const { return offset + bytes; }
    };
    struct Chunk {
        std::vector<FreeBlock>
            free; // by offset, never adjacent. The last one is open-ended up to the capacity
        size_t peak = 0;
    };
    struct Choice {
        size_t chunk, block;
    };

    bool find_hole(size_t bytes, Choice & choice) const;
    bool find_tail(size_t bytes, Choice & choice) const;

    size_t alignment_;
    size_t max_chunk_;
    std::vector<Chunk> chunks_;
};

} // namespace ggml::alloc
