#include "convert/convert.h"

#include "base/log.h"
#include "base/output_file.h"
#include "base/size_text.h"
#include "checkpoint/comfy_quant/formats.h"
#include "checkpoint/safetensors/writer.h"
#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"
#include "convert/checks.h"
#include "convert/gguf_start.h"
#include "convert/metadata.h"
#include "convert/pieces.h"
#include "convert/plan.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

namespace sd {
namespace {

namespace fs = std::filesystem;

// Readers of GGUF files that are built with the usual limit refuse names of this many bytes.
constexpr size_t kLongName = 64;

ContainerKind kind_of(const std::string & output) {
    std::string ending = fs::path(output).extension().string();
    for (char & c : ending) c = char(std::tolower(uint8_t(c)));
    if (ending == ".safetensors") return ContainerKind::safetensors;
    if (ending == ".gguf") return ContainerKind::gguf;
    throw Error({"E_ARGUMENT",
                 output,
                 {},
                 "its ending does not say what to write",
                 "name the output *.safetensors or *.gguf"});
}

TypeRules rules_of(const ConvertRequest & request) {
    if (quant_format(request.type) || request.type.find("convrot") != std::string::npos)
        throw Error(
            {"E_ARGUMENT",
             {},
             {},
             "--type " + printable(request.type, 40) +
                 ": a layer format and no type; converting keeps layers in such formats and makes none",
             "-M quantize makes them"});
    return TypeRules::parse(request.type, request.rules);
}

void report_long_names(const std::vector<PlannedTensor> & tensors) {
    const auto is_long = [](const PlannedTensor & t) { return t.name.size() >= kLongName; };
    const auto first = std::find_if(tensors.begin(), tensors.end(), is_long);
    if (first == tensors.end()) return;
    const auto count = std::count_if(tensors.begin(), tensors.end(), is_long);
    log_warn("some readers of GGUF files refuse names of 64 bytes or more: " + std::to_string(count) +
             (count == 1 ? " tensor has one, " : " tensors have one, the first is ") +
             printable(first->name));
}

void report_result(const std::string & output, uint64_t bytes, const std::vector<PlannedTensor> & tensors) {
    std::map<std::string, size_t> types;
    for (const PlannedTensor & t : tensors) ++types[type_name(t.type)];
    std::string line = output + ": " + size_text(bytes) + ", " + std::to_string(tensors.size()) + " tensors";
    for (const auto & [name, count] : types)
        line += (name == types.begin()->first ? ": " : ", ") + std::to_string(count) + " " + name;
    log_info(line);
}

// Everything before the data, and how many bytes of data there will be.
std::string start_of(const Checkpoint & checkpoint, const QuantModules & quants, const ConvertPlan & plan,
                     ContainerKind kind, uint64_t & alignment, uint64_t & data_bytes) {
    if (kind == ContainerKind::safetensors) {
        std::vector<TensorDeclaration> declarations;
        for (const PlannedTensor & t : plan.tensors)
            declarations.push_back({t.name, t.type, t.source->shape});
        alignment = 1;
        return safetensors_start(declarations, safetensors_metadata(checkpoint, plan), data_bytes);
    }
    report_long_names(plan.tensors);
    GgufPairs pairs = gguf_pairs(checkpoint, quants, plan);
    alignment = pairs.alignment();
    return gguf_start(plan.tensors, pairs, data_bytes);
}

// Which tensors a type is not for is decided by their names, and seldom what people have in mind.
void report_kept(const ConvertPlan & plan, const ConvertRequest & request) {
    if (request.type.empty()) return;
    const StoredType type = stored_type(weight_type(request.type));
    const auto kept = [&](const PlannedTensor & t) {
        return t.module == nullptr && t.type == t.source->type && is_float(t.type) && t.type != type;
    };
    const auto count = std::count_if(plan.tensors.begin(), plan.tensors.end(), kept);
    if (count == 0) return;
    const auto first = std::find_if(plan.tensors.begin(), plan.tensors.end(), kept);
    log_info(std::to_string(count) + " of them keep their type, as " + printable(first->name, 60) +
             ": --type leaves biases, scales and some sensitive layers alone");
}

// A type that was asked for and that no tensor gets is a mistake, mostly of which file it is for.
void report_no_change(const std::vector<PlannedTensor> & tensors, const ConvertRequest & request) {
    if (request.type.empty() && request.rules.empty()) return;
    const auto changes = [](const PlannedTensor & t) {
        return t.module != nullptr || t.type != t.source->type;
    };
    if (std::any_of(tensors.begin(), tensors.end(), changes)) return;
    log_warn(
        (request.type.empty() ? "--tensor-type-rules" : "--type " + request.type) +
        " changes no tensor: all that it is for have that type already, and layers in INT8 and INT4 formats "
        "stay as they are");
}

} // namespace

void convert(const Checkpoint & checkpoint, const ConvertRequest & request) {
    const ContainerKind kind = kind_of(request.output);
    const TypeRules rules = rules_of(request);
    refuse_input(checkpoint, request.output);
    const QuantModules quants = find_quant_modules(checkpoint, request.quants);
    log_warnings(checkpoint, quants);
    const ConvertPlan plan = plan_conversion(checkpoint, quants, rules, request.type, kind);
    report_no_change(plan.tensors, request);
    uint64_t alignment = 1, data_bytes = 0;
    std::string start;
    try {
        start = start_of(checkpoint, quants, plan, kind, alignment, data_bytes);
    } catch (const Error & error) {
        throw error.parts().file.empty() ? error.in_file(request.output) : error;
    }
    OutputFile out(request.output);
    out.reserve(start.size() + data_bytes);
    out.write(start.data(), start.size());
    write_pieces(checkpoint, plan.tensors, {alignment, std::max(0, request.threads), request.progress}, out);
    if (request.progress && !request.progress("saving", 0, data_bytes))
        throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
    out.finish();
    if (request.progress) request.progress("saving", data_bytes, data_bytes);
    report_result(request.output, out.written(), plan.tensors);
    report_kept(plan, request);
}

} // namespace sd
