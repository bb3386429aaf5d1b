#include "runtime/alloc/block_allocator.h"

#include "runtime/base/math.h"

#include "ggml.h"

#include <algorithm>
#include <cstdint>

namespace ggml::alloc {
namespace {

// Half the address space: no sum of two offsets overflows.
constexpr size_t kMaxOffset = SIZE_MAX / 2;

} // namespace

BlockAllocator::BlockAllocator(size_t alignment, size_t max_chunk) : alignment_(alignment) {
    GGML_ASSERT(is_power_of_two(alignment));
    // Rounded down so that a chunk filled with aligned blocks stays within the limit.
    max_chunk_ = std::max(std::min(max_chunk, kMaxOffset) & ~(alignment - 1), alignment);
}

bool BlockAllocator::block_bytes(size_t bytes, size_t & rounded) const {
    return checked_align_up(std::max<size_t>(bytes, 1), alignment_, rounded) && rounded <= kMaxOffset;
}

// The smallest block between used ones that is large enough.
bool BlockAllocator::find_hole(size_t bytes, Choice & choice) const {
    size_t best = SIZE_MAX;
    for (size_t c = 0; c < chunks_.size(); ++c) {
        const std::vector<FreeBlock> & free = chunks_[c].free;
        for (size_t b = 0; b < free.size(); ++b) {
            const bool tail = b + 1 == free.size() && free[b].end() > chunks_[c].peak;
            if (tail || free[b].bytes < bytes || free[b].bytes >= best) continue;
            best = free[b].bytes;
            choice = {c, b};
        }
    }
    return best != SIZE_MAX;
}

// The open end that makes its chunk grow least; among those that do not grow, the tightest.
bool BlockAllocator::find_tail(size_t bytes, Choice & choice) const {
    bool found = false;
    size_t best_growth = 0, best_waste = 0;
    for (size_t c = 0; c < chunks_.size(); ++c) {
        const Chunk & chunk = chunks_[c];
        if (chunk.free.empty() || chunk.free.back().bytes < bytes) continue;
        const size_t end = chunk.free.back().offset + bytes;
        const size_t growth = end > chunk.peak ? end - chunk.peak : 0;
        const size_t waste = end < chunk.peak ? chunk.peak - end : 0;
        if (found && (growth > best_growth || (growth == best_growth && waste >= best_waste))) continue;
        found = true;
        best_growth = growth;
        best_waste = waste;
        choice = {c, chunk.free.size() - 1};
    }
    return found;
}

bool BlockAllocator::allocate(size_t bytes, BlockAddress & at) {
    if (!block_bytes(bytes, bytes)) return false;
    Choice choice;
    if (!find_hole(bytes, choice) && !find_tail(bytes, choice)) {
        choice = {chunks_.size(), 0};
        chunks_.push_back({{{0, std::max(bytes, max_chunk_)}}, 0});
    }
    Chunk & chunk = chunks_[choice.chunk];
    FreeBlock & block = chunk.free[choice.block];
    at = {int(choice.chunk), block.offset};
    block.offset += bytes;
    block.bytes -= bytes;
    chunk.peak = std::max(chunk.peak, block.offset);
    if (block.bytes == 0) chunk.free.erase(chunk.free.begin() + std::ptrdiff_t(choice.block));
    return true;
}

void BlockAllocator::release(BlockAddress at, size_t bytes) {
    if (!block_bytes(bytes, bytes)) GGML_ABORT("a block of %zu bytes was never allocated", bytes);
    std::vector<FreeBlock> & free = chunks_[size_t(at.chunk)].free;
    const FreeBlock block = {at.offset, bytes};
    auto next = std::lower_bound(free.begin(), free.end(), block.offset,
                                 [](const FreeBlock & b, size_t offset) { return b.offset < offset; });
    const bool joins_next = next != free.end() && block.end() == next->offset;
    const bool joins_previous = next != free.begin() && std::prev(next)->end() == block.offset;
    if (joins_previous && joins_next) {
        std::prev(next)->bytes += block.bytes + next->bytes;
        free.erase(next);
    } else if (joins_previous) {
        std::prev(next)->bytes += block.bytes;
    } else if (joins_next) {
        *next = {block.offset, block.bytes + next->bytes};
    } else {
        free.insert(next, block);
    }
}

std::vector<size_t> BlockAllocator::chunk_sizes() const {
    std::vector<size_t> sizes;
    for (const Chunk & chunk : chunks_) sizes.push_back(chunk.peak);
    return sizes;
}

} // namespace ggml::alloc
