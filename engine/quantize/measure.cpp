#include "quantize/measure.h"

#include "quantize/bench.h"
#include "quantize/done_notes.h"
#include "quantize/source.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace sd {
namespace {

// Rows of a layer.
struct Piece {
    size_t layer;
    int64_t begin, count;
};

// Reads layers piece by piece.
class LayerPass {
  public:
    LayerPass(const Checkpoint & checkpoint, const std::vector<const ChosenLayer *> & layers,
              const WriteOptions & options, const char * phase)
        : layers_(layers), options_(options), phase_(phase) {
        for (size_t i = 0; i < layers.size(); ++i) {
            const ChosenLayer & l = *layers[i];
            sources_.emplace_back(checkpoint, l);
            const int64_t each = sources_.back().piece_rows();
            for (int64_t at = 0; at < l.n; at += each) pieces_.push_back({i, at, std::min(each, l.n - at)});
            total_ += l.weight->bytes;
        }
    }

    const std::vector<Piece> & pieces() const { return pieces_; }
    LayerSource & source(const Piece & piece) { return sources_[piece.layer]; }

    // work(i, bench): the rows of piece i are in bench.rows. Not for pieces that are done.
    void run(const std::function<bool(size_t)> & is_done, const std::function<void(size_t, Bench &)> & work) {
        tell(options_.progress, phase_, 0, total_);
        in_parallel(int64_t(pieces_.size()), options_.threads, [&](int64_t i) {
            const Piece & piece = pieces_[size_t(i)];
            const ChosenLayer & l = *layers_[piece.layer];
            if (is_done(size_t(i))) return count(piece);
            std::unique_ptr<Bench> bench = benches_.take();
            bench->rows.resize(size_t(piece.count * l.k));
            sources_[piece.layer].read(piece.begin, piece.count, bench->rows.data());
            work(size_t(i), *bench);
            benches_.give(std::move(bench));
            count(piece);
        });
        tell(options_.progress, phase_, total_, total_);
    }

  private:
    void count(const Piece & piece) {
        const ChosenLayer & l = *layers_[piece.layer];
        const std::lock_guard lock(mutex_);
        done_ += uint64_t(double(l.weight->bytes) * double(piece.count) / double(l.n));
        tell(options_.progress, phase_, std::min(done_, total_), total_);
    }

    const std::vector<const ChosenLayer *> layers_;
    const WriteOptions & options_;
    const char * phase_;
    std::deque<LayerSource> sources_; // they do not move
    std::vector<Piece> pieces_;
    Benches benches_;
    std::mutex mutex_;
    uint64_t done_ = 0, total_ = 0;
};

// The w4a8 that a layer is, or could be; NULL: neither.
const Candidate * w4a8_of(const ChosenLayer & layer) {
    for (const Candidate & c : layer.candidates) {
        if (c.format == LayerFormat::w4a8) return &c;
    }
    return nullptr;
}

void count(const ChosenLayer & layer, int group, int64_t rows, Bench & bench, RunHistogram & histogram) {
    std::vector<float> rotated(static_cast<size_t>(layer.k));
    for (int64_t row = 0; row < rows; ++row) {
        const uint32_t most = rotate_row(bench.rows.data() + row * layer.k, layer.k, group, rotated.data());
        // Rows that are not finite are another's business.
        if (most < 0x7f800000u) histogram.add(rotated.data(), layer.k);
    }
}

// Of all candidates of a piece.
std::vector<ErrorSums> errors_of(const ChosenLayer & layer, const Piece & piece, const WriteOptions & options,
                                 const LayerSource & source, Bench & bench) {
    std::vector<ErrorSums> sums;
    for (const Candidate & c : layer.candidates) {
        sums.push_back({});
        if (!c.format) continue;
        const EncodeOptions how = {*c.format,           c.group, layer.k, c.book, options.allow_nonfinite,
                                   options.scale_search};
        try {
            bench.encoder.encode(how, bench.rows.data(), piece.count, bench.encoded);
        } catch (const BadRow & bad) {
            source.refuse(piece.begin, bad);
        }
        sums.back() = bench.encoded.sums;
    }
    return sums;
}

std::string text_of(const std::vector<ErrorSums> & sums) {
    return {reinterpret_cast<const char *>(sums.data()), sums.size() * sizeof sums[0]};
}

std::vector<ErrorSums> sums_of(const std::string & text) {
    std::vector<ErrorSums> sums(text.size() / sizeof(ErrorSums));
    if (!sums.empty()) std::memcpy(sums.data(), text.data(), sums.size() * sizeof sums[0]);
    return sums;
}

} // namespace

void add_codebooks(const Checkpoint & checkpoint, std::vector<ChosenLayer> & layers,
                   const WriteOptions & options) {
    std::vector<ChosenLayer *> found;
    for (ChosenLayer & l : layers) {
        if (w4a8_of(l) != nullptr) found.push_back(&l);
    }
    if (found.empty()) return;
    std::vector<RunHistogram> histograms(found.size());
    std::mutex mutex;
    LayerPass pass(checkpoint, {found.begin(), found.end()}, options, "looking for levels");
    pass.run([](size_t) { return false; },
             [&](size_t i, Bench & bench) {
                 const Piece & piece = pass.pieces()[i];
                 const ChosenLayer & l = *found[piece.layer];
                 RunHistogram histogram;
                 count(l, w4a8_of(l)->group, piece.count, bench, histogram);
                 const std::lock_guard lock(mutex);
                 histograms[piece.layer].add(histogram);
             });
    for (size_t i = 0; i < found.size(); ++i) {
        if (!histograms[i].is_heavy_tailed()) continue;
        Candidate other = *w4a8_of(*found[i]);
        other.book = histograms[i].fitted();
        found[i]->candidates.push_back(other);
    }
}

void measure(const Checkpoint & checkpoint, std::vector<ChosenLayer> & layers, const WriteOptions & options,
             Journal * notes) {
    std::vector<ChosenLayer *> found;
    for (ChosenLayer & l : layers) {
        if (l.candidates.size() > 1) found.push_back(&l);
    }
    if (found.empty()) return;
    LayerPass pass(checkpoint, {found.begin(), found.end()}, options, "measuring");
    const std::vector<Piece> & pieces = pass.pieces();
    std::vector<std::vector<ErrorSums>> sums(pieces.size());
    std::optional<DoneNotes> done;
    if (notes != nullptr) {
        done.emplace(*notes, [] {}); // there are no other data
        for (const JournalEntry & entry : notes->entries()) {
            if (entry.number < pieces.size()) sums[entry.number] = sums_of(entry.data);
        }
    }
    const auto is_done = [&](size_t i) {
        return sums[i].size() == found[pieces[i].layer]->candidates.size();
    };
    const auto work = [&](size_t i, Bench & bench) {
        sums[i] = errors_of(*found[pieces[i].layer], pieces[i], options, pass.source(pieces[i]), bench);
        if (done) done->add({uint32_t(i), text_of(sums[i])}, 0);
    };
    try {
        pass.run(is_done, work);
    } catch (...) {
        if (done) done->flush(); // for another try
        throw;
    }
    if (done) done->flush();
    for (size_t i = 0; i < sums.size(); ++i) {
        std::vector<Candidate> & candidates = found[pieces[i].layer]->candidates;
        for (size_t c = 0; c < candidates.size(); ++c) candidates[c].sums.add(sums[i][c]);
    }
}

} // namespace sd
