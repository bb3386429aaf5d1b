#include "runtime/base/text.h"
#include "runtime/ext/report/report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ggml::ext {
namespace {

constexpr size_t kWidth = 100;
constexpr const char * kKinds[] = {"native", "kernel", "fusion"};

class Page {
  public:
    // Words of the text, broken between them; what follows a break begins in column `hang`.
    void paragraph(size_t indent, size_t hang, std::string_view text) {
        text_.append(indent, ' ');
        size_t column = indent;
        for (bool first = true; !text.empty(); first = false) {
            const std::string_view word = text.substr(0, text.find(' '));
            if (!first && column + 1 + word.size() > kWidth) {
                text_.append("\n").append(hang, ' ');
                column = hang;
            } else if (!first) {
                text_ += ' ';
                ++column;
            }
            text_ += word;
            column += word.size();
            text.remove_prefix(std::min(text.size(), word.size() + 1));
        }
        text_ += '\n';
    }
    GGML_ATTRIBUTE_FORMAT(2, 3)
    void line(const char * format, ...) {
        va_list args;
        va_start(args, format);
        text_ += format_text(format, args);
        va_end(args);
        text_ += '\n';
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

std::string words_of(const ReportRefusal & refusal) {
    return std::string(ggml_ext_reason_name(refusal.reason)) + ": " + refusal.words;
}

void write_refusals(Page & page, const char * prefix, const std::vector<ReportRefusal> & refusals) {
    for (const ReportRefusal & refusal : refusals) {
        std::string text = prefix;
        if (!refusal.backend.empty()) text += " on " + refusal.backend;
        if (!refusal.who.empty()) text += (refusal.backend.empty() ? " " : ", ") + refusal.who;
        page.paragraph(12, 16, text + ": " + words_of(refusal));
    }
}

size_t widest(const ReportSplit & split, std::string ReportNode::*column) {
    size_t width = 0;
    for (const ReportNode & node : split.nodes) width = std::max(width, (node.*column).size());
    return std::min<size_t>(width, 28); // a few long names do not push everything to the right
}

void write_split(Page & page, const Report & report, size_t number) {
    const ReportSplit & split = report.splits[number];
    page.line("\nsplit %zu on %s (%s): %d nodes from number %d on", number, split.backend.c_str(),
              split.device.c_str(), split.n_nodes, split.first);
    if (split.workspace_bytes > 0) {
        page.line("    workspace %zu bytes, for %s", split.workspace_bytes, split.workspace_step.c_str());
    }
    std::string copied = "copied here first:";
    for (const std::string & name : split.copied) copied += " '" + name + "'";
    if (!split.copied.empty()) page.paragraph(4, 8, copied);
    if (split.failure.reason != GGML_EXT_REASON_NONE) {
        page.paragraph(4, 8, "cannot be prepared: " + words_of(split.failure));
    }
    const int op = int(widest(split, &ReportNode::op)), name = int(widest(split, &ReportNode::name));
    for (const ReportNode & node : split.nodes) {
        page.line("%8d  %-*s  %-*s  %s%s%s", node.number, op, node.op.c_str(), name, node.name.c_str(),
                  kKinds[size_t(node.kind)], node.by.empty() ? "" : "  ", node.by.c_str());
        write_refusals(page, "not", node.rejected);
        write_refusals(page, "not", node.elsewhere);
    }
}

void write_rules(Page & page, const Report & report) {
    if (report.rules.empty()) return;
    page.line("\nfusion rules");
    for (const ReportRule & rule : report.rules) {
        page.line("    %s on %s fired %d times", rule.name.c_str(), rule.backend.c_str(), rule.fired);
        if (rule.miss.reason == GGML_EXT_REASON_NONE) continue;
        std::string where;
        if (rule.at >= 0) {
            where = "longest other match: " + std::to_string(rule.longest) + " nodes from number " +
                    std::to_string(rule.at) + " '" + rule.node + "' on; ";
        }
        page.paragraph(12, 16, where + words_of(rule.miss));
    }
}

void write_memory(Page & page, const Report & report) {
    int width = 7;
    for (const ReportMemory & m : report.memory) width = std::max(width, int(m.backend.size()));
    page.line("\nmemory in bytes\n    %-*s  %15s  %15s  %15s", width, "backend", "tensors", "workspace",
              "without fusion");
    for (const ReportMemory & m : report.memory) {
        page.line("    %-*s  %15zu  %15zu  %15zu", width, m.backend.c_str(), m.tensor_bytes,
                  m.workspace_bytes, m.tensor_bytes_unfused);
    }
    if (report.n_left_out == 0) return;
    page.line("    fusion leaves out %zu tensors of %zu bytes; the peak is %zu bytes lower",
              report.n_left_out, report.left_out_bytes, peak_bytes_saved(report));
}

void write_replays(Page & page, const Report & report) {
    if (report.executions == 0) return;
    page.line("\nexecution %llu of this allocation", static_cast<unsigned long long>(report.executions));
    for (const ReportReplay & replay : report.replays) {
        const bool replayed = replay.miss.reason == GGML_EXT_REASON_NONE;
        page.paragraph(4, 8,
                       "split " + std::to_string(replay.split) + " on " + replay.backend + ": " +
                           (replayed ? "replayed" : "no replay, " + words_of(replay.miss)));
    }
}

} // namespace

std::string to_text(const Report & report) {
    Page page;
    page.line("graph of %d nodes and %d leafs in %zu splits%s", report.n_nodes, report.n_leafs,
              report.splits.size(), report.n_copies > 1 ? ", several pipeline copies" : "");
    for (const std::string & notice : report.notices) page.paragraph(4, 8, "! " + notice);
    for (size_t i = 0; i < report.splits.size(); ++i) write_split(page, report, i);
    write_rules(page, report);
    write_memory(page, report);
    write_replays(page, report);
    return page.take();
}

} // namespace ggml::ext
