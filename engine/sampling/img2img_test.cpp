#include "sampling/img2img.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

using Floats = std::vector<float>;

Sigmas simple(int steps) {
    ScheduleRequest request;
    request.steps = steps;
    return make_schedule("simple", request);
}

size_t steps_left(int steps, float strength) { return cut_schedule(simple(steps), strength, {}).size() - 1; }

TEST(img2img, strength_is_a_share_of_the_steps_and_one_more) {
    const Sigmas all = simple(20), cut = cut_schedule(all, 0.75f, {});
    EXPECT_EQ(cut.size() - 1, 16u);
    EXPECT_EQ(cut.front(), all[4]);
    EXPECT_EQ(cut.back(), 0.0f);
    EXPECT_EQ(steps_left(10, 0.7f), 8u); // 7 in floats, although 0.7f is less than 0.7
    EXPECT_EQ(steps_left(20, 0.0f), 1u);
    EXPECT_EQ(steps_left(20, 1.0f), 20u);
    EXPECT_EQ(steps_left(20, 0.99f), 20u);
    EXPECT_EQ(steps_left(1, 0.5f), 1u);
    EXPECT_EQ(steps_left(1, 1.0f), 1u);
}

TEST(img2img, strength_can_be_a_noise_level) {
    const KeyValues level = KeyValues::parse("strength_as_noise_level=1");
    const Sigmas sigmas = {1.0f, 0.8f, 0.5f, 0.3f, 0.0f};
    EXPECT_EQ(cut_schedule(sigmas, 0.6f, level), (Sigmas{0.5f, 0.3f, 0.0f}));
    EXPECT_EQ(cut_schedule(sigmas, 0.5f, level), (Sigmas{0.5f, 0.3f, 0.0f}));
    EXPECT_EQ(cut_schedule(sigmas, 1.0f, level), sigmas);
    EXPECT_EQ(cut_schedule(sigmas, 0.1f, level), (Sigmas{0.3f, 0.0f})); // one step remains
}

TEST(img2img, the_first_level_can_be_the_strength_itself) {
    const KeyValues forced = KeyValues::parse("strength_as_noise_level=1,force_first_sigma=1");
    const Sigmas sigmas = {1.0f, 0.8f, 0.5f, 0.3f, 0.0f};
    EXPECT_EQ(cut_schedule(sigmas, 0.6f, forced), (Sigmas{0.6f, 0.3f, 0.0f}));
    EXPECT_EQ(cut_schedule(sigmas, 0.1f, forced), (Sigmas{0.1f, 0.0f}));
    EXPECT_EQ(reason_of([&] { cut_schedule(sigmas, 0.0f, forced); }),
              "schedule for strength 0.000000: noise level 2, 0, is not below the one before, 0");
    EXPECT_EQ(reason_of([&] { cut_schedule(sigmas, 0.5f, KeyValues::parse("force_first_sigma=1")); }),
              "force_first_sigma needs strength_as_noise_level");
}

TEST(img2img, strengths_out_of_range_are_refused) {
    EXPECT_EQ(reason_of([] { steps_left(8, 1.5f); }), "strength 1.500000 is no number from 0 to 1");
    EXPECT_EQ(reason_of([] { steps_left(8, -0.1f); }), "strength -0.100000 is no number from 0 to 1");
    EXPECT_EQ(reason_of([] { steps_left(8, NAN); }), "strength nan is no number from 0 to 1");
}

TEST(img2img, the_second_pass_runs_about_as_many_steps_as_asked_for) {
    const HiresSteps usual = hires_steps(20, 0, 0.7f);
    EXPECT_EQ(usual.steps, 28);
    EXPECT_EQ(usual.start, 28 - 19 - 1); // int(28 * 0.7) = 19
    const HiresSteps own = hires_steps(20, 10, 0.5f);
    EXPECT_EQ(own.steps, 20);
    EXPECT_EQ(own.start, 9);
    const HiresSteps all = hires_steps(20, 0, 1.0f);
    EXPECT_EQ(all.steps, 20);
    EXPECT_EQ(all.start, 0);
    EXPECT_EQ(hires_steps(20, 0, 2.0f).start, 0);     // clamped to 1
    EXPECT_EQ(hires_steps(2, 0, -1.0f).steps, 20000); // to 0.0001
    EXPECT_EQ(reason_of([] { hires_steps(0, 0, 0.7f); }),
              "steps of the second pass: 0 is no number from 1 to 10000");
    EXPECT_EQ(reason_of([] { hires_steps(2147483647, 0, 0.7f); }),
              "steps of the second pass: 2147483647 is no number from 1 to 10000");
    EXPECT_EQ(reason_of([] { hires_steps(20, 0, NAN); }),
              "denoising strength of the second pass is no number");
}

TEST(img2img, picture_and_noise_are_mixed_by_the_level) {
    const Floats init = {4.0f, 8.0f}, noise = {1.0f, -1.0f};
    Floats x(2);
    mix_noise(init.data(), noise.data(), 0.25f, 2, x.data());
    EXPECT_EQ(x, (Floats{3.25f, 5.75f}));
    mix_noise(nullptr, noise.data(), 0.25f, 2, x.data());
    EXPECT_EQ(x, (Floats{0.25f, -0.25f}));
    mix_noise(init.data(), noise.data(), 1.0f, 2, x.data());
    EXPECT_EQ(x, noise);
}

TEST(img2img, what_is_left_of_noise_is_taken_off) {
    Floats x = {3.0f, -1.5f};
    remove_noise_share(0.0f, 2, x.data());
    EXPECT_EQ(x, (Floats{3.0f, -1.5f}));
    remove_noise_share(0.25f, 2, x.data());
    EXPECT_EQ(x, (Floats{4.0f, -2.0f}));
}

TEST(img2img, masked_cells_are_kept_in_all_channels) {
    const Floats init = {1, 2, 3, 4}, mask = {0, 1};
    Floats d = {NAN, 20, 30, 40};
    keep_unmasked(init.data(), mask.data(), 2, 2, d.data());
    EXPECT_EQ(d, (Floats{1, 20, 3, 40}));
}

// Whatever the method: where the mask is 0, the end is the picture that was there.
TEST(img2img, masked_sampling_ends_at_the_picture) {
    const Floats init = {0.25f, -3.0f}, mask = {0.0f, 1.0f};
    for (const std::string & name : usable_samplers()) {
        const SamplerRun run = run_sampler(name, {1.0f, 1.0f}, simple(6), [&](const Evaluation & e) {
            GaussianModel().denoise()(e);
            keep_unmasked(init.data(), mask.data(), 2, 1, e.denoised);
            return true;
        });
        EXPECT_NEAR(run.x[0], 0.25f, 1e-6f) << name;
        EXPECT_GT(run.x[1], -2.0f) << name;
    }
}

TEST(img2img, a_cell_is_made_anew_if_one_of_its_pixels_is) {
    Floats mask(16 * 8, 0.0f);
    mask[7] = 0.5f;           // the last pixel of the first cell, just enough
    mask[7 * 16 + 8] = 0.49f; // not enough
    EXPECT_EQ(shrink_mask(mask.data(), 16, 8, 2, 1), (Floats{1, 0}));
    mask[3 * 16 + 15] = 1.0f;
    EXPECT_EQ(shrink_mask(mask.data(), 16, 8, 2, 1), (Floats{1, 1}));
    const Floats nan = {NAN};
    EXPECT_EQ(shrink_mask(nan.data(), 1, 1, 1, 1), (Floats{0}));
}

TEST(img2img, masks_of_any_size_are_mapped) {
    const Floats three = {1, 0, 0};
    EXPECT_EQ(shrink_mask(three.data(), 3, 1, 2, 1), (Floats{1, 0})); // cells share the pixel in the middle
    const Floats middle = {0, 1, 0};
    EXPECT_EQ(shrink_mask(middle.data(), 3, 1, 2, 1), (Floats{1, 1}));
    const Floats two = {1, 0};
    EXPECT_EQ(shrink_mask(two.data(), 1, 2, 1, 4), (Floats{1, 1, 0, 0})); // larger
}

} // namespace
} // namespace sd::test
