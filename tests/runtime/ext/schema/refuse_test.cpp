// What cannot become a node.
#include "tests/runtime/ext/schema/fixture.h"

#include <stdexcept>

namespace ggml::test {
namespace {

TEST_F(ExtSchema, no_node_without_context_operator_or_list_of_inputs) {
    const ggml_ext_op_t op = new_op("nothing");
    expect_none(GGML_EXT_REASON_NULL_ARGUMENT, {"ctx"},
                [&] { return ggml_ext_op_create(nullptr, op, &x, 1, nullptr, 0); });
    expect_none(GGML_EXT_REASON_NULL_ARGUMENT, {"op"},
                [&] { return ggml_ext_op_create(ctx, nullptr, &x, 1, nullptr, 0); });
    expect_none(GGML_EXT_REASON_NULL_ARGUMENT, {op->name, "inputs"},
                [&] { return ggml_ext_op_create(ctx, op, nullptr, 1, nullptr, 0); });
}

TEST_F(ExtSchema, no_node_with_more_inputs_than_a_tensor_has_sources) {
    const ggml_ext_op_t op = new_op("crowd");
    const std::vector<ggml_tensor *> eleven(GGML_MAX_SRC + 1, x);
    expect_none(GGML_EXT_REASON_INPUT_COUNT, {op->name, "11", "10"}, [&] { return create(op, eleven); });
    expect_none(GGML_EXT_REASON_INPUT_COUNT, {op->name, "-1"},
                [&] { return ggml_ext_op_create(ctx, op, &x, -1, nullptr, 0); });
    expect_none(GGML_EXT_REASON_INPUT_COUNT, {op->name},
                [&] { return ggml_ext_op_create(ctx, op, &x, INT32_MAX, nullptr, 0); });
}

TEST_F(ExtSchema, no_node_with_attributes_of_another_size) {
    const ggml_ext_op_t op = new_op("attributes", 8), plain = new_op("plain");
    for (const size_t size : {0, 7, 9, 41}) {
        expect_none(GGML_EXT_REASON_ATTR_MISMATCH, {op->name, std::to_string(size), "8"},
                    [&] { return create(op, {x}, std::vector<char>(size)); });
    }
    expect_none(GGML_EXT_REASON_ATTR_MISMATCH, {plain->name}, [&] { return create(plain, {x}, {1}); });
    expect_none(GGML_EXT_REASON_NULL_ARGUMENT, {op->name, "attrs"},
                [&] { return ggml_ext_op_create(ctx, op, &x, 1, nullptr, 8); });
}

TEST_F(ExtSchema, no_node_where_inference_refuses) {
    const Infer speaks = [](auto inputs, int, auto, ggml_ext_output &, ggml_ext_why_t why) {
        return ggml_ext_refuse(why, "K = %lld is no multiple of 32", (long long)inputs[0]->ne[0]);
    };
    const Infer silent = [](auto...) { return false; };
    const Infer throws = [](auto...) -> bool { throw std::runtime_error("no"); };
    expect_none(GGML_EXT_REASON_INFER_FAILED, {"K = 8 is no multiple of 32"},
                [&] { return create(op_of(speaks), {x}); });
    expect_none(GGML_EXT_REASON_INFER_FAILED, {"no reason"}, [&] { return create(op_of(silent), {x}); });
    expect_none(GGML_EXT_REASON_INFER_FAILED, {"exception"}, [&] { return create(op_of(throws), {x}); });
}

TEST_F(ExtSchema, no_node_of_a_type_that_does_not_exist) {
    for (const int id : {-1, int(GGML_TYPE_COUNT), 1 << 30, 4, 5, 36}) { // the last three are retired
        const Infer infer = [id](auto, int, auto, ggml_ext_output & out, auto) {
            std::memcpy(&out.type, &id, sizeof(id));
            return true;
        };
        const ggml_ext_op_t op = op_of(infer);
        expect_none(GGML_EXT_REASON_INFER_TYPE, {op->name, std::to_string(id)},
                    [&] { return create(op, {x}); });
    }
}

TEST_F(ExtSchema, no_node_of_a_shape_that_cannot_exist) {
    struct Case {
        ggml_type type;
        int64_t ne[GGML_MAX_DIMS];
    };
    constexpr int64_t big = int64_t(1) << 40;
    for (const Case & c : {Case{GGML_TYPE_F32, {-1, 1, 1, 1}}, Case{GGML_TYPE_F32, {1, 1, 1, INT64_MIN}},
                           Case{GGML_TYPE_F32, {big, big, 1, 1}}, Case{GGML_TYPE_F32, {INT64_MAX, 1, 1, 1}},
                           Case{GGML_TYPE_F32, {0, big, big, 1}}, Case{GGML_TYPE_Q4_0, {33, 1, 1, 1}},
                           Case{GGML_TYPE_Q4_K, {128, 1, 1, 1}}}) {
        const Infer infer = [&c](auto, int, auto, ggml_ext_output & out, auto) {
            out.type = c.type;
            std::copy(c.ne, c.ne + GGML_MAX_DIMS, out.ne);
            return true;
        };
        const ggml_ext_op_t op = op_of(infer);
        expect_none(GGML_EXT_REASON_INFER_SHAPE,
                    {op->name, ggml_type_name(c.type), std::to_string(c.ne[0]), std::to_string(c.ne[3])},
                    [&] { return create(op, {x}); });
    }
}

TEST_F(ExtSchema, no_node_where_the_context_has_no_room) {
    const ggml_ext_op_t op = new_op("no_room");
    ggml_context * full = ggml_init({2 * ggml_tensor_overhead(), nullptr, true});
    ASSERT_NE(ggml_ext_op_create(full, op, &x, 1, nullptr, 0), nullptr);
    ASSERT_NE(ggml_ext_op_create(full, op, &x, 1, nullptr, 0), nullptr) << "exactly two have room";
    const std::string bytes = std::to_string(2 * ggml_tensor_overhead());
    expect_none(GGML_EXT_REASON_NO_ARENA_ROOM, {op->name, bytes + " of " + bytes},
                [&] { return ggml_ext_op_create(full, op, &x, 1, nullptr, 0); });
    ggml_free(full);
}

TEST_F(ExtSchema, room_is_needed_for_data_only_where_the_context_stores_it) {
    constexpr int64_t huge = INT64_MAX / 4;
    const Infer infer = [](auto, int, auto, ggml_ext_output & out, auto) {
        out.ne[0] = huge;
        return true;
    };
    const ggml_ext_op_t op = op_of(infer);
    EXPECT_NE(create(op, {x}), nullptr) << "metadata alone is small";
    ggml_context * storing = ggml_init({1 << 12, nullptr, false});
    expect_none(GGML_EXT_REASON_NO_ARENA_ROOM, {op->name},
                [&] { return ggml_ext_op_create(storing, op, &x, 1, nullptr, 0); });
    EXPECT_EQ(ggml_used_mem(storing), 0u);
    ggml_free(storing);
}

} // namespace
} // namespace ggml::test
