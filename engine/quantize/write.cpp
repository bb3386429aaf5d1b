#include "quantize/write.h"

#include "base/log.h"
#include "base/parallel.h"
#include "checkpoint/values/floats.h"
#include "quantize/bench.h"
#include "quantize/calibrate.h"
#include "quantize/source.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>

namespace sd {
namespace {

// Elements of a copy or rows of a layer.
struct Piece {
    int64_t item; // as in QuantizePlan::order
    int64_t begin, count;
};

class Writer {
  public:
    Writer(const Checkpoint & checkpoint, const QuantizePlan & plan, const WriteOptions & options,
           PartFile & out)
        : checkpoint_(checkpoint), plan_(plan), options_(options), out_(out) {
        for (const LayerPlan & layer : plan.layers) sources_.emplace_back(checkpoint, *layer.layer);
        for (const int64_t item : plan.order) add_pieces(item);
        results_.resize(pieces_.size());
        done_pieces_.resize(pieces_.size());
        for (const JournalEntry & entry : out.found()) take(entry);
    }

    std::vector<LayerResult> write(Calibrator * calibrator) {
        if (!out_.is_finished()) out_.write_at(0, plan_.start.data(), plan_.start.size());
        done_ += plan_.start.size();
        tell(options_.progress, "quantizing", done_, plan_.bytes);
        if (calibrator != nullptr) {
            write_pieces([](const Piece & piece) { return piece.item >= 0; }, nullptr);
            write_calibrated(*calibrator);
        }
        write_pieces([](const Piece &) { return true; }, nullptr);
        std::vector<LayerResult> layers(plan_.layers.size());
        for (size_t i = 0; i < pieces_.size(); ++i) {
            if (pieces_[i].item >= 0) continue;
            LayerResult & layer = layers[size_t(-1 - pieces_[i].item)];
            layer.sums.add(results_[i].sums);
            layer.nonfinite += results_[i].nonfinite;
            layer.outputs.add(results_[i].outputs);
        }
        return layers;
    }

  private:
    // What an earlier run has written.
    void take(const JournalEntry & entry) {
        const size_t i = entry.number;
        const bool layer = i < pieces_.size() && pieces_[i].item < 0;
        if (i >= pieces_.size() || entry.data.size() != (layer ? sizeof(LayerResult) : 0))
            throw Error({"E_JOURNAL",
                         out_.journal_path(),
                         {},
                         "is damaged",
                         "to begin anew, remove it and the .part beside it"});
        if (done_pieces_[i]) return;
        done_pieces_[i] = 1;
        done_ += bytes_of(pieces_[i]);
        if (layer) std::memcpy(&results_[i], entry.data.data(), sizeof(LayerResult));
    }

    static std::string text_of(const LayerResult & result) {
        static_assert(std::is_trivially_copyable_v<LayerResult> &&
                      sizeof(LayerResult) == 5 * sizeof(double) + sizeof(int64_t));
        return {reinterpret_cast<const char *>(&result), sizeof result};
    }

    // Those that are not done. factor: of the layers they belong to; NULL: without feedback.
    void write_pieces(const std::function<bool(const Piece &)> & which, const FeedbackFactor * factor) {
        in_parallel(int64_t(pieces_.size()), options_.threads, [&](int64_t i) {
            const Piece & piece = pieces_[size_t(i)];
            if (done_pieces_[size_t(i)] || !which(piece)) return;
            std::unique_ptr<Bench> bench = benches_.take();
            if (piece.item >= 0) {
                copy(piece, *bench);
            } else {
                encode(piece, factor, *bench, results_[size_t(i)]);
            }
            const uint64_t bytes = bytes_of(piece);
            benches_.give(std::move(bench));
            out_.done({uint32_t(i), piece.item >= 0 ? "" : text_of(results_[size_t(i)])}, bytes);
            done_pieces_[size_t(i)] = 1;
            const std::lock_guard lock(mutex_);
            done_ += bytes;
            tell(options_.progress, "quantizing", done_, plan_.bytes);
        });
    }

    // As long as the pipeline runs layers that are not done.
    void write_calibrated(Calibrator & calibrator) {
        std::set<size_t> open;
        for (size_t i = 0; i < pieces_.size(); ++i) {
            if (pieces_[i].item < 0 && !done_pieces_[i]) open.insert(size_t(-1 - pieces_[i].item));
        }
        while (!open.empty()) {
            const std::vector<size_t> numbers(open.begin(), open.end());
            std::vector<const ChosenLayer *> layers;
            for (const size_t i : numbers) layers.push_back(plan_.layers[i].layer);
            std::vector<MomentsOfLayers> found = calibrator.gather(layers);
            if (found.empty()) break;
            for (MomentsOfLayers & m : found) {
                std::set<int64_t> items;
                for (const size_t i : m.layers) {
                    items.insert(-1 - int64_t(numbers[i]));
                    open.erase(numbers[i]);
                }
                const FeedbackFactor factor = factor_for(*layers[m.layers[0]], m.moments);
                write_pieces([&](const Piece & piece) { return items.contains(piece.item); }, &factor);
            }
        }
        for (const size_t i : open)
            log_warn(plan_.layers[i].name +
                     ": is not run for these prompts, so it is quantized without calibration");
    }

    FeedbackFactor factor_for(const ChosenLayer & layer, SecondMoments & moments) const {
        try {
            return factor_of(std::move(moments), options_.threads);
        } catch (const Error & error) {
            if (error.parts().code != "E_CALIBRATION") throw;
            throw checkpoint_.error(*layer.weight, "E_CALIBRATION",
                                    "cannot be calibrated: " + error.parts().cause,
                                    "leave it as it is with --exclude, or use other prompts");
        }
    }

    // In the new file.
    uint64_t bytes_of(const Piece & piece) const {
        if (piece.item >= 0) return run_bytes(plan_.copies[size_t(piece.item)].source->type, piece.count);
        const LayerPlan & plan = plan_.layers[size_t(-1 - piece.item)];
        const ChosenLayer & l = *plan.layer;
        const bool w4a8 = l.format == LayerFormat::w4a8;
        const int64_t row =
            row_bytes(l.format, l.k) + int64_t(sizeof(float)) + (w4a8 ? l.k / kRelativeRun : 0);
        const uint64_t once = plan.bytes - uint64_t(l.n * row); // codebook and settings
        return uint64_t(piece.count * row) + (piece.begin == 0 ? once : 0);
    }

    void add_pieces(int64_t item) {
        int64_t all, each;
        if (item >= 0) {
            const CopyPlan & copy = plan_.copies[size_t(item)];
            all = copy.source->elements();
            each = copy_piece(copy);
        } else {
            all = plan_.layers[size_t(-1 - item)].layer->n;
            each = sources_[size_t(-1 - item)].piece_rows();
        }
        for (int64_t at = 0; at < all; at += each) pieces_.push_back({item, at, std::min(each, all - at)});
    }

    void copy(const Piece & piece, Bench & bench) const {
        const CopyPlan & plan = plan_.copies[size_t(piece.item)];
        const StoredType type = plan.source->type;
        const uint64_t before = run_bytes(type, piece.begin);
        bench.bytes.resize(run_bytes(type, piece.count));
        read_copy(checkpoint_, plan, piece.begin, piece.count, bench.rows, bench.bytes.data());
        out_.write_at(plan.offset + before, bench.bytes.data(), bench.bytes.size());
    }

    void encode(const Piece & piece, const FeedbackFactor * factor, Bench & bench, LayerResult & result) {
        const size_t number = size_t(-1 - piece.item);
        const LayerPlan & plan = plan_.layers[number];
        const ChosenLayer & layer = *plan.layer;
        bench.rows.resize(size_t(piece.count * layer.k));
        sources_[number].read(piece.begin, piece.count, bench.rows.data());
        const EncodeOptions options = {
            layer.format, layer.group, layer.k, layer.book, options_.allow_nonfinite, options_.scale_search};
        EncodedRows & encoded = bench.encoded;
        OutputSums outputs;
        try {
            if (factor != nullptr)
                outputs = bench.feedback.encode(options, *factor, bench.rows.data(), piece.count, encoded);
            else
                bench.encoder.encode(options, bench.rows.data(), piece.count, encoded);
        } catch (const BadRow & bad) {
            sources_[number].refuse(piece.begin, bad);
        }
        result = {encoded.sums, encoded.nonfinite, outputs};
        put(plan, piece, encoded);
    }

    void put(const LayerPlan & plan, const Piece & piece, const EncodedRows & encoded) const {
        const ChosenLayer & layer = *plan.layer;
        const auto write = [&](uint64_t offset, const void * data, size_t n) {
            out_.write_at(offset, data, n);
        };
        const auto row = uint64_t(piece.begin);
        write(plan.weight + row * uint64_t(row_bytes(layer.format, layer.k)), encoded.weight.data(),
              encoded.weight.size());
        write((layer.format == LayerFormat::w4a8 ? plan.channel : plan.scale) + row * sizeof(float),
              encoded.scale.data(), encoded.scale.size() * sizeof(float));
        if (layer.format == LayerFormat::w4a8)
            write(plan.relative + row * uint64_t(layer.k / kRelativeRun), encoded.relative.data(),
                  encoded.relative.size());
        if (piece.begin > 0) return;
        write(plan.marker, plan.settings.data(), plan.settings.size());
        if (layer.format == LayerFormat::w4a8) write(plan.codebook, layer.book.data(), sizeof layer.book);
    }

    const Checkpoint & checkpoint_;
    const QuantizePlan & plan_;
    const WriteOptions & options_;
    PartFile & out_;
    std::deque<LayerSource> sources_; // by layer; they do not move
    std::vector<Piece> pieces_;
    std::vector<LayerResult> results_; // by piece
    std::vector<char> done_pieces_;    // by an earlier run
    Benches benches_;
    std::mutex mutex_; // done_, and calls of progress
    uint64_t done_ = 0;
};

} // namespace

void in_parallel(int64_t count, int threads, const std::function<void(int64_t)> & work) {
    std::mutex mutex;
    std::atomic<int64_t> failed{count}; // the lowest so far
    std::exception_ptr failure;
    parallel_parts(count, {.threads = std::max(0, threads)}, [&](int64_t i) {
        // Lower ones are still done: one of them may fail, too.
        if (i > failed) return uint64_t(0);
        try {
            work(i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (i < failed) failed = i, failure = std::current_exception();
        }
        return uint64_t(0);
    });
    if (failure) std::rethrow_exception(failure);
}

void tell(const QuantizeProgress & progress, const char * what, uint64_t done, uint64_t total) {
    if (progress && !progress(what, done, total)) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
}

std::vector<LayerResult> write_quantized(const Checkpoint & checkpoint, const QuantizePlan & plan,
                                         const WriteOptions & options, PartFile & out,
                                         Calibrator * calibrator) {
    return Writer(checkpoint, plan, options, out).write(calibrator);
}

} // namespace sd
