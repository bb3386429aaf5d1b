#include "quantize/decide.h"

#include "base/log.h"
#include "quantize/identity.h"
#include "quantize/measure.h"

#include <algorithm>
#include <utility>

namespace sd {
namespace {

Error wrong(const char * cause, const char * advice) { return Error({"E_ARGUMENT", {}, {}, cause, advice}); }

// Of w4a8 layers whose format is settled: the levels with the smaller error.
void choose_codebooks(std::vector<ChosenLayer> & layers) {
    for (ChosenLayer & l : layers) {
        const Candidate * best = nullptr;
        for (const Candidate & c : l.candidates) {
            if (best == nullptr || c.sums.error < best->sums.error) best = &c;
        }
        if (best != nullptr) l.book = best->book;
        l.candidates.clear();
    }
}

} // namespace

MeasuredNotes::~MeasuredNotes() {
    if (journal_ != nullptr && !kept_) journal_->remove();
}

Journal & MeasuredNotes::open(const JournalIdentity & identity) {
    auto journal = std::make_unique<Journal>(path_, identity);
    if (journal->is_foreign()) throw *journal->problem();
    if (journal->problem()) {
        // Nothing is lost with it but time.
        if (!journal->is_new()) log_warn(std::string(journal->problem()->what()) + "; measuring begins anew");
        journal->restart();
    } else {
        log_info("going on with " + printable(path_, 400));
    }
    journal_ = std::move(journal);
    return *journal_;
}

void MeasuredNotes::keep() { kept_ = journal_ != nullptr && journal_->has_entries(); }

void check_budget(const QuantizeRequest & request) {
    const Budget & b = request.budget;
    const bool size = b.target_size > 0, error = b.max_error > 0;
    if (!(b.max_error >= 0)) throw wrong("--max-error: is below 0 or no number", "");
    if (request.selection.format != "auto") {
        if (size) throw wrong("--target-size is for formats that are chosen", "--format auto");
        if (error) throw wrong("--max-error is for formats that are chosen", "--format auto");
        return;
    }
    if (size && error) throw wrong("--target-size and --max-error exclude each other", "");
    if (!size && !error)
        throw wrong("--format auto needs a budget", "--target-size 7.5GiB or --max-error 0.03");
}

std::optional<Choice> decide_formats(const Checkpoint & checkpoint, const QuantModules & quants,
                                     const QuantizeRequest & request, Selection & selection,
                                     MeasuredNotes & notes) {
    const bool open = request.selection.format == "auto";
    if (!open && !request.scale_search) return std::nullopt;
    const WriteOptions options = options_of(request);
    // Layers that rules settle are not open, but may have levels of their own.
    std::vector<ChosenLayer> & layers = selection.layers;
    std::vector<size_t> settled;
    for (size_t i = 0; i < layers.size(); ++i) {
        if (!layers[i].candidates.empty()) continue;
        settled.push_back(i);
        if (request.scale_search && layers[i].format == LayerFormat::w4a8)
            layers[i].candidates = {{layers[i].format, layers[i].group}};
    }
    try {
        if (request.scale_search) add_codebooks(checkpoint, layers, options);
        const auto measured = [](const ChosenLayer & l) { return l.candidates.size() > 1; };
        if (std::any_of(layers.begin(), layers.end(), measured))
            measure(checkpoint, layers, options, &notes.open(identity_of(checkpoint, layers, request)));
    } catch (const Error & error) {
        if (error.parts().code == "E_CANCELLED") notes.keep();
        if (notes.kept().empty()) throw;
        throw Error({"E_CANCELLED",
                     request.output,
                     {},
                     "cancelled; what is measured is kept in " + printable(notes.kept(), 400),
                     "the same command goes on from there; to give it up, remove it"});
    }
    std::vector<ChosenLayer> fixed;
    for (const size_t i : settled) fixed.push_back(layers[i]);
    choose_codebooks(fixed);
    for (size_t i = 0; i < settled.size(); ++i) layers[settled[i]] = std::move(fixed[i]);
    if (!open) return std::nullopt;
    const auto has_choice = [](const ChosenLayer & l) { return !l.candidates.empty(); };
    if (std::none_of(layers.begin(), layers.end(), has_choice))
        throw wrong("--format auto: rules settle all layers", "name one of their formats");
    set_candidate_bytes(layers);
    return choose_formats(selection, request.budget, [&](const Selection & s) {
        return plan_quantization(checkpoint, quants, s, request.header_settings).bytes;
    });
}

} // namespace sd
