#include "tools/op-bench/shape.h"

#include "tests/tools/op-bench/fails.h"

#include <gtest/gtest.h>

namespace op_bench {
namespace {

const std::vector<Param> kParams = {{"m", "4", {}}, {"group", "16", {}}, {"type", "f16", {"f16", "f32"}}};

TEST(op_bench_shape, takes_what_is_given_and_the_rest_as_it_is_initially) {
    const Shape shape = Shape::parse("type=f32,m=1099511627776", kParams);
    EXPECT_EQ(shape.number("m"), int64_t{1} << 40);
    EXPECT_EQ(shape.number("group"), 16);
    EXPECT_TRUE(shape.is("type", "f32"));
    EXPECT_EQ(shape.text(kParams), "m=1099511627776,group=16,type=f32");
    EXPECT_EQ(Shape::parse("", kParams).text(kParams), "m=4,group=16,type=f16");
    EXPECT_EQ(Shape::parse(shape.text(kParams), kParams).text(kParams), shape.text(kParams));
}

TEST(op_bench_shape, refuses_what_is_no_parameter_and_no_value_and_says_what_is) {
    const auto parse = [](const char * text) { return [text] { (void)Shape::parse(text, kParams); }; };
    expect_failure(parse("x=4"), "there is no parameter 'x'; there are m, group, type");
    expect_failure(parse("m"), "'m' is not written NAME=VALUE");
    expect_failure(parse("m=4,,"), "'' is not written NAME=VALUE");
    expect_failure(parse("m=4,m=5"), "'m' is given twice");
    expect_failure(parse("type=q8"), "'type' is one of f16, f32, not 'q8'");
    for (const char * text :
         {"m=0", "m=-3", "m=", "m=4x", "m= 4", "m=1099511627777", "m=99999999999999999999"})
        expect_failure(parse(text), "'m' is a whole number from 1 to 2^40, not '");
}

} // namespace
} // namespace op_bench
