#include "tests/runtime/ext/schema/fixture.h"

namespace ggml::test {
namespace {

TEST_F(ExtSchema, attributes_of_every_size_survive_in_the_node) {
    for (const size_t size : {size_t(0), size_t(1), size_t(39), size_t(40)}) {
        std::vector<char> attrs(size);
        for (size_t i = 0; i < size; ++i) attrs[i] = char(255 - i);
        const std::vector<char> kept = attrs;
        const ggml_ext_op_t op = new_op("bytes", size);
        const ggml_tensor * node = create(op, {x}, attrs);
        ASSERT_NE(node, nullptr) << size;
        std::fill(attrs.begin(), attrs.end(), 'x'); // they were copied
        ASSERT_EQ(ggml_ext_node_op(node), op);
        ASSERT_EQ(ggml_ext_op_attr_size(op), size);
        const auto * bytes = static_cast<const char *>(ggml_ext_node_attrs(node));
        if (size == 0) {
            EXPECT_EQ(bytes, nullptr);
        } else {
            EXPECT_EQ(std::memcmp(bytes, kept.data(), size), 0) << size;
        }
    }
}

TEST_F(ExtSchema, inference_gets_no_attributes_where_there_are_none) {
    const Infer infer = [](auto, int, const void * attrs, ggml_ext_output &, auto) {
        EXPECT_EQ(attrs, nullptr);
        return true;
    };
    const char unused = 0;
    EXPECT_NE(ggml_ext_op_create(ctx, op_of(infer), &x, 1, &unused, 0), nullptr);
}

TEST_F(ExtSchema, a_copy_of_a_node_decodes_like_it) {
    const ggml_ext_op_t op = new_op("copied", 2);
    const ggml_tensor copy = *create(op, {x, scale}, {'h', 'i'});
    EXPECT_EQ(ggml_ext_node_op(&copy), op);
    EXPECT_EQ(std::memcmp(ggml_ext_node_attrs(&copy), "hi", 2), 0);
}

TEST_F(ExtSchema, other_nodes_decode_to_nothing) {
    ggml_tensor * view = ggml_view_tensor(ctx, create(new_op("viewed", 1), {x}, {1}));
    for (const ggml_tensor * t : {x, ggml_add(ctx, x, x), ggml_sqr(ctx, x), view, (ggml_tensor *)nullptr}) {
        EXPECT_EQ(ggml_ext_node_op(t), nullptr);
        EXPECT_EQ(ggml_ext_node_attrs(t), nullptr);
    }
}

} // namespace
} // namespace ggml::test
