#include "pipeline/extensions.h"

#include "base/error.h"
#include "base/log.h"
#include "ggml-ext-tools.h"
#include "sd-ggml-ops.h"

#include <memory>

namespace sd {

namespace {

// What the runtime says is for those who ask for details: its reasons reach people as the engine's errors.
void to_debug(ggml_log_level, const char * text, void *) {
    std::string line(text);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (!line.empty()) log_debug(line);
}

} // namespace

void add_operators(ggml_backend_dev_t device) {
    ggml_log_set(to_debug, nullptr);
    if (sd_ggml_register_extensions(device) == GGML_EXT_SUCCESS) return;
    throw Error(std::string("the operators of ") + ggml_backend_dev_name(device) +
                " cannot be registered: " + ggml_reason());
}

std::string ggml_reason() { return ggml_ext_last_message(); }

std::string explain_graph(ggml_backend_sched_t scheduler, ggml_cgraph * graph, bool json) {
    const std::unique_ptr<char, decltype(&ggml_ext_text_free)> text(
        ggml_ext_explain(scheduler, graph, json ? GGML_EXT_FORMAT_JSON : GGML_EXT_FORMAT_TEXT),
        ggml_ext_text_free);
    if (text == nullptr) throw Error("the graph cannot be explained: " + ggml_reason());
    return text.get();
}

void begin_trace(const std::string & file) {
    if (ggml_ext_trace_begin(file.c_str()) == GGML_EXT_SUCCESS) return;
    throw Error({"E_FILE", file, {}, "the trace cannot be written", ggml_reason()});
}

void end_trace() {
    if (ggml_ext_trace_end() != GGML_EXT_SUCCESS) throw Error("the trace: " + ggml_reason());
}

} // namespace sd
