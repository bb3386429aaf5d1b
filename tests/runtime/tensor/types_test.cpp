#include "runtime/tensor/types.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace {

using namespace ggml;

struct Row {
    int id;
    const char * name;
    int64_t block;
    size_t bytes;
    bool quantized, readable;
};

// The public table: files carry these ids, and sizes follow from the other columns.
constexpr Row kRows[] = {
    {0, "f32", 1, 4, false, true},         {1, "f16", 1, 2, false, true},
    {2, "q4_0", 32, 18, true, true},       {3, "q4_1", 32, 20, true, true},
    {6, "q5_0", 32, 22, true, true},       {7, "q5_1", 32, 24, true, true},
    {8, "q8_0", 32, 34, true, true},       {9, "q8_1", 32, 36, true, true},
    {10, "q2_K", 256, 84, true, true},     {11, "q3_K", 256, 110, true, true},
    {12, "q4_K", 256, 144, true, true},    {13, "q5_K", 256, 176, true, true},
    {14, "q6_K", 256, 210, true, true},    {15, "q8_K", 256, 292, true, true},
    {16, "iq2_xxs", 256, 66, true, false}, {17, "iq2_xs", 256, 74, true, false},
    {18, "iq3_xxs", 256, 98, true, false}, {19, "iq1_s", 256, 50, true, false},
    {20, "iq4_nl", 32, 18, true, false},   {21, "iq3_s", 256, 110, true, false},
    {22, "iq2_s", 256, 82, true, false},   {23, "iq4_xs", 256, 136, true, false},
    {24, "i8", 1, 1, false, true},         {25, "i16", 1, 2, false, true},
    {26, "i32", 1, 4, false, true},        {27, "i64", 1, 8, false, true},
    {28, "f64", 1, 8, false, true},        {29, "iq1_m", 256, 56, true, false},
    {30, "bf16", 1, 2, false, true},       {34, "tq1_0", 256, 54, true, false},
    {35, "tq2_0", 256, 66, true, false},   {39, "mxfp4", 32, 17, true, false},
    {40, "nvfp4", 64, 36, true, false},    {41, "q1_0", 128, 18, true, false},
    {42, "q2_0", 64, 18, true, false},
};

std::map<int, Row> rows_by_id() {
    std::map<int, Row> rows;
    for (const Row & row : kRows) rows[row.id] = row;
    return rows;
}

TEST(types, agree_with_the_public_table) {
    for (const Row & row : kRows) {
        const auto type = ggml_type(row.id);
        EXPECT_STREQ(ggml_type_name(type), row.name);
        EXPECT_EQ(ggml_blck_size(type), row.block) << row.name;
        EXPECT_EQ(ggml_type_size(type), row.bytes) << row.name;
        EXPECT_EQ(ggml_is_quantized(type), row.quantized) << row.name;
        EXPECT_EQ(type_is_readable(type), row.readable) << row.name;
        EXPECT_EQ(ggml_row_size(type, 3 * row.block), 3 * row.bytes) << row.name;
        EXPECT_EQ(ggml_row_size(type, 0), 0u) << row.name;
    }
}

TEST(types, that_can_be_read_can_be_written) {
    for (const Row & row : kRows) {
        const TypeInfo & info = type_info(ggml_type(row.id));
        EXPECT_EQ(info.to_float != nullptr, info.from_float != nullptr) << row.name;
    }
}

TEST(types, retired_and_unknown_ids_have_no_size) {
    const auto rows = rows_by_id();
    for (const int id : {-1, 4, 5, 31, 32, 33, 36, 37, 38, 43, 1000}) {
        ASSERT_EQ(rows.count(id), 0u);
        EXPECT_STREQ(ggml_type_name(ggml_type(id)), "none");
        EXPECT_EQ(ggml_blck_size(ggml_type(id)), 0);
        EXPECT_EQ(ggml_type_size(ggml_type(id)), 0u);
        EXPECT_FALSE(ggml_is_quantized(ggml_type(id)));
        EXPECT_FALSE(type_is_readable(ggml_type(id)));
    }
}

TEST(type_traits, mirror_the_table_and_convert_all_but_the_wide_plain_types) {
    const auto rows = rows_by_id();
    for (int id = 0; id < GGML_TYPE_COUNT; ++id) {
        const ggml_type_traits * traits = ggml_get_type_traits(ggml_type(id));
        ASSERT_NE(traits, nullptr);
        const auto found = rows.find(id);
        if (found == rows.end()) {
            EXPECT_EQ(traits->blck_size, 0);
            EXPECT_EQ(traits->to_float, nullptr);
            continue;
        }
        const Row & row = found->second;
        EXPECT_STREQ(traits->type_name, row.name);
        EXPECT_EQ(traits->blck_size, row.block);
        EXPECT_EQ(traits->type_size, row.bytes);
        EXPECT_EQ(traits->is_quantized, row.quantized);
        const bool converts = row.readable && (row.quantized || id == GGML_TYPE_F16 || id == GGML_TYPE_BF16);
        EXPECT_EQ(traits->to_float != nullptr, converts) << row.name;
        EXPECT_EQ(traits->from_float_ref != nullptr, converts) << row.name;
    }
    EXPECT_EQ(ggml_get_type_traits(GGML_TYPE_COUNT), nullptr);
    EXPECT_EQ(ggml_get_type_traits(ggml_type(-1)), nullptr);
}

TEST(types_death_test, rows_of_partial_blocks_have_no_size) {
    EXPECT_DEATH(ggml_row_size(GGML_TYPE_Q4_0, 31), "ggml_row_size: a row of 31 elements of type q4_0");
    EXPECT_DEATH(ggml_row_size(GGML_TYPE_F32, -1), "-1 elements of type f32");
    EXPECT_DEATH(ggml_row_size(ggml_type(4), 32), "type none \\(id 4");
    EXPECT_DEATH(ggml_row_size(GGML_TYPE_F64, INT64_MAX), "has no size");
}

TEST(file_types, name_the_type_of_their_matrices) {
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_ALL_F32), GGML_TYPE_F32);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_Q4_K), GGML_TYPE_Q4_K);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_BF16), GGML_TYPE_BF16);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_UNKNOWN), GGML_TYPE_COUNT);
    EXPECT_EQ(ggml_ftype_to_ggml_type(GGML_FTYPE_MOSTLY_Q4_1_SOME_F16), GGML_TYPE_COUNT);
}

} // namespace
