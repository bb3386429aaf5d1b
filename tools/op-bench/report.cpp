#include "tools/op-bench/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace op_bench {
namespace {

using Json = nlohmann::ordered_json;

__attribute__((format(printf, 1, 2))) std::string format(const char * text, ...) {
    char line[512];
    va_list args;
    va_start(args, text);
    std::vsnprintf(line, sizeof(line), text, args);
    va_end(args);
    return line;
}

std::string mark(const Row & row) { return row.name + (row.chosen ? " *" : ""); }

std::string note(const Row & row) {
    std::string text = row.verdict;
    if (row.verified && text.empty()) text = "equals the reference";
    if (row.samples.seconds.size() == 1) text += text.empty() ? "1 run" : ", 1 run";
    return text;
}

std::string figures(const Result & result, const Row & row, int width) {
    const std::string name = mark(row);
    if (!row.refusal.empty()) return format("  %-*s  not here: ", width, name.c_str()) + row.refusal + "\n";
    if (row.samples.seconds.empty())
        return format("  %-*s  not timed ", width, name.c_str()) + note(row) + "\n";
    const double seconds = row.samples.median();
    std::string line = format("  %-*s %11.4f %9.1f %8.2f %7.1f %-9s", width, name.c_str(), seconds * 1e3,
                              result.work.operations / seconds / 1e9, result.bytes / seconds / 1e9,
                              100 * result.least_seconds() / seconds, result.bound());
    line += note(row);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string heading(const Result & result) {
    const Plan & plan = result.plan;
    std::string text = plan.op->op + (plan.shape.empty() ? "" : "  " + plan.shape);
    if (plan.count > 1) text += format("  %d times", plan.count);
    if (plan.fused > 0) text += format(", %d of them fused there", plan.fused);
    return text + "\n  " + inputs_text(plan.spec) + "\n";
}

std::string ceilings(const Result & result) {
    const Work & work = result.work;
    std::string text = format("  %.4g GOP, %.4g MB; ceilings:", work.operations / 1e9, result.bytes / 1e6);
    if (result.peak > 0)
        text += format(" %s %.1f GOP/s,", work.arithmetic == Arithmetic::int8_dot ? "int8 dot" : "fma",
                       result.peak / 1e9);
    return text + format(" reading %.2f GB/s\n", result.reading / 1e9);
}

Json row_json(const Result & result, const Row & row) {
    Json json = {{"name", row.name}, {"chosen", row.chosen}};
    if (!row.refusal.empty()) json["refusal"] = row.refusal;
    if (row.verified) json["verified"] = row.verdict.empty() ? "equals the reference" : row.verdict;
    if (row.samples.seconds.empty()) return json;
    const double seconds = row.samples.median();
    json["runs"] = row.samples.seconds.size();
    json["seconds"] = seconds;
    json["operations_per_second"] = result.work.operations / seconds;
    json["bytes_per_second"] = result.bytes / seconds;
    json["of_ceiling"] = result.least_seconds() / seconds;
    return json;
}

Json case_json(const Result & result) {
    Json json = {{"op", result.plan.op->op},
                 {"shape", result.plan.shape},
                 {"inputs", inputs_text(result.plan.spec)},
                 {"count", result.plan.count},
                 {"fused", result.plan.fused}};
    if (!result.failure.empty()) json["failure"] = result.failure;
    if (result.bytes > 0) {
        json["operations"] = result.work.operations;
        json["bytes"] = result.bytes;
        json["ceiling"] = {{"bound", result.bound()},
                           {"operations_per_second", result.peak},
                           {"bytes_per_second", result.reading}};
    }
    json["implementations"] = Json::array();
    for (const Row & row : result.rows) json["implementations"].push_back(row_json(result, row));
    return json;
}

} // namespace

std::string case_text(const Result & result) {
    std::string text = heading(result);
    if (!result.failure.empty()) return text + "  not measured: " + result.failure + "\n\n";
    size_t width = std::string("implementation").size();
    for (const Row & row : result.rows) width = std::max(width, mark(row).size());
    if (result.bytes > 0) text += ceilings(result);
    text += format("  %-*s %11s %9s %8s %17s\n", int(width), "implementation", "ms", "GOP/s", "GB/s",
                   "% of ceiling");
    for (const Row & row : result.rows) text += figures(result, row, int(width));
    return text + "\n";
}

std::string document_text(const std::vector<Result> & results, const std::vector<LeftOut> & left_out) {
    const StepTime total = step_time(results);
    std::string text = format("One graph: %.3f ms in %d nodes", total.seconds * 1e3, total.nodes);
    if (total.fused > 0)
        text += format(", each alone; %d of them are fused, so that it may take less", total.fused);
    text += "\n";
    for (const Result & result : results) {
        if (!result.failure.empty())
            text += format("Not in it: %d %s: ", result.plan.count, result.plan.op->op.c_str()) +
                    result.failure + "\n";
    }
    for (const LeftOut & item : left_out)
        text += format("Not in it: %d ", item.count) + item.op + ": " + item.reason + "\n";
    return text;
}

std::string list_text(int n_threads) {
    const ggml_backend_ptr cpu = open_cpu(n_threads);
    std::string text;
    for (const OpCase & c : all_cases()) {
        const Shape initial = Shape::parse("", c.params);
        text += c.op + ": " + c.help + "\n  " + initial.text(c.params) + "\n";
        for (const Param & p : c.params) {
            if (p.choices.empty()) continue;
            text += "  " + p.name + ":";
            for (const std::string & choice : p.choices) text += " " + choice;
            text += "\n";
        }
        for (const Implementation & i : implementations_of(cpu.get(), c, c.from_shape(initial))) {
            text += "    " + i.name + (i.chosen ? " *" : "") +
                    (i.refusal.empty() ? "" : "  not here: " + i.refusal) + "\n";
        }
    }
    return text;
}

std::string json_text(const std::vector<Result> & results, const Plans & plans, const Settings & settings) {
    Json json = {{"version", 1}, {"threads", settings.n_threads}};
    json["cases"] = Json::array();
    for (const Result & result : results) json["cases"].push_back(case_json(result));
    json["left_out"] = Json::array();
    for (const LeftOut & item : plans.left_out)
        json["left_out"].push_back({{"op", item.op}, {"reason", item.reason}, {"count", item.count}});
    if (!settings.explain_file.empty()) json["step_seconds"] = step_time(results).seconds;
    // Words of refusals can be cut within a character.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace op_bench
