#include "runtime/base/json.h"
#include "runtime/ext/report/report.h"

namespace ggml::ext {
namespace {

constexpr const char * kKinds[] = {"native", "kernel", "fusion"};

void write_refusal(JsonWriter & json, const ReportRefusal & refusal) {
    json.begin('{');
    json.field("who", refusal.who);
    if (!refusal.backend.empty()) json.field("backend", refusal.backend);
    json.field("reason", ggml_ext_reason_name(refusal.reason));
    json.field("message", refusal.words);
    json.end('}');
}

void write_refusal_if_any(JsonWriter & json, const char * key, const ReportRefusal & refusal) {
    if (refusal.reason == GGML_EXT_REASON_NONE) return;
    json.key(key);
    write_refusal(json, refusal);
}

template <class Items, class Write>
void write_list(JsonWriter & json, const char * key, const Items & items, Write && write) {
    json.key(key).begin('[');
    for (const auto & item : items) write(json, item);
    json.end(']');
}

void write_text(JsonWriter & json, const std::string & text) { json.value(text); }

template <class T>
void write_number(JsonWriter & json, T number) {
    json.value(number);
}

void write_input(JsonWriter & json, const ReportInput & input) {
    if (input.type.empty()) return json.null();
    json.begin('{');
    json.field("type", input.type);
    write_list(json, "ne", input.ne, write_number<int64_t>);
    write_list(json, "nb", input.nb, write_number<size_t>);
    json.end('}');
}

void write_node(JsonWriter & json, const ReportNode & node) {
    json.begin('{');
    json.field("node", node.number);
    json.field("name", node.name);
    json.field("op", node.op);
    json.field("result", node.result);
    json.field("kind", kKinds[size_t(node.kind)]);
    if (!node.by.empty()) json.field("by", node.by);
    write_list(json, "inputs", node.inputs, write_input);
    json.field("attrs", node.attrs);
    write_list(json, "rejected", node.rejected, write_refusal);
    write_list(json, "elsewhere", node.elsewhere, write_refusal);
    json.end('}');
}

void write_split(JsonWriter & json, const ReportSplit & split) {
    json.begin('{');
    json.field("backend", split.backend);
    json.field("device", split.device);
    json.field("first", split.first);
    json.field("nodes_count", split.n_nodes);
    write_list(json, "copied", split.copied, write_text);
    json.field("workspace_bytes", split.workspace_bytes);
    if (!split.workspace_step.empty()) json.field("workspace_step", split.workspace_step);
    write_refusal_if_any(json, "failure", split.failure);
    write_list(json, "nodes", split.nodes, write_node);
    json.end('}');
}

void write_rule(JsonWriter & json, const ReportRule & rule) {
    json.begin('{');
    json.field("backend", rule.backend);
    json.field("rule", rule.name);
    json.field("fired", rule.fired);
    json.field("longest", rule.longest);
    if (rule.at >= 0) {
        json.field("node", rule.at);
        json.field("name", rule.node);
    }
    write_refusal_if_any(json, "miss", rule.miss);
    json.end('}');
}

void write_memory(JsonWriter & json, const ReportMemory & memory) {
    json.begin('{');
    json.field("backend", memory.backend);
    json.field("tensor_bytes", memory.tensor_bytes);
    json.field("workspace_bytes", memory.workspace_bytes);
    json.field("tensor_bytes_unfused", memory.tensor_bytes_unfused);
    json.end('}');
}

void write_replay(JsonWriter & json, const ReportReplay & replay) {
    json.begin('{');
    json.field("split", replay.split);
    json.field("backend", replay.backend);
    json.field("replayed", replay.miss.reason == GGML_EXT_REASON_NONE);
    write_refusal_if_any(json, "miss", replay.miss);
    json.end('}');
}

void write_totals(JsonWriter & json, const Report & report) {
    json.key("fusion").begin('{');
    json.field("left_out", report.n_left_out);
    json.field("left_out_bytes", report.left_out_bytes);
    json.field("peak_bytes_saved", peak_bytes_saved(report));
    json.end('}');
    json.key("replay").begin('{');
    json.field("executions", report.executions);
    write_list(json, "splits", report.replays, write_replay);
    json.end('}');
}

} // namespace

size_t peak_bytes_saved(const Report & report) {
    size_t with = 0, without = 0;
    for (const ReportMemory & memory : report.memory) {
        with += memory.tensor_bytes;
        without += memory.tensor_bytes_unfused;
    }
    return without > with ? without - with : 0;
}

std::string to_json(const Report & report) {
    JsonWriter json;
    json.begin('{');
    json.field("version", 1);
    json.key("graph").begin('{');
    json.field("nodes", report.n_nodes);
    json.field("leafs", report.n_leafs);
    json.field("copies", report.n_copies);
    json.end('}');
    write_list(json, "splits", report.splits, write_split);
    write_list(json, "rules", report.rules, write_rule);
    write_list(json, "memory", report.memory, write_memory);
    write_totals(json, report);
    write_list(json, "notices", report.notices, write_text);
    json.end('}');
    return json.take();
}

} // namespace ggml::ext
