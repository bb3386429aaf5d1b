#include "convert/pieces.h"

#include "base/parallel.h"
#include "checkpoint/values/dequantize.h"
#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

namespace sd {
namespace {

// Elements of a piece: a multiple of every block.
constexpr int64_t kPiece = int64_t(1) << 20;

// Each scaled layer's reader has the scales of all its rows, so only the one in use is kept. Pieces come in
// order; a thread that is late has its own.
class Dequantizers {
  public:
    explicit Dequantizers(const Checkpoint & checkpoint) : checkpoint_(checkpoint) {}

    std::shared_ptr<const Dequantizer> get(const QuantModule & module) {
        const std::lock_guard lock(mutex_);
        if (module_ != &module) {
            last_ = std::make_shared<const Dequantizer>(checkpoint_, module);
            module_ = &module;
        }
        return last_;
    }

  private:
    const Checkpoint & checkpoint_;
    std::mutex mutex_;
    const QuantModule * module_ = nullptr;
    std::shared_ptr<const Dequantizer> last_;
};

int64_t layer_row(const PlannedTensor & t) {
    return std::max<int64_t>(1, t.source->elements() / t.module->n);
}

// Elements of a piece of this tensor.
int64_t piece_elements(const PlannedTensor & t) {
    if (t.module != nullptr) return std::max<int64_t>(1, kPiece / layer_row(t)) * layer_row(t);
    // What a few rows with strides span can be everything: reading it for each piece would take forever.
    return t.source->strides.empty() ? kPiece : std::max<int64_t>(1, t.source->elements());
}

class Pieces {
  public:
    Pieces(const Checkpoint & checkpoint, const std::vector<PlannedTensor> & tensors)
        : checkpoint_(checkpoint), tensors_(tensors), dequantizers_(checkpoint) {
        for (const PlannedTensor & t : tensors) {
            first_.push_back(count_);
            const int64_t each = piece_elements(t), elements = t.source->elements();
            count_ += elements / each + (elements % each != 0 ? 1 : 0);
        }
    }

    int64_t count() const { return count_; }

    // The bytes of piece i. `last`: it ends its tensor.
    void read(int64_t i, std::vector<std::byte> & out, bool & last) {
        // Tensors without elements have no pieces and share their first number with the next one.
        const size_t at = size_t(std::upper_bound(first_.begin(), first_.end(), i) - first_.begin()) - 1;
        const PlannedTensor & t = tensors_[at];
        const int64_t begin = (i - first_[at]) * piece_elements(t);
        const int64_t n = std::min(piece_elements(t), t.source->elements() - begin);
        last = begin + n == t.source->elements();
        out.resize(run_bytes(t.type, n));
        if (t.module != nullptr) return dequantize(t, begin / layer_row(t), n / layer_row(t), out);
        TensorInfo piece = *t.source;
        if (piece.strides.empty()) {
            piece.shape = {n};
            piece.offset += run_bytes(piece.type, begin);
            piece.bytes = run_bytes(piece.type, n);
        }
        if (t.type == piece.type) return read_stored(checkpoint_, piece, {}, out.data(), {.threads = 1});
        read_values(checkpoint_, piece, ggml_type(t.type), {}, out.data(), {.threads = 1});
    }

  private:
    void dequantize(const PlannedTensor & t, int64_t row, int64_t rows, std::vector<std::byte> & out) {
        const std::shared_ptr<const Dequantizer> source = dequantizers_.get(*t.module);
        std::vector<float> floats(size_t(rows * source->row_length()));
        source->read(row, rows, floats.data());
        const std::string reason =
            from_floats(floats.data(), int64_t(floats.size()), ggml_type(t.type), out.data());
        if (!reason.empty()) throw checkpoint_.error(*t.source, "E_VALUE", reason);
    }

    const Checkpoint & checkpoint_;
    const std::vector<PlannedTensor> & tensors_;
    Dequantizers dequantizers_;
    std::vector<int64_t> first_; // piece of each tensor
    int64_t count_ = 0;
};

// Lets threads through in the order of their numbers. Numbers are given out in order, so the lowest one is
// never waiting.
class Turns {
  public:
    // Runs `work` when all lower numbers have; not at all when one of them failed.
    template <class Work>
    void in_turn(int64_t number, Work && work) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return next_ == number || failed_; });
        if (failed_) return;
        try {
            work();
        } catch (...) {
            failed_ = true;
            changed_.notify_all();
            throw;
        }
        ++next_;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int64_t next_ = 0;
    bool failed_ = false;
};

// Memory that pieces take turns in.
class Buffers {
  public:
    std::vector<std::byte> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return {};
        std::vector<std::byte> buffer = std::move(free_.back());
        free_.pop_back();
        return buffer;
    }
    void give(std::vector<std::byte> buffer) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(buffer));
    }

  private:
    std::mutex mutex_;
    std::vector<std::vector<std::byte>> free_;
};

void write_padding(OutputFile & out, uint64_t bytes) {
    static constexpr char kZeros[4096] = {};
    for (; bytes > sizeof kZeros; bytes -= sizeof kZeros) out.write(kZeros, sizeof kZeros);
    out.write(kZeros, size_t(bytes));
}

} // namespace

void write_pieces(const Checkpoint & checkpoint, const std::vector<PlannedTensor> & tensors,
                  const PiecesOptions & options, OutputFile & out) {
    Pieces pieces(checkpoint, tensors);
    Turns turns;
    Buffers buffers;
    uint64_t done = 0, total = 0;
    for (const PlannedTensor & t : tensors) total += t.bytes;
    const auto tell = [&] {
        if (options.progress && !options.progress("converting", done, total))
            throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
    };
    tell();
    const uint64_t start = out.written(); // a multiple of the alignment
    parallel_parts(pieces.count(), {.threads = options.threads}, [&](int64_t i) {
        std::vector<std::byte> bytes = buffers.take();
        bool last = false;
        std::exception_ptr failure;
        try {
            pieces.read(i, bytes, last);
        } catch (...) {
            failure = std::current_exception(); // told when it is this piece's turn
        }
        turns.in_turn(i, [&] {
            if (failure) std::rethrow_exception(failure);
            out.write(bytes.data(), bytes.size());
            const uint64_t over = (out.written() - start) % options.alignment;
            if (last && over != 0) write_padding(out, options.alignment - over);
            done += bytes.size();
            tell();
        });
        buffers.give(std::move(bytes));
        return uint64_t(0);
    });
}

} // namespace sd
