#include "inspect/report.h"

#include "base/size_text.h"
#include "inspect/parts.h"

#include <algorithm>
#include <cstdio>

namespace sd {
namespace {

// "12.82 billion"
std::string count_text(int64_t count) {
    char text[32];
    if (count >= 1000000000)
        std::snprintf(text, sizeof(text), "%.2f billion", double(count) / 1e9);
    else if (count >= 1000000)
        std::snprintf(text, sizeof(text), "%.2f million", double(count) / 1e6);
    else
        std::snprintf(text, sizeof(text), "%lld", static_cast<long long>(count));
    return text;
}

std::string format_text(const std::string & format, int group) {
    if (group == 0) return format;
    return format + (group == 1 ? ", not rotated" : ", rotated by " + std::to_string(group));
}

void pad(std::string & line, size_t width) {
    if (line.size() < width) line.append(width - line.size(), ' ');
}

void add_rows(std::string & out, const char * title, const char * counted,
              const std::vector<InspectReport::Row> & rows) {
    if (rows.empty()) return;
    const auto line = [&](std::string name, const std::string & count, const std::string & parameters,
                          const std::string & size) {
        name = "  " + name;
        pad(name, 40);
        name += count;
        pad(name, 50);
        name += parameters;
        pad(name, 66);
        out += name + size + "\n";
    };
    out += "\n";
    line(title, counted, "parameters", "size");
    for (const InspectReport::Row & row : rows) {
        line(format_text(row.format, row.group), std::to_string(row.count), count_text(row.parameters),
             size_text(row.bytes));
    }
}

// The first few names of a list, and how many there are.
void add_names(std::string & out, const char * what, const std::vector<std::string> & names) {
    if (names.empty()) return;
    constexpr size_t kNamed = 4;
    out += "  " + std::string(what) + " " + std::to_string(names.size()) +
           (names.size() == 1 ? " tensor: " : " tensors: ");
    for (size_t i = 0; i < std::min(kNamed, names.size()); ++i) {
        out += (i > 0 ? ", " : "") + printable(names[i]);
    }
    out += names.size() > kNamed ? ", ...\n" : "\n";
}

void add_model(std::string & out, const FoundModel & model) {
    out.append("\n").append(title_and_role(model));
    if (!model.prefix.empty()) out += ", under " + model.prefix;
    if (!model.runs) out += " (this program does not run it)";
    out += "\n";
    std::string sizes;
    for (const auto & [name, value] : model.sizes)
        sizes += (sizes.empty() ? "  " : "; ") + name + " " + value;
    if (!sizes.empty()) out += sizes + "\n";
    add_names(out, "missing", model.missing);
    add_names(out, "unused", model.unused);
}

} // namespace

std::string inspect_text(const InspectReport & report, bool all_layers) {
    std::string out;
    for (const InspectReport::File & file : report.files) {
        out += printable(file.path, 400) + ": " + file.container + ", " + size_text(file.size) + ", " +
               std::to_string(file.tensors) + (file.tensors == 1 ? " tensor" : " tensors");
        if (!file.architecture.empty()) out += ", architecture " + printable(file.architecture);
        out += "\n";
    }
    out += count_text(report.parameters) + " parameters in " + size_text(report.bytes) + "\n";
    if (report.models.empty()) out += "\nNo model this program knows.\n";
    for (const FoundModel & model : report.models) add_model(out, model);
    const std::string runs = report.problem ? "" : what_runs(report.models);
    if (!runs.empty()) out += "\n" + runs + "\n";
    add_rows(out, "layers", "count", report.formats);
    add_rows(out, "tensors as stored", "count", report.types);
    if (all_layers && !report.layers.empty()) out += "\n";
    for (const InspectedLayer & layer : report.layers) {
        if (!all_layers) break;
        std::string line = "  " + format_text(layer.format, layer.group);
        pad(line, 40);
        line += shape_text(layer.shape);
        pad(line, 66);
        out += line + printable(layer.name) + "\n";
    }
    if (!report.warnings.empty()) out += "\n";
    for (const std::string & warning : report.warnings) out += "warning: " + printable(warning, 600) + "\n";
    return out;
}

} // namespace sd
