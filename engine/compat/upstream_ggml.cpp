// Everything that lets the engine run on another ggml (SD_USE_UPSTREAM_GGML): its operators as nodes which
// that library has, refusals where there is nothing to replace an extension, and reasons picked from the
// library's log, which it has instead of error texts. From the first use on, that log goes to the engine's.
#include "base/error.h"
#include "base/log.h"
#include "checkpoint/gguf/open_gguf.h"
#include "nn/operators.h"
#include "pipeline/extensions.h"

#include <ggml.h>

#include <new>
#include <string_view>
#include <utility>

namespace sd {
namespace {

Error without_extensions(const std::string & cannot) {
    return Error({"E_UPSTREAM_BUILD",
                  {},
                  {},
                  "this build cannot " + cannot + ", as its ggml has no operator extensions",
                  "use a build without SD_USE_UPSTREAM_GGML"});
}

// The last line that told of an error, from this thread.
std::string & last_complaint() {
    static thread_local std::string line;
    return line;
}

void receive(ggml_log_level level, const char * text, void *) {
    std::string_view line = text;
    while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (line.empty()) return;
    // Nothing may be thrown through a C library; out of memory, the line is lost.
    try {
        if (level == GGML_LOG_LEVEL_ERROR)
            last_complaint() = line;
        else
            log_line(level == GGML_LOG_LEVEL_WARN ? LogLevel::warn : LogLevel::debug, std::string(line));
    } catch (const std::bad_alloc &) {
    }
}

void listen() {
    static const bool once = (ggml_log_set(receive, nullptr), true);
    (void)once;
}

ggml_tensor * contiguous(ggml_context * ctx, ggml_tensor * x) {
    return ggml_is_contiguous(x) ? x : ggml_cont(ctx, x);
}

} // namespace

ggml_tensor * modulate(Graph & g, ggml_tensor * x, ggml_tensor * scale, ggml_tensor * shift) {
    ggml_context * ctx = g.ctx();
    return ggml_add(ctx, ggml_add(ctx, x, ggml_mul(ctx, x, scale)), shift);
}

// The table's 2 x 2 matrices, one for each pair and token, times the pairs of all heads: one product.
ggml_tensor * rope_apply(Graph & g, ggml_tensor * x, ggml_tensor * pe, bool interleaved) {
    const int64_t head = x->ne[0], heads = x->ne[1], tokens = x->ne[2], pairs = pe->ne[2];
    if (2 * pairs != head || pe->ne[3] != tokens || x->ne[3] != 1) {
        throw Error(
            {"E_GRAPH",
             {},
             {},
             "a layer cannot be built: in a build with this ggml, rotary embedding takes whole rows of one "
             "sequence",
             {}});
    }
    ggml_context * ctx = g.ctx();
    x = contiguous(ctx, x);
    if (interleaved) {
        x = ggml_permute(ctx, ggml_reshape_4d(ctx, x, 2, pairs, heads, tokens), 0, 2, 1, 3);
        x = ggml_permute(ctx, ggml_mul_mat(ctx, pe, x), 0, 2, 1, 3);
    } else {
        x = ggml_permute(ctx, ggml_reshape_4d(ctx, x, pairs, 2, heads, tokens), 2, 0, 1, 3);
        x = ggml_permute(ctx, ggml_mul_mat(ctx, pe, ggml_cont(ctx, x)), 1, 2, 0, 3);
    }
    return ggml_cont_3d(ctx, x, head, heads, tokens);
}

// Norms run along rows, so the channels take their place for a while.
ggml_tensor * channel_rms_norm(Graph & g, ggml_tensor * x, ggml_tensor * gamma, float eps, bool silu) {
    ggml_context * ctx = g.ctx();
    x = ggml_cont(ctx, ggml_permute(ctx, x, 1, 2, 0, 3));
    x = ggml_mul(ctx, ggml_rms_norm(ctx, x, eps), gamma);
    if (silu) x = ggml_silu(ctx, x);
    return ggml_cont(ctx, ggml_permute(ctx, x, 2, 0, 1, 3));
}

ggml_tensor * quantize_i8_convrot(Graph &, ggml_tensor *, int) {
    throw without_extensions("rotate and quantize activations");
}

ggml_tensor * integer_product(Graph &, const Linear &, ggml_tensor *, ggml_tensor *) {
    throw without_extensions("run INT8 and INT4 layers");
}

void add_operators(ggml_backend_dev_t) { listen(); }

std::string ggml_reason() {
    const std::string line = std::exchange(last_complaint(), {});
    return line.empty() ? "its ggml gave no reason" : line;
}

std::string explain_graph(ggml_backend_sched_t, ggml_cgraph *, bool) {
    throw without_extensions("explain what runs a graph");
}

void begin_trace(const std::string &) { throw without_extensions("record a trace"); }
void end_trace() { throw without_extensions("record a trace"); }

gguf_context * open_gguf(gguf_reader_callback_t read, void * self, uint64_t size, std::string & reason) {
    listen();
    last_complaint().clear();
    gguf_context * gguf = gguf_init_from_callback(read, self, 0, size, {true, nullptr});
    if (gguf == nullptr) reason = "gguf.refused: " + ggml_reason();
    return gguf;
}

} // namespace sd
