#include "sampling/extra_args.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

#include <set>

namespace sd::test {
namespace {

TEST(key_values, both_separators_and_blanks_are_understood) {
    const KeyValues values = KeyValues::parse(" a = 1.5 ;b=x+y,c=1 ");
    EXPECT_EQ(values.number("a", 0.0, 0.0, 2.0), 1.5);
    EXPECT_EQ(values.text("b"), "x+y");
    EXPECT_TRUE(values.flag("c", false));
    EXPECT_EQ(values.integer("c", 7, 0, 9), 1);
    EXPECT_FALSE(values.has("d"));
    EXPECT_EQ(values.integer("d", 7, 0, 9), 7);
}

TEST(key_values, nothing_is_an_empty_list) {
    EXPECT_FALSE(KeyValues::parse("  ").has(""));
    EXPECT_EQ(KeyValues::parse("").number("a", 3.0, 0.0, 1.0), 3.0);
}

TEST(key_values, what_is_no_pair_is_refused) {
    EXPECT_EQ(reason_of([] { KeyValues::parse("a=1,b"); }),
              "sample arguments: \"b\" is no key=value (write key=value,key=value)");
    EXPECT_EQ(reason_of([] { KeyValues::parse("a=1,"); }),
              "sample arguments: \"\" is no key=value (write key=value,key=value)");
    EXPECT_EQ(reason_of([] { KeyValues::parse("=1"); }),
              "sample arguments: \"=1\" is no key=value (write key=value,key=value)");
    EXPECT_EQ(reason_of([] { KeyValues::parse("a=1;a=2"); }), "sample argument a is given twice");
}

TEST(key_values, values_outside_their_range_are_refused) {
    const auto number = [](const char * text) {
        return reason_of([&] { KeyValues::parse(text).number("a", 0.0, 0.0, 2.0); });
    };
    EXPECT_EQ(number("a=3"), "sample argument a: \"3\" is no number from 0 to 2");
    EXPECT_EQ(number("a=-0.5"), "sample argument a: \"-0.5\" is no number from 0 to 2");
    EXPECT_EQ(number("a=nan"), "sample argument a: \"nan\" is no number from 0 to 2");
    EXPECT_EQ(number("a=inf"), "sample argument a: \"inf\" is no number from 0 to 2");
    EXPECT_EQ(number("a=1x"), "sample argument a: \"1x\" is no number from 0 to 2");
    EXPECT_EQ(number("a="), "sample argument a: \"\" is no number from 0 to 2");
    EXPECT_EQ(reason_of([] { KeyValues::parse("a=1.5").integer("a", 0, 0, 2); }),
              "sample argument a: \"1.5\" is no whole number from 0 to 2");
    EXPECT_EQ(reason_of([] { KeyValues::parse("a=yes").flag("a", false); }),
              "sample argument a: \"yes\" is no choice of 0 and 1");
}

TEST(key_values, extra_sample_arguments_are_those_of_the_table) {
    std::set<std::string> names;
    std::string all;
    for (const ExtraSampleArg & arg : extra_sample_args()) {
        EXPECT_TRUE(names.insert(arg.name).second) << arg.name;
        all += std::string(arg.name) + "=1;";
    }
    all.pop_back();
    const KeyValues values = parse_extra_sample_args(all);
    for (const std::string & name : names) EXPECT_TRUE(values.has(name)) << name;
    const std::string reason = reason_of([] { parse_extra_sample_args("gama=1"); });
    EXPECT_EQ(reason.substr(0, 62), "there is no sample argument \"gama\" (use one of gamma, noise_sc")
        << reason;
}

} // namespace
} // namespace sd::test
