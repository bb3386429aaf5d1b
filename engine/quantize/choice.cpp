#include "quantize/choice.h"

#include "base/error.h"
#include "quantize/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace sd {
namespace {

// From one candidate of a layer to a larger one.
struct Step {
    size_t layer, to; // layer: among those with a choice
    uint64_t bytes;   // how many more
    double gain;      // how much less loss
    double rate() const { return gain / double(bytes); }
};

// A layer with its candidates that can be best for some price of a byte, smallest first.
struct Open {
    size_t index; // in the selection
    double share; // of all weights with a choice
    std::vector<size_t> hull;
    size_t at = 0; // in hull

    size_t chosen() const { return hull[at]; }
};

class Chooser {
  public:
    Chooser(Selection & selection, const Budget & budget) : selection_(selection), budget_(budget) {
        double weights = 0;
        for (const ChosenLayer & l : selection.layers) {
            if (!l.candidates.empty()) weights += double(l.n) * double(l.k);
        }
        for (size_t i = 0; i < selection.layers.size(); ++i) {
            const ChosenLayer & l = selection.layers[i];
            if (l.candidates.empty()) continue;
            open_.push_back({i, double(l.n) * double(l.k) / weights, {}, 0});
            find_hull(open_.back());
        }
        list_steps();
    }

    Choice choose(const std::function<uint64_t(const Selection &)> & size_of) {
        Choice choice;
        choice.budget = budget_;
        choice.smallest = size_of(applied());
        if (budget_.target_size > 0) {
            fit_size(choice.smallest, size_of);
        } else {
            fit_error();
        }
        choice.error = std::sqrt(loss());
        for (const Open & o : open_) {
            const ChosenLayer & l = selection_.layers[o.index];
            choice.layers.push_back({l.name, l.candidates, o.chosen()});
        }
        selection_ = applied();
        if (!selection_.layers.empty()) return choice;
        throw Error({"E_ARGUMENT",
                     {},
                     {},
                     budget_.target_size > 0 ? "--target-size: the model is not larger as it is"
                                             : "--max-error: no format comes so near to any layer",
                     {}});
    }

  private:
    const std::vector<Candidate> & candidates(const Open & o) const {
        return selection_.layers[o.index].candidates;
    }
    double loss_of(const Open & o, size_t candidate) const {
        const double error = candidates(o)[candidate].sums.relative();
        return o.share * error * error;
    }
    double loss() const {
        double sum = 0;
        for (const Open & o : open_) sum += loss_of(o, o.chosen());
        return sum;
    }

    // The lower convex hull of losses over bytes, from the smallest candidate down to the least loss.
    void find_hull(Open & o) const {
        const std::vector<Candidate> & all = candidates(o);
        std::vector<size_t> order;
        for (size_t i = 0; i < all.size(); ++i) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return std::pair(all[a].bytes, loss_of(o, a)) < std::pair(all[b].bytes, loss_of(o, b));
        });
        for (const size_t i : order) {
            if (!o.hull.empty() && !(loss_of(o, i) < loss_of(o, o.hull.back()))) continue;
            while (o.hull.size() > 1 &&
                   rate(o, o.hull[o.hull.size() - 2], o.hull.back()) <= rate(o, o.hull[o.hull.size() - 2], i))
                o.hull.pop_back();
            o.hull.push_back(i);
        }
    }
    double rate(const Open & o, size_t from, size_t to) const {
        return (loss_of(o, from) - loss_of(o, to)) /
               double(candidates(o)[to].bytes - candidates(o)[from].bytes);
    }

    // Best first; along a hull rates go down, so that a layer's steps stay in order.
    void list_steps() {
        for (size_t i = 0; i < open_.size(); ++i) {
            const Open & o = open_[i];
            for (size_t j = 1; j < o.hull.size(); ++j) {
                const size_t from = o.hull[j - 1], to = o.hull[j];
                steps_.push_back({i, j, candidates(o)[to].bytes - candidates(o)[from].bytes,
                                  loss_of(o, from) - loss_of(o, to)});
            }
        }
        std::stable_sort(steps_.begin(), steps_.end(),
                         [](const Step & a, const Step & b) { return a.rate() > b.rate(); });
    }

    // Layers with what is chosen, and those that stay among the kept.
    Selection applied() const {
        Selection out = selection_;
        out.layers.clear();
        size_t next = 0;
        for (size_t i = 0; i < selection_.layers.size(); ++i) {
            ChosenLayer layer = selection_.layers[i];
            if (next == open_.size() || open_[next].index != i) {
                out.layers.push_back(std::move(layer));
                continue;
            }
            const Candidate & c = layer.candidates[open_[next++].chosen()];
            if (!c.format) {
                out.kept.push_back({layer.name, layer.weight, "auto (" + layer.why + ")"});
                continue;
            }
            layer.format = *c.format;
            layer.group = c.group;
            layer.book = c.book;
            layer.why = "auto (" + layer.why + ")";
            layer.candidates.clear();
            out.layers.push_back(std::move(layer));
        }
        return out;
    }

    // The header's length depends on the choice, and is known when the file is planned; so what is beside the
    // layers counts with the most it has been so far, until the choice fits.
    void fit_size(uint64_t smallest, const std::function<uint64_t(const Selection &)> & size_of) {
        if (smallest > budget_.target_size) refuse_size(smallest);
        for (Open & o : open_) o.at = o.hull.size() - 1;
        if (size_of(applied()) <= budget_.target_size) return;
        for (Open & o : open_) o.at = 0;
        uint64_t beside = smallest - chosen_bytes();
        for (;;) {
            for (Open & o : open_) o.at = 0;
            // With less than the smallest everywhere there is nothing left to choose.
            uint64_t left = budget_.target_size - std::min(budget_.target_size, beside + chosen_bytes());
            for (const Step & s : steps_) {
                Open & o = open_[s.layer];
                if (o.at + 1 != s.to || s.bytes > left) continue;
                o.at = s.to;
                left -= s.bytes;
            }
            const uint64_t size = size_of(applied());
            if (size <= budget_.target_size) return;
            beside = std::max(beside + 1, size - chosen_bytes());
        }
    }
    uint64_t chosen_bytes() const {
        uint64_t sum = 0;
        for (const Open & o : open_) sum += candidates(o)[o.chosen()].bytes;
        return sum;
    }
    [[noreturn]] void refuse_size(uint64_t smallest) const {
        char text[160];
        std::snprintf(
            text, sizeof text,
            "--target-size: %llu bytes cannot be reached; the smallest file has %llu bytes (%.3f GiB)",
            static_cast<unsigned long long>(budget_.target_size), static_cast<unsigned long long>(smallest),
            double(smallest) / double(1 << 30));
        throw Error({"E_ARGUMENT", {}, {}, text, "a rule or --include can take more layers"});
    }

    void fit_error() {
        const double most = budget_.max_error * budget_.max_error;
        double now = loss();
        size_t made = 0;
        while (made < steps_.size() && now > most) {
            const Step & s = steps_[made++];
            open_[s.layer].at = s.to;
            now = loss();
        }
        // The last step may have been a large one.
        while (made > 0) {
            const Step & s = steps_[--made];
            Open & o = open_[s.layer];
            if (o.at != s.to) continue;
            --o.at;
            if (!(loss() <= most)) ++o.at;
        }
    }

    Selection & selection_;
    const Budget budget_;
    std::vector<Open> open_;
    std::vector<Step> steps_;
};

} // namespace

void set_candidate_bytes(std::vector<ChosenLayer> & layers) {
    for (ChosenLayer & l : layers) {
        for (Candidate & c : l.candidates)
            c.bytes = c.format ? layer_bytes(*c.format, c.group, l.n, l.k) : bytes_of(l);
    }
}

Choice choose_formats(Selection & selection, const Budget & budget,
                      const std::function<uint64_t(const Selection &)> & size_of) {
    return Chooser(selection, budget).choose(size_of);
}

} // namespace sd
