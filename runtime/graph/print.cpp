// Graphs for people: a list in the log and a drawing for Graphviz.
#include "runtime/graph/graph.h"

#include "runtime/base/log.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ggml {
namespace {

struct FileCloser {
    void operator()(FILE * file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

// Names may hold the characters that structure a record label.
void put_escaped(FILE * file, const char * text) {
    for (; *text != '\0'; ++text) {
        if (std::strchr("\\\"{}|<> ", *text) != nullptr) std::fputc('\\', file);
        std::fputc(*text, file);
    }
}

void put_vertex(FILE * file, const ggml_tensor * t, int index, const char * what, const char * color) {
    std::fprintf(file, "  \"%p\" [ style = filled; fillcolor = %s; shape = record; label = \"",
                 static_cast<const void *>(t), color);
    put_escaped(file, t->name);
    std::fprintf(file, " (%s)|%d [", ggml_type_name(t->type), index);
    for (int d = 0; d < std::max(ggml_n_dims(t), 2); ++d) {
        std::fprintf(file, d == 0 ? "%" PRId64 : ", %" PRId64, t->ne[d]);
    }
    std::fputs("]|", file);
    put_escaped(file, what);
    std::fputs("\" ]\n", file);
}

const char * node_color(const ggml_tensor * node, const ggml_cgraph * marked) {
    if (marked != nullptr &&
        std::find(marked->nodes, marked->nodes + marked->n_nodes, node) == marked->nodes + marked->n_nodes) {
        return "lightblue";
    }
    if ((node->flags & GGML_TENSOR_FLAG_PARAM) != 0) return "yellow";
    if ((node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0) return "green";
    return op_is_metadata_only(node->op) ? "lightgray" : "white";
}

void put_edges(FILE * file, const ggml_tensor * node) {
    for (int j = 0; j < GGML_MAX_SRC; ++j) {
        if (node->src[j] == nullptr) continue;
        std::fprintf(file, "  \"%p\" -> \"%p\" [ label = \"src %d\" ]\n",
                     static_cast<const void *>(node->src[j]), static_cast<const void *>(node), j);
    }
}

} // namespace
} // namespace ggml

extern "C" {

void ggml_graph_print(const ggml_cgraph * graph) {
    GGML_LOG_INFO("graph: %d nodes, %d leafs\n", graph->n_nodes, graph->n_leafs);
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor * t = graph->nodes[i];
        GGML_LOG_INFO(" node %4d: [%5" PRId64 ", %5" PRId64 ", %5" PRId64 ", %5" PRId64 "] %6s %16s %s\n", i,
                      t->ne[0], t->ne[1], t->ne[2], t->ne[3], ggml_type_name(t->type), ggml_op_desc(t),
                      t->name);
    }
    for (int i = 0; i < graph->n_leafs; ++i) {
        const ggml_tensor * t = graph->leafs[i];
        GGML_LOG_INFO(" leaf %4d: [%5" PRId64 ", %5" PRId64 ", %5" PRId64 ", %5" PRId64 "] %6s %s\n", i,
                      t->ne[0], t->ne[1], t->ne[2], t->ne[3], ggml_type_name(t->type), t->name);
    }
}

void ggml_graph_dump_dot(const ggml_cgraph * gb, const ggml_cgraph * cgraph, const char * filename) {
    ggml::File file(ggml_fopen(filename, "w"));
    if (file == nullptr) {
        GGML_LOG_ERROR("ggml_graph_dump_dot: cannot write '%s': %s\n", filename, std::strerror(errno));
        return;
    }
    std::fputs("digraph G {\n  newrank = true;\n  rankdir = TB;\n", file.get());
    for (int i = 0; i < gb->n_nodes; ++i) {
        const ggml_tensor * node = gb->nodes[i];
        ggml::put_vertex(file.get(), node, i, ggml_op_desc(node), ggml::node_color(node, cgraph));
    }
    for (int i = 0; i < gb->n_leafs; ++i) ggml::put_vertex(file.get(), gb->leafs[i], i, "leaf", "pink");
    for (int i = 0; i < gb->n_nodes; ++i) ggml::put_edges(file.get(), gb->nodes[i]);
    for (int i = 0; i < gb->n_leafs; ++i) ggml::put_edges(file.get(), gb->leafs[i]);
    std::fputs("}\n", file.get());
}

} // extern "C"
