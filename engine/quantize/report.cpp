#include "quantize/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json layer_json(const QuantizedLayer & l) {
    Json out = {{"name", l.name}, {"format", layer_format_name(l.format)}};
    if (l.group > 1) out["group"] = l.group;
    out["shape"] = {l.n, l.k};
    out["from"] = l.from;
    out["why"] = l.why;
    out["error"] = number(l.error);
    if (l.verified) out["verified_error"] = number(*l.verified);
    if (l.outputs) {
        out["output_error"] = number(l.outputs->error);
        out["plain_output_error"] = number(l.outputs->plain);
    }
    if (l.own_levels) out["own_levels"] = true;
    if (l.nonfinite > 0) out["nonfinite"] = l.nonfinite;
    out["bytes_before"] = l.bytes_before;
    out["bytes"] = l.bytes_after;
    return out;
}

Json adapters_json(const std::vector<AdapterNote> & adapters) {
    Json out = Json::array();
    for (const AdapterNote & a : adapters)
        out.push_back({{"path", a.use.path},
                       {"strength", number(double(a.use.strength))},
                       {"changed", a.changed},
                       {"tensors", a.keys},
                       {"unmatched", a.unmatched}});
    return out;
}

Json choice_json(const Choice & choice) {
    Json layers = Json::array();
    for (const Choice::Layer & l : choice.layers) {
        Json candidates = Json::array();
        for (const Candidate & c : l.candidates) {
            Json one = {{"format", c.format ? layer_format_name(*c.format) : "keep"}};
            if (c.group > 1) one["group"] = c.group;
            if (c.book != kGaussianLevels) one["own_levels"] = true;
            one["error"] = number(c.sums.relative());
            one["bytes"] = c.bytes;
            candidates.push_back(std::move(one));
        }
        layers.push_back({{"name", l.name}, {"chosen", l.chosen}, {"candidates", candidates}});
    }
    Json out = Json::object();
    if (choice.budget.target_size > 0) out["target_size"] = choice.budget.target_size;
    if (choice.budget.max_error > 0) out["max_error"] = choice.budget.max_error;
    out["smallest"] = choice.smallest;
    out["error"] = number(choice.error);
    out["layers"] = std::move(layers);
    return out;
}

} // namespace

const std::vector<double> kErrorBins = {0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02,
                                        0.03,  0.04,  0.06,  0.08,  0.1,   0.12,  0.15,  0.2,  0.3,   0.5};

std::vector<size_t> histogram(const QuantizeReport & report) {
    std::vector<size_t> counts(kErrorBins.size() + 1);
    for (const QuantizedLayer & l : report.layers) {
        // What is no number belongs to the worst.
        const auto above =
            std::find_if(kErrorBins.begin(), kErrorBins.end(), [&](double limit) { return l.error < limit; });
        ++counts[size_t(above - kErrorBins.begin())];
    }
    return counts;
}

std::vector<const QuantizedLayer *> QuantizeReport::worst(size_t most) const {
    std::vector<const QuantizedLayer *> list;
    for (const QuantizedLayer & l : layers) list.push_back(&l);
    const auto size = [](double error) { return std::isnan(error) ? INFINITY : error; };
    std::stable_sort(list.begin(), list.end(), [&](const QuantizedLayer * a, const QuantizedLayer * b) {
        return size(a->error) > size(b->error);
    });
    list.resize(std::min(list.size(), most));
    return list;
}

std::string report_json(const QuantizeReport & report) {
    Json inputs = Json::array(), layers = Json::array(), kept = Json::array(), worst = Json::array();
    for (const auto & [path, bytes] : report.inputs) inputs.push_back({{"path", path}, {"bytes", bytes}});
    for (const QuantizedLayer & l : report.layers) layers.push_back(layer_json(l));
    for (const UnchangedLayer & l : report.kept)
        kept.push_back({{"name", l.name}, {"type", l.type}, {"shape", l.shape}, {"why", l.why}});
    for (const QuantizedLayer * l : report.worst(10)) worst.push_back(l->name);
    Json out = {{"schema", "sd.quantize.v1"},
                {"inputs", inputs},
                {"output", {{"path", report.output}, {"bytes", report.bytes}}},
                {"seconds", report.seconds},
                {"presets", report.presets},
                {"error", number(report.error)},
                {"histogram", {{"limits", kErrorBins}, {"counts", histogram(report)}}},
                {"worst", worst},
                {"layers", layers},
                {"kept", kept},
                {"warnings", report.warnings}};
    if (report.calibration_prompts > 0) out["calibration"] = {{"prompts", report.calibration_prompts}};
    if (report.scale_search) out["scale_search"] = true;
    if (!report.adapters.empty()) out["adapters"] = adapters_json(report.adapters);
    if (report.choice) out["choice"] = choice_json(*report.choice);
    if (report.fail_above > 0) out["fail_above"] = report.fail_above;
    if (report.problem) {
        const Error::Parts & p = report.problem->parts();
        out["problem"] = {{"code", p.code}, {"message", report.problem->what()}};
    }
    // Names from files need not be UTF-8.
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace sd
