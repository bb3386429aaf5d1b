#include "tests/runtime/graph/graph_maker.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace ggml::test {
namespace {

size_t occurrences(const std::string & text, const std::string & part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

std::string dot_of(const ggml_cgraph * g, const ggml_cgraph * marked) {
    const std::string path = testing::TempDir() + "graph_print_test.dot";
    ggml_graph_dump_dot(g, marked, path.c_str());
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::remove(path.c_str());
    return text.str();
}

TEST(graph_dot, has_a_vertex_per_tensor_and_an_edge_per_source) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_ADD, {a, b});
    ggml_tensor * y = m.node(GGML_OP_MUL, {x, x});
    const std::string dot = dot_of(m.graph({y}), nullptr);
    EXPECT_EQ(dot.rfind("digraph G {\n", 0), 0u);
    EXPECT_EQ(occurrences(dot, "shape = record"), 4u);
    EXPECT_EQ(occurrences(dot, " -> "), 4u);
    EXPECT_EQ(occurrences(dot, "fillcolor = pink"), 2u);
    EXPECT_EQ(dot.substr(dot.size() - 2), "}\n");
}

TEST(graph_dot, escapes_names_that_would_break_a_label) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_set_name(x, "a|b \"c\" {d}<e>");
    const std::string dot = dot_of(m.graph({x}), nullptr);
    EXPECT_NE(dot.find(R"(a\|b\ \"c\"\ \{d\}\<e\>)"), std::string::npos) << dot;
}

TEST(graph_dot, tells_nodes_outside_the_second_graph_apart) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    const ggml_cgraph * part = m.graph({x});
    EXPECT_EQ(occurrences(dot_of(m.graph({y}), part), "lightblue"), 1u);
}

TEST(graph_dot, a_file_that_cannot_be_written_is_reported) {
    GraphMaker m;
    LogCapture log;
    ggml_graph_dump_dot(m.graph({m.node(GGML_OP_SQR, {m.leaf()})}), nullptr, "/no/such/folder/graph.dot");
    EXPECT_NE(log.text.find("/no/such/folder/graph.dot"), std::string::npos);
}

TEST(graph_print, lists_every_node_and_leaf_with_its_name) {
    GraphMaker m;
    ggml_tensor * a = m.leaf(17);
    ggml_set_name(a, "the_input");
    ggml_tensor * x = m.node(GGML_OP_SQR, {a}, 17);
    ggml_set_name(x, "the_result");
    ggml_cgraph * g = m.graph({x});
    LogCapture log;
    ggml_graph_print(g);
    EXPECT_NE(log.text.find("1 nodes, 1 leafs"), std::string::npos);
    EXPECT_NE(log.text.find("the_input"), std::string::npos);
    EXPECT_NE(log.text.find("the_result"), std::string::npos);
    EXPECT_NE(log.text.find("SQR"), std::string::npos);
    EXPECT_NE(log.text.find("17"), std::string::npos);
}

} // namespace
} // namespace ggml::test
