#include "sampling/philox.h"
#include "sampling/rng.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

std::vector<float> drawn(Rng & rng, size_t n) {
    std::vector<float> values(n);
    rng.normal(values.data(), n);
    return values;
}

std::vector<float> first_draw(RngKind kind, uint64_t seed, size_t n) {
    const std::unique_ptr<Rng> rng = make_rng(kind);
    rng->seed(seed);
    return drawn(*rng, n);
}

// Published values have six decimals.
void expect_begins(const std::vector<float> & got, const std::vector<float> & expected) {
    ASSERT_GE(got.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1.5e-6) << "value " << i;
}

TEST(rng, philox_has_the_published_words) {
    const PhiloxBlock expected = {0x9CEAF053, 0x77F5493B, 0x12BF50AD, 0x5742B3D7};
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, 42), expected);
    // The known answers of the generator's publication.
    const PhiloxBlock zero = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0), zero);
    const PhiloxBlock ones = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, ~uint64_t(0)), ones);
}

TEST(rng, cuda_has_the_published_numbers) {
    const std::unique_ptr<Rng> rng = make_rng(RngKind::cuda);
    rng->seed(42);
    expect_begins(drawn(*rng, 8), {0.194019f, 2.161374f, -0.172051f, 0.849060f, -1.924399f, 0.652985f,
                                   -0.649441f, -0.817525f});
    expect_begins(drawn(*rng, 4), {0.139138f, -0.108216f, -0.717422f, 0.756649f});
    expect_begins(first_draw(RngKind::cuda, 0, 4), {-0.924662f, -0.425344f, -2.643846f, 0.145184f});
    expect_begins(first_draw(RngKind::cuda, 4294967298u, 4), {-0.851323f, -0.152772f, 0.789856f, 0.140439f});
}

TEST(rng, cuda_begins_again_when_seeded) {
    const std::unique_ptr<Rng> rng = make_rng(RngKind::cuda);
    rng->seed(42);
    const std::vector<float> first = drawn(*rng, 5);
    EXPECT_NE(drawn(*rng, 5), first);
    rng->seed(42);
    EXPECT_EQ(drawn(*rng, 5), first);
}

TEST(rng, cuda_numbers_do_not_depend_on_how_many_are_asked_for) {
    const std::vector<float> many = first_draw(RngKind::cuda, 7, 1000),
                             few = first_draw(RngKind::cuda, 7, 10);
    EXPECT_EQ(std::vector<float>(many.begin(), many.begin() + 10), few);
}

TEST(rng, cpu_has_the_published_numbers) {
    const std::vector<float> sixteen = {
        1.926915f,  1.487284f, 0.900717f,  -2.105521f, 0.678418f,  -1.234545f, -0.043067f, -1.604667f,
        -0.752135f, 1.648723f, -0.392479f, -1.403607f, -0.727881f, -0.559430f, -0.768839f, 0.762445f};
    expect_begins(first_draw(RngKind::cpu, 42, 16), sixteen);
    expect_begins(first_draw(RngKind::cpu, 42, 20),
                  {1.926915f,  1.487284f, 0.900717f,  -2.105521f, -0.758131f, 1.078318f,  0.800801f,
                   1.680621f,  0.355860f, -0.686623f, -0.493356f, 0.241488f,  -0.231624f, 0.041759f,
                   -0.251575f, 0.859859f, -0.309727f, -0.395710f, 0.803409f,  -0.621595f});
    expect_begins(first_draw(RngKind::cpu, 42, 6),
                  {0.336690f, 0.128809f, 0.234462f, 0.230333f, -1.122856f, -0.186328f});
    expect_begins(first_draw(RngKind::cpu, 0, 6),
                  {1.540996f, -0.293429f, -2.178789f, 0.568431f, -1.084522f, -1.398596f});
}

TEST(rng, cpu_looks_at_32_bits_of_the_seed) {
    EXPECT_EQ(first_draw(RngKind::cpu, 42, 20), first_draw(RngKind::cpu, 42 + (uint64_t(5) << 32), 20));
}

TEST(rng, cpu_keeps_the_second_of_a_pair_until_it_is_seeded) {
    const std::vector<float> three = first_draw(RngKind::cpu, 9, 3);
    const std::unique_ptr<Rng> rng = make_rng(RngKind::cpu);
    rng->seed(9);
    EXPECT_EQ(drawn(*rng, 1)[0], three[0]);
    EXPECT_EQ(drawn(*rng, 1)[0], three[1]);
    EXPECT_EQ(drawn(*rng, 1)[0], three[2]);
    rng->seed(9);
    EXPECT_EQ(drawn(*rng, 1)[0], three[0]);
}

TEST(rng, every_generator_is_normal_and_starts_with_seed_0) {
    for (const std::string & name : rng_names()) {
        const RngKind kind = find_rng(name);
        EXPECT_EQ(rng_name(kind), name);
        const std::unique_ptr<Rng> rng = make_rng(kind);
        const std::vector<float> values = drawn(*rng, 100000);
        EXPECT_EQ(values, first_draw(kind, 0, 100000)) << name;
        double sum = 0.0, squares = 0.0;
        for (const float v : values) sum += double(v), squares += double(v) * double(v);
        EXPECT_NEAR(sum / 1e5, 0.0, 0.02) << name;
        EXPECT_NEAR(squares / 1e5, 1.0, 0.03) << name;
    }
}

TEST(rng, unknown_generators_are_refused) {
    EXPECT_EQ(reason_of([] { find_rng("gpu"); }),
              "there is no random number generator \"gpu\" (use one of cuda, cpu, std_default)");
}

} // namespace
} // namespace sd::test
