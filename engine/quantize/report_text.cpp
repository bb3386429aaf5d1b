#include "base/size_text.h"
#include "quantize/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>

namespace sd {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char * how, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, how);
    std::vsnprintf(text, sizeof text, how, arguments);
    va_end(arguments);
    return text;
}

std::string percent(double ratio) { return format("%.3f %%", 100 * ratio); }

std::string format_text(LayerFormat format, int group) {
    std::string text = layer_format_name(format);
    if (group > 1) text += ", group " + std::to_string(group);
    return text;
}

std::string sizes(const QuantizeReport & report) {
    uint64_t before = 0;
    for (const auto & [path, bytes] : report.inputs) before += bytes;
    std::string text =
        printable(report.output, 400) + ": " + size_text(report.bytes) + " from " + size_text(before);
    if (before > 0) text += format(" (%.1f %%)", 100 * double(report.bytes) / double(before));
    if (report.seconds > 0)
        text +=
            format(" in %.1f s, reading %.0f MB/s", report.seconds, double(before) / 1e6 / report.seconds);
    return text + "\n";
}

std::string adapters(const QuantizeReport & report) {
    std::string text;
    for (const AdapterNote & a : report.adapters) {
        text += "merged " + printable(a.use.path, 400) +
                format(" with the strength %g: %zu tensors changed", double(a.use.strength), a.changed);
        if (!a.unmatched.empty())
            text += format(", %zu of its %zu match nothing", a.unmatched.size(), a.keys);
        text += "\n";
    }
    return text;
}

struct Group {
    size_t layers = 0;
    uint64_t before = 0, after = 0;
    std::vector<double> errors;
};

std::string formats(const QuantizeReport & report) {
    std::map<std::pair<LayerFormat, int>, Group> groups;
    for (const QuantizedLayer & l : report.layers) {
        Group & g = groups[{l.format, l.group}];
        ++g.layers;
        g.before += l.bytes_before;
        g.after += l.bytes_after;
        g.errors.push_back(l.error);
    }
    std::string text = "\nquantized                  layers     before      after   error: least    median"
                       "     worst\n";
    for (auto & [key, g] : groups) {
        std::sort(g.errors.begin(), g.errors.end());
        text += format("  %-24s %6zu %10s %10s     %9s %9s %9s\n", format_text(key.first, key.second).c_str(),
                       g.layers, size_text(g.before).c_str(), size_text(g.after).c_str(),
                       percent(g.errors.front()).c_str(), percent(g.errors[g.errors.size() / 2]).c_str(),
                       percent(g.errors.back()).c_str());
    }
    text += "  all weights as one: " + percent(report.error) + "\n";
    const auto own = std::count_if(report.layers.begin(), report.layers.end(),
                                   [](const QuantizedLayer & l) { return l.own_levels; });
    if (report.scale_search)
        text += format("  scales are searched; %zu layers have levels of their own\n", size_t(own));
    return text;
}

// Outputs of layers, with calibration and without.
std::string calibration(const QuantizeReport & report) {
    if (report.calibration_prompts == 0) return {};
    std::vector<double> with, without;
    for (const QuantizedLayer & l : report.layers) {
        if (!l.outputs) continue;
        with.push_back(l.outputs->error);
        without.push_back(l.outputs->plain);
    }
    std::string text = format("\ncalibrated with %zu prompts: %zu of %zu layers\n",
                              report.calibration_prompts, with.size(), report.layers.size());
    if (with.empty()) return text;
    const auto row = [](const char * name, std::vector<double> & errors) {
        std::sort(errors.begin(), errors.end());
        return format("  %-40s %9s %9s %9s\n", name, percent(errors.front()).c_str(),
                      percent(errors[errors.size() / 2]).c_str(), percent(errors.back()).c_str());
    };
    return text + format("  %-40s %9s %9s %9s\n", "error of outputs:", "least", "median", "worst") +
           row("with calibration", with) + row("without", without);
}

// What was asked of the choice, and what came of it.
std::string choice(const QuantizeReport & report) {
    if (!report.choice) return {};
    const Choice & c = *report.choice;
    std::string text = "\nchosen ";
    text += c.budget.target_size > 0
                ? format("for at most %llu bytes; ", static_cast<unsigned long long>(c.budget.target_size))
                : format("for an error of at most %s; ", percent(c.budget.max_error).c_str());
    text += format("the error of layers with a choice is %s (root of the mean square by size), the smallest "
                   "file would have %s\n",
                   percent(c.error).c_str(), size_text(c.smallest).c_str());
    return text;
}

std::string kept(const QuantizeReport & report) {
    std::map<std::string, std::pair<size_t, std::string>> reasons;
    for (const UnchangedLayer & l : report.kept) {
        auto & [count, example] = reasons[l.why];
        if (count++ == 0) example = l.name;
    }
    std::string text = reasons.empty() ? "" : "\nas it was                  layers\n";
    for (const auto & [why, found] : reasons)
        text += format("  %-24s %6zu  ", printable(why, 100).c_str(), found.first) + printable(found.second) +
                (found.first > 1 ? ", ...\n" : "\n");
    return text;
}

std::string worst(const QuantizeReport & report) {
    std::string text = "\nlargest errors\n";
    for (const QuantizedLayer * l : report.worst(10))
        text += format("  %9s  %-24s ", percent(l->error).c_str(), format_text(l->format, l->group).c_str()) +
                printable(l->name) +
                (l->outputs ? "  (outputs: " + percent(l->outputs->error) + ", without calibration " +
                                  percent(l->outputs->plain) + ")"
                            : "") +
                "\n";
    return text;
}

std::string bins(const QuantizeReport & report) {
    constexpr size_t kWidth = 40;
    const std::vector<size_t> counts = histogram(report);
    const auto some = [](size_t n) { return n > 0; };
    const auto begin = std::find_if(counts.begin(), counts.end(), some);
    const auto end = std::find_if(counts.rbegin(), counts.rend(), some).base();
    const size_t most = *std::max_element(counts.begin(), counts.end());
    std::string text = "\nlayers by error\n";
    for (auto it = begin; it < end; ++it) {
        const size_t i = size_t(it - counts.begin());
        const std::string limit = i < kErrorBins.size() ? format("below %4.1f %%", 100 * kErrorBins[i])
                                                        : format("from  %4.1f %%", 100 * kErrorBins.back());
        text += format("  %s %6zu  ", limit.c_str(), *it) + std::string(*it * kWidth / most, '=') + "\n";
    }
    return text;
}

} // namespace

std::string report_text(const QuantizeReport & report) {
    std::string text = sizes(report);
    for (const std::string & preset : report.presets) text += "preset for " + printable(preset) + "\n";
    text += adapters(report) + formats(report) + calibration(report) + choice(report) + kept(report) +
            worst(report) + bins(report);
    const auto verified = [](const QuantizedLayer & l) { return l.verified.has_value(); };
    if (std::any_of(report.layers.begin(), report.layers.end(), verified))
        text += "\nverified: the file was read again, and holds what this report says\n";
    return text;
}

} // namespace sd
