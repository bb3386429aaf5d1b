// What the tests of graph constructors share: named inputs without data, a description of a node to compare
// with, and the message a wrong shape stops with.
#pragma once

#include "ggml.h"
#include "runtime/tensor/layout.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace ggml::test {

class OpGraph {
  public:
    OpGraph() : ctx_(ggml_init({1u << 20, nullptr, true})) {}
    ~OpGraph() { ggml_free(ctx_); }
    OpGraph(const OpGraph &) = delete;
    OpGraph & operator=(const OpGraph &) = delete;

    operator ggml_context *() { return ctx_; }

    ggml_tensor * input(const char * name, Shape ne, ggml_type type = GGML_TYPE_F32) {
        return ggml_set_name(ggml_new_tensor(ctx_, type, GGML_MAX_DIMS, ne.data()), name);
    }

  private:
    ggml_context * ctx_;
};

// The 32 bits a float parameter is stored as.
inline int32_t bits(float value) {
    int32_t out;
    std::memcpy(&out, &value, sizeof(out));
    return out;
}

struct Node {
    ggml_op op;
    ggml_type type;
    Shape ne;
    std::vector<std::string> sources;    // names, "" for a gap
    std::vector<int32_t> op_params = {}; // leading words; the rest is 0
};

inline void expect_sources(const ggml_tensor * t, std::vector<std::string> names) {
    names.resize(GGML_MAX_SRC);
    for (int i = 0; i < GGML_MAX_SRC; ++i) {
        const std::string actual = t->src[i] ? t->src[i]->name : "";
        EXPECT_EQ(actual, names[i]) << "source " << i;
    }
}

inline void expect_op_params(const ggml_tensor * t, std::vector<int32_t> words) {
    words.resize(GGML_MAX_OP_PARAMS / sizeof(int32_t));
    for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(t->op_params[i], words[i]) << "op_params word " << i;
}

// Operator, type, shape, sources and parameters, whatever the strides.
inline void expect_described(const ggml_tensor * t, const Node & node) {
    SCOPED_TRACE(ggml_op_name(node.op));
    EXPECT_STREQ(ggml_op_name(t->op), ggml_op_name(node.op));
    EXPECT_EQ(t->type, node.type);
    EXPECT_EQ(shape_of(t), node.ne);
    expect_sources(t, node.sources);
    expect_op_params(t, node.op_params);
}

// The same, in contiguous memory of its own.
inline void expect_node(const ggml_tensor * t, const Node & node) {
    expect_described(t, node);
    Strides nb;
    ASSERT_TRUE(contiguous_strides(t->type, shape_of(t), nb));
    EXPECT_EQ((Strides{t->nb[0], t->nb[1], t->nb[2], t->nb[3]}), nb);
    EXPECT_EQ(t->view_src, nullptr);
}

// The result shares a's memory, element for element.
inline void expect_in_place(const ggml_tensor * t, ggml_tensor * a) {
    SCOPED_TRACE(ggml_op_name(t->op));
    EXPECT_EQ(t->view_src, a->view_src ? a->view_src : a);
    EXPECT_EQ(t->view_offs, a->view_offs);
    EXPECT_EQ(t->type, a->type);
    EXPECT_TRUE(ggml_are_same_shape(t, a));
    EXPECT_TRUE(ggml_are_same_stride(t, a));
    EXPECT_EQ(std::string(t->name), std::string(a->name) + " (view)");
}

// The message ggml_abort is reached with, or "" when `build` returns. The callback leaves by exception
// instead of letting the program end.
inline std::string stop_message(const std::function<void()> & build) {
    const auto previous =
        ggml_set_abort_callback([](const char * message) { throw std::runtime_error(message); });
    std::string message;
    try {
        build();
    } catch (const std::runtime_error & stopped) {
        message = stopped.what();
    }
    ggml_set_abort_callback(previous);
    return message;
}

inline void expect_stops(const std::vector<std::string> & parts, const std::function<void()> & build) {
    const std::string message = stop_message(build);
    EXPECT_NE(message, "") << "did not stop; expected a message with " << parts.front();
    for (const std::string & part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
    }
}

} // namespace ggml::test
