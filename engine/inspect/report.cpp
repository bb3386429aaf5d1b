#include "inspect/report.h"

#include "gguf.h"
#include "inspect/parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sd {
namespace {

std::string architecture(const Container & container) {
    const gguf_context * pairs = container.pairs.get();
    const int64_t id = pairs != nullptr ? gguf_find_key(pairs, "general.architecture") : -1;
    return id >= 0 && gguf_get_kv_type(pairs, id) == GGUF_TYPE_STRING ? gguf_get_val_str(pairs, id) : "";
}

uint64_t bytes_of(const QuantModule & m) {
    uint64_t bytes = m.weight->bytes;
    for (const TensorInfo * t : {m.scale, m.relative, m.channel, m.codebook}) {
        if (t != nullptr) bytes += t->bytes;
    }
    return bytes;
}

std::string without_weight(const std::string & name) {
    constexpr std::string_view kEnd = ".weight";
    return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : name;
}

bool is_layer(const TensorInfo & t) { return t.shape.size() >= 2 && t.name.ends_with(".weight"); }

// Sums by (format, group).
class Rows {
  public:
    void add(const std::string & format, int group, int64_t parameters, uint64_t bytes) {
        InspectReport::Row & row = rows_[{format, group}];
        row.format = format;
        row.group = group;
        ++row.count;
        row.parameters += parameters;
        row.bytes += bytes;
    }
    std::vector<InspectReport::Row> sorted() const {
        std::vector<InspectReport::Row> out;
        for (const auto & [key, row] : rows_) out.push_back(row);
        std::stable_sort(out.begin(), out.end(),
                         [](const auto & a, const auto & b) { return a.bytes > b.bytes; });
        return out;
    }

  private:
    std::map<std::pair<std::string, int>, InspectReport::Row> rows_;
};

void add_layers(const Checkpoint & checkpoint, const QuantModules & quants, InspectReport & report) {
    const std::set<const TensorInfo *> companions(quants.consumed.begin(), quants.consumed.end());
    std::map<const TensorInfo *, const QuantModule *> quantized;
    for (const QuantModule & m : quants.modules) quantized[m.weight] = &m;

    Rows formats, types;
    for (const TensorInfo & t : checkpoint.tensors()) {
        types.add(type_name(t.type), 0, t.elements(), t.bytes);
        report.bytes += t.bytes;
        if (companions.count(&t) != 0) continue;
        const auto found = quantized.find(&t);
        const QuantModule * m = found != quantized.end() ? found->second : nullptr;
        const bool packed = m != nullptr && m->use != QuantUse::convolution;
        const int64_t parameters = packed ? m->n * m->k : t.elements();
        report.parameters += parameters;
        if (m == nullptr && !is_layer(t)) continue;
        InspectedLayer layer = {without_weight(t.name), type_name(t.type), 0, t.shape, t.bytes};
        if (m != nullptr) {
            const bool rotates =
                m->format != QuantFormat::float8_e4m3fn && m->format != QuantFormat::float8_e5m2;
            layer.format = quant_format_name(m->format);
            layer.group = rotates ? m->group : 0;
            layer.bytes = bytes_of(*m);
            if (packed) layer.shape = {m->n, m->k};
        }
        formats.add(layer.format, layer.group, parameters, layer.bytes);
        report.layers.push_back(std::move(layer));
    }
    report.formats = formats.sorted();
    report.types = types.sorted();
}

Error incomplete(const InspectReport & report, const FoundModel & m) {
    const std::string count =
        std::to_string(m.missing.size()) + (m.missing.size() == 1 ? " tensor of " : " tensors of ");
    return Error({"E_TENSOR_MISSING",
                  report.files.size() == 1 ? report.files.front().path : std::string(),
                  {},
                  count + title_and_role(m) +
                      (m.missing.size() == 1 ? " is missing: " : " are missing, as ") + m.missing.front(),
                  "the file is incomplete"});
}

// Nothing when at least one model of the files is one this program runs, and none of those lacks anything.
std::optional<Error> not_run(const InspectReport & report) {
    bool any = false;
    for (const FoundModel & m : report.models) {
        if (m.runs && !m.missing.empty()) return incomplete(report, m);
        any = any || m.runs;
    }
    if (any) return std::nullopt;
    const std::string known = "it runs Krea 2, Qwen3-VL text encoders and the Wan 2.1 VAE";
    const std::string & path = report.files.front().path;
    if (report.models.empty())
        return Error({"E_MODEL", path, {}, "holds no model this program knows", known});
    const FoundModel & m = report.models.front();
    if (m.role == ModelRole::adapter)
        return Error({"E_MODEL",
                      path,
                      {},
                      "holds " + title_and_role(m) + ", which is no model",
                      "<lora:NAME:STRENGTH> in a prompt uses it"});
    return Error(
        {"E_MODEL", path, {}, "holds " + title_and_role(m) + ", which this program does not run", known});
}

} // namespace

InspectReport inspect(const Checkpoint & checkpoint, const QuantOptions & options) {
    InspectReport report = {};
    std::vector<size_t> tensors(checkpoint.files().size());
    for (const TensorInfo & t : checkpoint.tensors()) ++tensors[size_t(t.file)];
    for (size_t i = 0; i < checkpoint.files().size(); ++i) {
        const OpenedFile & f = checkpoint.files()[i];
        report.files.push_back({f.file.path(), container_name(f.container.kind), f.file.size(), tensors[i],
                                architecture(f.container)});
        for (const std::string & warning : f.container.warnings) {
            report.warnings.push_back(f.file.path() + ": " + warning);
        }
    }
    // A file that can't be run is what people most want to know about, so its Error is a part of the report.
    QuantModules quants;
    try {
        quants = find_quant_modules(checkpoint, options);
    } catch (const Error & error) {
        report.problem = error;
    }
    report.warnings.insert(report.warnings.end(), quants.warnings.begin(), quants.warnings.end());
    add_layers(checkpoint, quants, report);
    try {
        report.models = find_models(checkpoint, quants);
        const std::optional<Error> wrong = wrong_part(checkpoint, options, report.models);
        if (!report.problem) report.problem = wrong ? wrong : not_run(report);
    } catch (const Error & error) {
        if (!report.problem) report.problem = error;
    }
    return report;
}

} // namespace sd
