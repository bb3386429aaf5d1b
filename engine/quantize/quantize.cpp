#include "quantize/quantize.h"

#include "base/log.h"
#include "base/read_files.h"
#include "convert/checks.h"
#include "quantize/decide.h"
#include "quantize/identity.h"
#include "quantize/merge.h"
#include "quantize/verify.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>

namespace sd {
namespace {

using Clock = std::chrono::steady_clock;

void check_request(const Checkpoint & checkpoint, const QuantizeRequest & request) {
    std::string ending = std::filesystem::path(request.output).extension().string();
    for (char & c : ending) c = char(std::tolower(uint8_t(c)));
    if (ending != ".safetensors")
        throw Error({"E_ARGUMENT",
                     request.output,
                     {},
                     "layers in INT8 and INT4 formats are written to safetensors files",
                     "name the output *.safetensors"});
    refuse_input(checkpoint, request.output);
    for (const AdapterUse & use : request.adapters) {
        if (same_output(use.path, request.output))
            throw Error(
                {"E_ARGUMENT", request.output, {}, "is an adapter that is read", "choose another output"});
    }
    check_output(request.output, request.replace);
    check_budget(request);
    check_calibration(request.calibration);
    if (!(request.fail_above >= 0))
        throw Error({"E_ARGUMENT", {}, {}, "--fail-above: is below 0 or no number", {}});
}

Selection selected(const Checkpoint & checkpoint, const QuantModules & quants,
                   const QuantizeRequest & request) {
    Selection selection = select_layers(checkpoint, quants, request.selection);
    for (const std::string & warning : selection.warnings) log_warn(warning);
    if (selection.layers.empty())
        throw Error({"E_ARGUMENT",
                     checkpoint.files()[0].file.path(),
                     {},
                     "no layer of it is to be quantized",
                     "see --preset, --include, --exclude and --rules"});
    for (const std::string & preset : selection.presets) log_debug("preset for " + preset);
    return selection;
}

QuantizeReport start_report(const Checkpoint & checkpoint, const QuantizeRequest & request,
                            const Selection & selection) {
    QuantizeReport report;
    report.output = request.output;
    report.fail_above = request.fail_above;
    report.calibration_prompts = request.calibration.prompts.size();
    report.scale_search = request.scale_search;
    for (const OpenedFile & f : checkpoint.files()) report.inputs.emplace_back(f.file.path(), f.file.size());
    report.presets = selection.presets;
    report.warnings = selection.warnings;
    for (const KeptLayer & l : selection.kept)
        report.kept.push_back({l.name, type_name(l.weight->type), l.weight->shape, l.why});
    return report;
}

void add_layers(const QuantizePlan & plan, const std::vector<LayerResult> & results,
                QuantizeReport & report) {
    ErrorSums all;
    for (size_t i = 0; i < plan.layers.size(); ++i) {
        const LayerPlan & p = plan.layers[i];
        const ChosenLayer & l = *p.layer;
        report.layers.push_back({p.name, l.format, l.group, l.n, l.k, type_name(l.weight->type), l.why,
                                 results[i].sums.relative(), std::nullopt, results[i].nonfinite, bytes_of(l),
                                 p.bytes, l.book != kGaussianLevels});
        if (const OutputSums & o = results[i].outputs; o.size > 0)
            report.layers.back().outputs = {std::sqrt(o.error / o.size), std::sqrt(o.plain / o.size)};
        all.add(results[i].sums);
        if (results[i].nonfinite > 0)
            report.warnings.push_back(p.name + ": " + std::to_string(results[i].nonfinite) +
                                      " values that are not finite count as 0");
    }
    report.error = all.relative();
}

void judge(QuantizeReport & report) {
    if (report.fail_above == 0) return;
    const auto is_bad = [&](const QuantizedLayer & l) { return !(l.error <= report.fail_above); };
    const auto bad = std::count_if(report.layers.begin(), report.layers.end(), is_bad);
    if (bad == 0) return;
    const QuantizedLayer & worst = *report.worst(1)[0];
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "its error of %.4g is above --fail-above %.4g", worst.error,
                  report.fail_above);
    report.problem = Error({"E_QUALITY", report.output, worst.name + ".weight",
                            std::string(numbers) + ", as that of " + std::to_string(bad - 1) + " others",
                            "the file is written"});
}

// All but the last step. done: bytes of the file so far.
void write(const Checkpoint & checkpoint, const QuantizePlan & plan, const QuantizeRequest & request,
           PartFile & out, QuantizeReport & report, uint64_t & done) {
    const auto progress = [&](const char * what, uint64_t now, uint64_t total) {
        if (std::string_view(what) == "quantizing") done = now;
        return !request.progress || request.progress(what, now, total);
    };
    WriteOptions options = options_of(request);
    options.progress = progress;
    Calibrator calibrator(request.calibration, request.adapters, request.threads, progress);
    const bool calibrate = !request.calibration.prompts.empty();
    const std::vector<LayerResult> results =
        write_quantized(checkpoint, plan, options, out, calibrate ? &calibrator : nullptr);
    add_layers(plan, results, report);
    if (request.verify) {
        const std::vector<double> errors = verify_quantized(checkpoint, plan, results, options, out.path());
        for (size_t i = 0; i < errors.size(); ++i) report.layers[i].verified = errors[i];
    }
    tell(progress, "saving", 0, plan.bytes);
}

Error cancelled(const PartFile & out, const MeasuredNotes & notes, const std::string & output, uint64_t done,
                uint64_t all) {
    std::vector<std::string> files;
    if (out.is_kept()) files = {out.path(), out.journal_path()};
    if (!notes.kept().empty()) files.push_back(notes.kept());
    std::string names;
    for (size_t i = 0; i < files.size(); ++i)
        names += (i == 0 ? "" : i + 1 < files.size() ? ", " : " and ") + printable(files[i], 400);
    const std::string percent = std::to_string(int(100.0 * double(done) / double(all)));
    return Error({"E_CANCELLED",
                  output,
                  {},
                  "cancelled; " + (out.is_kept() ? percent + " % of it" : "what is measured") + " is kept",
                  "the same command goes on from there; to give it up, remove " + names});
}

} // namespace

WriteOptions options_of(const QuantizeRequest & request) {
    return {request.threads, request.allow_nonfinite, request.scale_search, request.progress};
}

QuantizeReport quantize(const Checkpoint & checkpoint, const QuantizeRequest & request) {
    const Clock::time_point begin = Clock::now();
    check_request(checkpoint, request);
    QuantOptions reading = request.quants;
    reading.has_operators = true; // nothing is run here
    const QuantModules quants = find_quant_modules(checkpoint, reading);
    log_warnings(checkpoint, quants);
    Selection selection = selected(checkpoint, quants, request);
    const MergedAdapters adapters(checkpoint, quants, request.adapters);
    adapters.attach(selection);
    MeasuredNotes notes(request.output);
    const std::optional<Choice> choice = decide_formats(checkpoint, quants, request, selection, notes);
    QuantizeReport report = start_report(checkpoint, request, selection);
    report.adapters = adapters.notes();
    QuantizePlan plan;
    try {
        plan = plan_quantization(checkpoint, quants, selection, request.header_settings);
    } catch (const Error & error) {
        throw error.parts().file.empty() ? error.in_file(request.output) : error;
    }
    adapters.attach(checkpoint, plan);
    PartFile out(request.output, request.replace, plan.bytes, identity_of(checkpoint, plan, request));
    if (!out.found().empty()) log_info("going on with " + out.path());
    uint64_t done = 0;
    try {
        write(checkpoint, plan, request, out, report, done);
    } catch (const Error & error) {
        if (error.parts().code != "E_CANCELLED") throw;
        out.keep();
        notes.keep();
        if (!out.is_kept() && notes.kept().empty()) throw;
        throw cancelled(out, notes, request.output, done, plan.bytes);
    }
    out.finish();
    if (request.progress) request.progress("saving", plan.bytes, plan.bytes);
    report.bytes = plan.bytes;
    report.choice = choice;
    report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    judge(report);
    return report;
}

} // namespace sd
