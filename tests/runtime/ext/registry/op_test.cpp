#include "tests/runtime/ext/registry/fixture.h"

namespace ggml::test {
namespace {

TEST(ext_op, is_found_by_the_name_it_was_registered_with) {
    std::string name = fresh("found") + ".v2";
    const std::string kept = name;
    int data = 0;
    ggml_ext_op_desc desc = op_desc(name, 12);
    desc.user_data = &data;
    ggml_ext_op_t op = nullptr;
    const uint64_t before = ext::generation();
    ASSERT_EQ(ggml_ext_register_op(&desc, &op), GGML_EXT_SUCCESS);
    EXPECT_EQ(ext::generation(), before + 1);
    name.assign(name.size(), 'x'); // the name was copied
    ASSERT_NE(op, nullptr);
    EXPECT_EQ(ggml_ext_find_op(kept.c_str()), op);
    EXPECT_EQ(ggml_ext_op_name(op), kept);
    EXPECT_EQ(ggml_ext_op_attr_size(op), 12u);
    EXPECT_EQ(op->user_data, &data);
}

TEST(ext_op, that_nobody_registered_is_not_found) {
    EXPECT_EQ(ggml_ext_find_op("test.nobody.v1"), nullptr);
    EXPECT_EQ(ggml_ext_find_op(nullptr), nullptr);
    EXPECT_EQ(ggml_ext_op_name(nullptr), nullptr);
    EXPECT_EQ(ggml_ext_op_attr_size(nullptr), 0u);
}

TEST(ext_op, names_are_unique_and_the_first_stays) {
    ggml_ext_op_t first = new_op("unique", 4), second = first;
    const ggml_ext_op_desc desc = op_desc(first->full_name, 8);
    const uint64_t before = ext::generation();
    expect_refused(ggml_ext_register_op(&desc, &second), GGML_EXT_DUPLICATE, GGML_EXT_REASON_NAME_TAKEN,
                   {first->full_name});
    EXPECT_EQ(second, nullptr);
    EXPECT_EQ(ext::generation(), before);
    EXPECT_EQ(ggml_ext_find_op(first->name), first);
    EXPECT_EQ(ggml_ext_op_attr_size(first), 4u);
}

TEST(ext_op, versions_are_operators_of_their_own) {
    const std::string base = fresh("versions");
    for (const char * version : {".v1", ".v2", ".v10"}) {
        const std::string name = base + version;
        const ggml_ext_op_desc desc = op_desc(name);
        ggml_ext_op_t op = nullptr;
        EXPECT_EQ(ggml_ext_register_op(&desc, &op), GGML_EXT_SUCCESS) << name;
    }
}

TEST(ext_op, without_arguments_is_refused) {
    const std::string name = fresh("arguments") + ".v1";
    ggml_ext_op_desc desc = op_desc(name);
    ggml_ext_op_t op = nullptr;
    expect_refused(ggml_ext_register_op(nullptr, &op), GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                   {"desc"});
    expect_refused(ggml_ext_register_op(&desc, nullptr), GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                   {"op"});
    desc.name = nullptr;
    expect_refused(ggml_ext_register_op(&desc, &op), GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                   {"name"});
    EXPECT_EQ(ggml_ext_find_op(name.c_str()), nullptr);
}

TEST(ext_op, of_another_descriptor_version_is_refused) {
    const std::string name = fresh("struct_size") + ".v1";
    for (const size_t size :
         {size_t(0), sizeof(ggml_ext_op_desc) - 1, sizeof(ggml_ext_op_desc) + 8, SIZE_MAX}) {
        ggml_ext_op_desc desc = op_desc(name);
        desc.struct_size = size;
        ggml_ext_op_t op = nullptr;
        expect_refused(ggml_ext_register_op(&desc, &op), GGML_EXT_INVALID, GGML_EXT_REASON_STRUCT_SIZE,
                       {std::to_string(size), std::to_string(sizeof(ggml_ext_op_desc))});
    }
    EXPECT_EQ(ggml_ext_find_op(name.c_str()), nullptr);
}

TEST(ext_op, with_a_malformed_name_is_refused) {
    const std::string long_name = "test." + std::string(120, 'x') + ".v1";
    ASSERT_EQ(long_name.size(), 128u);
    const std::string names[] = {"",
                                 ".",
                                 "sd",
                                 "sd.modulate",
                                 "sd.v1",
                                 "sd.modulate.v0",
                                 "sd.modulate.v01",
                                 "sd.modulate.v",
                                 "sd.modulate.1",
                                 "sd.modulate.v1.x",
                                 "sd.modulate.v1a",
                                 "sd..v1",
                                 ".sd.modulate.v1",
                                 "sd.modulate.v1.",
                                 "Sd.modulate.v1",
                                 "sd.modu late.v1",
                                 "sd.modu-late.v1",
                                 "sd.modul\xc3\xa4te.v1",
                                 long_name};
    for (const std::string & name : names) {
        SCOPED_TRACE(name);
        const ggml_ext_op_desc desc = op_desc(name);
        ggml_ext_op_t op = nullptr;
        expect_refused(ggml_ext_register_op(&desc, &op), GGML_EXT_INVALID, GGML_EXT_REASON_NAME_MALFORMED,
                       {name.substr(0, 127) + "'"});
        EXPECT_EQ(ggml_ext_find_op(name.c_str()), nullptr);
    }
}

TEST(ext_op, names_may_have_127_characters_digits_and_underscores) {
    std::string name = fresh("0_9.a");
    name += '.';
    name.append(127 - 3 - name.size(), 'x').append(".v9");
    ASSERT_EQ(name.size(), 127u);
    const ggml_ext_op_desc desc = op_desc(name);
    ggml_ext_op_t op = nullptr;
    EXPECT_EQ(ggml_ext_register_op(&desc, &op), GGML_EXT_SUCCESS) << ggml_ext_last_message();
}

TEST(ext_op, attributes_have_up_to_40_bytes) {
    EXPECT_NE(new_op("attrs", 0), nullptr);
    EXPECT_NE(new_op("attrs", 40), nullptr);
    for (const size_t size : {size_t(41), SIZE_MAX}) {
        const std::string name = fresh("attrs") + ".v1";
        const ggml_ext_op_desc desc = op_desc(name, size);
        ggml_ext_op_t op = nullptr;
        expect_refused(ggml_ext_register_op(&desc, &op), GGML_EXT_INVALID, GGML_EXT_REASON_ATTR_SIZE,
                       {name, std::to_string(size), "40"});
    }
}

TEST(ext_op, without_inference_is_refused) {
    const std::string name = fresh("no_infer") + ".v1";
    ggml_ext_op_desc desc = op_desc(name);
    desc.infer = nullptr;
    ggml_ext_op_t op = nullptr;
    expect_refused(ggml_ext_register_op(&desc, &op), GGML_EXT_INVALID, GGML_EXT_REASON_NO_INFER, {name});
    EXPECT_EQ(ggml_ext_find_op(name.c_str()), nullptr);
}

} // namespace
} // namespace ggml::test
