#include "nn/load_tensors.h"

#include "ggml-backend.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace sd {
namespace {

// Large enough for a disk, small enough that what was just read is still in a core's cache when it goes on to
// a device.
constexpr uint64_t kPiece = uint64_t(1) << 20;

bool in_host_memory(const ggml_tensor * t) { return ggml_backend_buffer_is_host(t->buffer); }

// Parts of tensors that are copied as they are; large tensors are many.
struct Piece {
    const LoadJob * job;
    uint64_t begin, bytes;
};

std::vector<Piece> pieces_of(const std::vector<LoadJob> & jobs) {
    std::vector<Piece> pieces;
    for (const LoadJob & job : jobs) {
        if (job.same == nullptr) continue;
        for (uint64_t at = 0; at < job.same->bytes; at += kPiece) {
            pieces.push_back({&job, at, std::min(kPiece, job.same->bytes - at)});
        }
    }
    // In the order of the files: disks read ahead.
    std::sort(pieces.begin(), pieces.end(), [](const Piece & a, const Piece & b) {
        const TensorInfo &x = *a.job->same, &y = *b.job->same;
        return x.file != y.file ? x.file < y.file : x.offset + a.begin < y.offset + b.begin;
    });
    return pieces;
}

// Some cores copy at a third of their rate when the destination's place in its page is a little behind the
// source's, as every load then seems to hit a store that is still under way. The page cache has the file's
// own places. Reading beside, where both are alike, and copying once more is faster then.
bool just_behind(const std::byte * to, uint64_t offset) {
    constexpr uintptr_t kPage = 4096, kNear = 64;
    const uintptr_t apart = (reinterpret_cast<uintptr_t>(to) - offset) % kPage;
    return apart > 0 && apart < kNear;
}

class Copies {
  public:
    explicit Copies(const Checkpoint & checkpoint) : checkpoint_(checkpoint) {}

    void copy(const Piece & piece) {
        const TensorInfo & info = *piece.job->same;
        ggml_tensor * tensor = piece.job->tensor;
        const File & file = checkpoint_.file_of(info);
        const uint64_t offset = info.offset + piece.begin;
        const size_t bytes = size_t(piece.bytes);
        const bool host = in_host_memory(tensor);
        std::byte * const to = host ? static_cast<std::byte *>(tensor->data) + piece.begin : nullptr;
        if (host && !just_behind(to, offset)) {
            file.read(offset, to, bytes);
            return;
        }
        std::vector<std::byte> staging = take();
        std::byte * const at =
            staging.data() + (offset - reinterpret_cast<uintptr_t>(staging.data())) % kLine;
        file.read(offset, at, bytes);
        // Distinct ranges of a buffer may be written by several threads at once (ggml-backend.h).
        if (host)
            std::memcpy(to, at, bytes);
        else
            ggml_backend_tensor_set(tensor, at, size_t(piece.begin), bytes);
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(staging));
    }

  private:
    static constexpr uintptr_t kLine = 64;

    std::vector<std::byte> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return std::vector<std::byte>(size_t(kPiece + kLine));
        std::vector<std::byte> staging = std::move(free_.back());
        free_.pop_back();
        return staging;
    }

    const Checkpoint & checkpoint_;
    std::mutex mutex_; // of free_
    std::vector<std::vector<std::byte>> free_;
};

// All of a tensor that has to be computed.
void fill(const LoadJob & job, std::vector<std::byte> & staging, const ParallelOptions & options) {
    uint64_t left = ggml_nbytes(job.tensor);
    ParallelOptions counted = options;
    if (options.progress) {
        counted.progress = [&](uint64_t more) {
            more = std::min(more, left);
            left -= more;
            options.progress(more);
        };
    }
    if (in_host_memory(job.tensor)) {
        job.fill(job.tensor->data, counted);
    } else {
        staging.resize(ggml_nbytes(job.tensor));
        job.fill(staging.data(), counted);
        ggml_backend_tensor_set(job.tensor, staging.data(), 0, staging.size());
    }
    // Small ones do not tell.
    if (options.progress && left > 0) options.progress(left);
}

} // namespace

void load_tensors(const Checkpoint & checkpoint, const std::vector<LoadJob> & jobs,
                  const ParallelOptions & options) {
    const std::vector<Piece> pieces = pieces_of(jobs);
    Copies copies(checkpoint);
    parallel_parts(int64_t(pieces.size()), options, [&](int64_t i) {
        copies.copy(pieces[size_t(i)]);
        return pieces[size_t(i)].bytes;
    });
    std::vector<std::byte> staging;
    for (const LoadJob & job : jobs) {
        if (job.same == nullptr) fill(job, staging, options);
    }
}

} // namespace sd
