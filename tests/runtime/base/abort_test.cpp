#include "runtime/base/check.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <string>

namespace {

void announce(const char * message) { std::fprintf(stderr, "callback saw <%s>\n", message); }

ggml_tensor shaped(ggml_type type, int64_t ne0, int64_t ne1) {
    ggml_tensor t = {};
    t.type = type;
    t.ne[0] = ne0;
    t.ne[1] = ne1;
    t.ne[2] = t.ne[3] = 1;
    return t;
}

TEST(abort_death_test, prints_file_line_and_message) {
    EXPECT_DEATH(ggml_abort("some_file.c", 42, "value %d is %s", 7, "odd"),
                 "some_file\\.c:42: value 7 is odd");
}

TEST(abort_death_test, hands_the_message_to_the_callback_instead_of_printing_it) {
    EXPECT_DEATH(
        {
            ggml_set_abort_callback(announce);
            ggml_abort("f.c", 1, "stop");
        },
        "^callback saw <f\\.c:1: stop>\n$");
}

TEST(abort_death_test, cuts_a_message_that_is_too_long) {
    const std::string longer(5000, 'x');
    EXPECT_DEATH(ggml_abort("f.c", 1, "%s", longer.c_str()), "f\\.c:1: x+");
}

TEST(abort_death_test, places_in_the_library_are_named_from_the_root_of_the_sources) {
    const ggml_tensor empty = shaped(GGML_TYPE_F32, 0, 1);
    EXPECT_DEATH(ggml_unravel_index(&empty, 0, nullptr, nullptr, nullptr, nullptr),
                 "^runtime/tensor/layout\\.cpp:[0-9]+: ggml_unravel_index: ");
}

TEST(abort_callback, is_exchanged_for_the_previous_one) {
    EXPECT_EQ(ggml_set_abort_callback(announce), nullptr);
    EXPECT_EQ(ggml_set_abort_callback(nullptr), announce);
}

TEST(shape_check_death_test, names_operator_reason_types_and_shapes) {
    const ggml_tensor a = shaped(GGML_TYPE_F32, 4, 3);
    const ggml_tensor b = shaped(GGML_TYPE_F16, 5, 1);
    const ggml_tensor * missing = nullptr;
    EXPECT_DEATH(GGML_SHAPE_CHECK(false, "ggml_add", "b does not repeat into a", &a, &b, missing),
                 "ggml_add: b does not repeat into a: f32 \\[4, 3, 1, 1\\], f16 \\[5, 1, 1, 1\\], none");
}

TEST(shape_check, passes_over_what_holds) {
    const ggml_tensor a = shaped(GGML_TYPE_F32, 4, 3);
    GGML_SHAPE_CHECK(a.ne[0] == 4, "ggml_add", "never", &a);
    SUCCEED();
}

} // namespace
