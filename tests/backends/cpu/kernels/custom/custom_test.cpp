// MAP_CUSTOM1..3 and CUSTOM: who is called, with what, how often.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <atomic>

namespace ggml::test {
namespace {

struct Calls {
    std::atomic<int> count{0};
    std::atomic<int> seen{0}; // bit per thread number
    std::atomic<int> nth{0};

    void note(int ith, int n) {
        ++count;
        seen |= 1 << ith;
        nth = n;
    }
};

float * floats(ggml_tensor * t) { return static_cast<float *>(t->data); }
const float * floats(const ggml_tensor * t) { return static_cast<const float *>(t->data); }

void add_one(ggml_tensor * dst, const ggml_tensor * a, int ith, int nth, void * userdata) {
    static_cast<Calls *>(userdata)->note(ith, nth);
    for (int64_t i = ith; i < ggml_nelements(dst); i += nth) floats(dst)[i] = floats(a)[i] + 1;
}

void subtract(ggml_tensor * dst, const ggml_tensor * a, const ggml_tensor * b, int ith, int nth,
              void * userdata) {
    static_cast<Calls *>(userdata)->note(ith, nth);
    for (int64_t i = ith; i < ggml_nelements(dst); i += nth) floats(dst)[i] = floats(a)[i] - floats(b)[i];
}

void multiply_add(ggml_tensor * dst, const ggml_tensor * a, const ggml_tensor * b, const ggml_tensor * c,
                  int ith, int nth, void * userdata) {
    static_cast<Calls *>(userdata)->note(ith, nth);
    for (int64_t i = ith; i < ggml_nelements(dst); i += nth) {
        floats(dst)[i] = floats(a)[i] * floats(b)[i] + floats(c)[i];
    }
}

void count_up(ggml_tensor * dst, int ith, int nth, void * userdata) {
    static_cast<Calls *>(userdata)->note(ith, nth);
    const float start = dst->src[0] != nullptr ? floats(dst->src[0])[0] : 0.0f;
    for (int64_t i = ith; i < ggml_nelements(dst); i += nth) floats(dst)[i] = start + float(i);
}

TEST(map_custom, functions_see_their_operands) {
    OpCheck c;
    Calls calls;
    ggml_tensor * a = c.values({1, 2, 3}, {3, 1, 1, 1});
    ggml_tensor * b = c.values({10, 20, 30}, {3, 1, 1, 1});
    ggml_tensor * d = c.values({5, 5, 5}, {3, 1, 1, 1});
    for (const bool use_ref : {false, true}) {
        const auto run = [&](ggml_tensor * t) { return c.compute(t, use_ref, 2); };
        EXPECT_EQ(run(ggml_map_custom1(c.ctx(), a, add_one, 2, &calls)), (std::vector<double>{2, 3, 4}));
        EXPECT_EQ(run(ggml_map_custom2(c.ctx(), a, b, subtract, 2, &calls)),
                  (std::vector<double>{-9, -18, -27}));
        EXPECT_EQ(run(ggml_map_custom3(c.ctx(), a, b, d, multiply_add, 2, &calls)),
                  (std::vector<double>{15, 45, 95}));
        ggml_tensor * args[] = {b};
        EXPECT_EQ(run(ggml_custom_4d(c.ctx(), GGML_TYPE_F32, 2, 2, 1, 1, args, 1, count_up, 1, &calls)),
                  (std::vector<double>{10, 11, 12, 13}));
    }
}

TEST(map_custom, runs_on_as_many_threads_as_asked_for_and_available) {
    for (const int threads : {1, 2, 3, 8}) {
        for (const int tasks : {1, 2, 5, 100, GGML_N_TASKS_MAX}) {
            OpCheck c;
            Calls calls;
            ggml_tensor * node =
                ggml_map_custom1(c.ctx(), c.input(GGML_TYPE_F32, {100, 1, 1, 1}), add_one, tasks, &calls);
            c.compute(node, false, threads);
            const int expected = tasks == GGML_N_TASKS_MAX ? threads : std::min(tasks, threads);
            EXPECT_EQ(calls.count, expected) << threads << " threads, " << tasks << " tasks";
            EXPECT_EQ(calls.nth, expected);
            EXPECT_EQ(calls.seen, (1 << expected) - 1);
        }
    }
}

TEST(map_custom, the_reference_calls_once) {
    OpCheck c;
    Calls calls;
    c.compute(ggml_map_custom1(c.ctx(), c.input(GGML_TYPE_F32, {9, 1, 1, 1}), add_one, 4, &calls), true, 4);
    EXPECT_EQ(calls.count, 1);
    EXPECT_EQ(calls.nth, 1);
}

TEST(map_custom, in_place_variants_write_their_operand) {
    OpCheck c;
    Calls calls;
    ggml_tensor * a = c.values({1, 2, 3}, {3, 1, 1, 1});
    c.compute(ggml_map_custom1_inplace(c.ctx(), a, add_one, GGML_N_TASKS_MAX, &calls), false, 2);
    EXPECT_EQ(read_elements(a), (std::vector<double>{2, 3, 4}));
    c.compute(ggml_custom_inplace(c.ctx(), a, nullptr, 0, count_up, 1, &calls), false, 2);
    EXPECT_EQ(read_elements(a)[2], read_elements(a)[0] + 2);
}

TEST(map_custom, refuses_a_missing_function) {
    OpCheck c;
    ggml_tensor * node = ggml_map_custom1(c.ctx(), c.input(GGML_TYPE_F32, {9, 1, 1, 1}), nullptr, 1, nullptr);
    EXPECT_FALSE(cpu::find_kernels(GGML_OP_MAP_CUSTOM1)->supports(node));
    EXPECT_EQ(c.compute_status(node, false), GGML_STATUS_FAILED);
}

} // namespace
} // namespace ggml::test
