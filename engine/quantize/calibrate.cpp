#include "quantize/calibrate.h"

#include "base/log.h"
#include "pipeline/engine.h"
#include "pipeline/observe.h"
#include "quantize/row_kernels.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

namespace sd {
namespace {

constexpr int kSteps = 8, kSize = 512;
constexpr int64_t kRowsAtOnce = 512; // of activations

// Sees products with the weights of layers, and adds up what they read.
class Gatherer {
  public:
    Gatherer(const std::vector<const ChosenLayer *> & layers, uint64_t memory, int threads)
        : layers_(layers), memory_(memory), threads_(threads) {
        for (size_t i = 0; i < layers.size(); ++i) wanted_[layers[i]->name + ".weight"] = {i, kNew};
    }

    static bool look(ggml_tensor * node, bool ask, void * self) {
        auto & gatherer = *static_cast<Gatherer *>(self);
        try {
            if (ask) return gatherer.asks(node);
            gatherer.take(node);
            return true;
        } catch (...) {
            gatherer.failure_ = std::current_exception();
            return false;
        }
    }

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }
    std::vector<MomentsOfLayers> results() { return std::move(found_); }

  private:
    static constexpr int kNew = -1, kLater = -2;
    struct Wanted {
        size_t layer;
        int group; // of found_, or one of the above
    };

    // Layers next to each other that read the same node share what is gathered; the first one does it.
    bool asks(const ggml_tensor * node) {
        if (node->op != GGML_OP_MUL_MAT) return false;
        const auto found = wanted_.find(node->src[0]->name);
        if (found == wanted_.end()) return false;
        Wanted & w = found->second;
        const ChosenLayer & layer = *layers_[w.layer];
        const ggml_tensor * x = node->src[1];
        if (x->type != GGML_TYPE_F32 || x->ne[0] != layer.k || !ggml_is_contiguous(x)) return false;
        const bool same = x == last_ && last_group_ >= 0 &&
                          layers_[found_[size_t(last_group_)].layers[0]]->group == layer.group;
        if (w.group == kNew) w.group = same ? join(w.layer) : begin(w.layer);
        last_ = x;
        last_group_ = w.group;
        return w.group >= 0 && found_[size_t(w.group)].layers[0] == w.layer;
    }

    int join(size_t layer) {
        found_[size_t(last_group_)].layers.push_back(layer);
        return last_group_;
    }

    int begin(size_t layer) {
        const int64_t k = layers_[layer]->k;
        const uint64_t bytes = uint64_t(k) * uint64_t(k) * sizeof(float);
        if (!found_.empty() && (bytes > memory_ || used_ > memory_ - bytes)) return kLater;
        used_ += bytes;
        found_.push_back({{layer}, {k, 0, std::vector<float>(size_t(k * k))}});
        return int(found_.size()) - 1;
    }

    void take(const ggml_tensor * node) {
        const Wanted & w = wanted_.find(node->src[0]->name)->second;
        const ChosenLayer & layer = *layers_[w.layer];
        const ggml_tensor * x = node->src[1];
        const int64_t k = layer.k, rows = ggml_nrows(x);
        for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
            const int64_t count = std::min(kRowsAtOnce, rows - row);
            values_.resize(size_t(count * k));
            rotated_.resize(values_.size());
            ggml_backend_tensor_get(x, values_.data(), size_t(row * k) * sizeof(float),
                                    values_.size() * sizeof(float));
            for (int64_t i = 0; i < count; ++i)
                rotate_row(values_.data() + i * k, k, layer.group, rotated_.data() + i * k);
            add_moments(rotated_.data(), count, threads_, found_[size_t(w.group)].moments);
        }
    }

    const std::vector<const ChosenLayer *> & layers_;
    uint64_t memory_, used_ = 0;
    int threads_;
    std::map<std::string, Wanted, std::less<>> wanted_; // by the weight's name
    std::vector<MomentsOfLayers> found_;
    const ggml_tensor * last_ = nullptr; // that a layer read
    int last_group_ = kNew;
    std::vector<float> values_, rotated_;
    std::exception_ptr failure_;
};

Request picture_of(const CalibrationRequest & c, const Advice & advice, size_t prompt,
                   const std::vector<AdapterUse> & adapters) {
    Request r;
    r.prompt = c.prompts[prompt];
    r.adapters = adapters;
    r.width = c.width > 0 ? c.width : advice.width.value_or(kSize);
    r.height = c.height > 0 ? c.height : advice.height.value_or(kSize);
    r.steps = c.steps > 0 ? c.steps : advice.steps.value_or(kSteps);
    r.cfg_scale = c.cfg_scale.value_or(advice.cfg_scale.value_or(1.0f));
    r.flow_shift = advice.flow_shift.value_or(r.flow_shift);
    r.seed = c.seed + int64_t(prompt);
    return r;
}

} // namespace

void check_calibration(const CalibrationRequest & request) {
    if (request.prompts.empty()) return;
    if (request.memory == 0) throw Error({"E_ARGUMENT", {}, {}, "--calibrate-memory: is 0", {}});
}

Calibrator::Calibrator(const CalibrationRequest & request, const std::vector<AdapterUse> & adapters,
                       int threads, QuantizeProgress progress)
    : request_(request), adapters_(adapters), threads_(threads), progress_(std::move(progress)) {}

std::vector<MomentsOfLayers> Calibrator::gather(const std::vector<const ChosenLayer *> & layers) {
    Gatherer gatherer(layers, request_.memory, threads_);
    const Observation observation(Gatherer::look, &gatherer);
    EngineOptions options;
    options.files = request_.files;
    options.tokenizer = request_.tokenizer;
    options.threads = threads_;
    options.keep_loaded = true;
    Engine engine(options);
    const size_t prompts = request_.prompts.size();
    ++passes_;
    for (size_t i = 0; i < prompts; ++i) {
        tell(progress_, "calibrating", i, prompts);
        bool done = false, stopped = false;
        Callbacks callbacks;
        callbacks.progress = [&](const char * what, uint64_t step, uint64_t steps) {
            if (progress_ && !progress_("calibrating", i, prompts)) stopped = true;
            // The picture itself is not needed.
            done = done || (std::string_view(what) == "sampling" && step == steps);
            return !done && !stopped;
        };
        try {
            engine.generate(picture_of(request_, engine.advice(), i, adapters_), callbacks);
        } catch (const Error & error) {
            gatherer.rethrow();
            if (stopped || !done || error.parts().code != "E_CANCELLED") throw;
        }
    }
    tell(progress_, "calibrating", prompts, prompts);
    std::vector<MomentsOfLayers> found = gatherer.results();
    uint64_t bytes = 0;
    size_t count = 0;
    for (const MomentsOfLayers & m : found) {
        bytes += m.moments.h.size() * sizeof(float);
        count += m.layers.size();
    }
    log_info("calibration, pass " + std::to_string(passes_) + ": " + std::to_string(count) + " of " +
             std::to_string(layers.size()) + " layers, " + std::to_string(bytes >> 20) + " MiB of moments");
    return found;
}

} // namespace sd
