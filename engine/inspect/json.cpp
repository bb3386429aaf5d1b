#include "inspect/report.h"

#include <nlohmann/json.hpp>

namespace sd {
namespace {

using Json = nlohmann::ordered_json;

Json rows(const std::vector<InspectReport::Row> & list, bool groups) {
    Json out = Json::array();
    for (const InspectReport::Row & row : list) {
        Json one = {{groups ? "format" : "type", row.format}};
        if (groups && row.group != 0) one["group"] = row.group;
        one["count"] = row.count;
        one["parameters"] = row.parameters;
        one["bytes"] = row.bytes;
        out.push_back(std::move(one));
    }
    return out;
}

Json model(const FoundModel & m) {
    Json sizes = Json::object();
    for (const auto & [name, value] : m.sizes) sizes[name] = value;
    return {{"family", m.family}, {"title", m.title}, {"role", role_name(m.role)}, {"runs", m.runs},
            {"prefix", m.prefix}, {"sizes", sizes},   {"missing", m.missing},      {"unused", m.unused}};
}

} // namespace

std::string inspect_json(const InspectReport & report) {
    Json files = Json::array(), models = Json::array(), layers = Json::array();
    for (const InspectReport::File & f : report.files) {
        Json file = {{"path", f.path}, {"container", f.container}, {"bytes", f.size}, {"tensors", f.tensors}};
        if (!f.architecture.empty()) file["architecture"] = f.architecture;
        files.push_back(std::move(file));
    }
    for (const FoundModel & m : report.models) models.push_back(model(m));
    for (const InspectedLayer & l : report.layers) {
        Json layer = {{"name", l.name}, {"format", l.format}, {"shape", l.shape}, {"bytes", l.bytes}};
        if (l.group != 0) layer["group"] = l.group;
        layers.push_back(std::move(layer));
    }
    Json out = {{"schema", "sd.inspect.v1"},
                {"files", files},
                {"parameters", report.parameters},
                {"bytes", report.bytes},
                {"models", models},
                {"formats", rows(report.formats, true)},
                {"types", rows(report.types, false)},
                {"layers", layers},
                {"warnings", report.warnings}};
    if (report.problem) {
        const Error::Parts & p = report.problem->parts();
        out["problem"] = {{"code", p.code}, {"tensor", p.tensor}, {"message", report.problem->what()}};
    }
    // Names from files need not be UTF-8.
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace sd
