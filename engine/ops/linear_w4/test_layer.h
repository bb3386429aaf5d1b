// A layer of each format for the tests of this room, checked with every kernel that this processor can run.
#pragma once

#include "ops/common/cpu.h"
#include "ops/common/test_graph.h"
#include "ops/linear_w4/schema.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace sd::test {

inline std::vector<std::pair<std::string, Isa>> all_kernels() {
    return {
#define X(name, gemm, isa) {name, isa},
#include "ops/linear_w4/kernels.inc"
#undef X
    };
}

inline std::vector<std::string> all_kernel_names() {
    std::vector<std::string> names;
    for (const auto & [name, isa] : all_kernels()) names.push_back(name);
    return names;
}

inline std::vector<std::string> usable_kernel_names() {
    std::vector<std::string> names;
    for (const auto & [name, isa] : all_kernels()) {
        if (cpu_may_use(isa)) names.push_back(name);
    }
    return names;
}

struct PackedSize {
    int64_t k, n;
};

// On one to three threads.
inline void check_against(const Build & graph, const Outcome & expected, const std::string & what,
                          RunOptions options = {}) {
    for (const std::string & name : usable_kernel_names()) {
        options.disabled = all_but(all_kernel_names(), name);
        for (options.n_threads = 1; options.n_threads <= 3; ++options.n_threads) {
            if (!expect_same_floats(run(graph, options), expected, what + ", " + name)) return;
        }
    }
}

// A copy of packed activations: the reference computes one node, from inputs.
inline ggml_tensor * packed_copy(Inputs & in, ggml_tensor * x, int group) {
    const Outcome packed = run([&](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, x, group); });
    ggml_tensor * copy = in.tensor(GGML_TYPE_I8, packed.ne);
    std::copy(packed.bytes.begin(), packed.bytes.end(), static_cast<uint8_t *>(copy->data));
    return copy;
}

// The layer on a copy of its packed activations, which knows nothing of where it came from.
inline Build on_copy(const Build & layer, ggml_tensor * copy) {
    return [=](ggml_context * ctx) {
        ggml_tensor * y = layer(ctx);
        if (y != nullptr) y->src[1] = copy;
        return y;
    };
}

// W4A4.
struct SignedLayer {
    Inputs in;
    ggml_tensor *w, *scale, *bias;

    explicit SignedLayer(PackedSize size, uint32_t seed = 1)
        : in(seed), w(in.bytes({size.k / 2, size.n, 1, 1})), scale(in.floats({size.n, 1, 1, 1})),
          bias(in.floats({size.n, 1, 1, 1})) {}

    ggml_tensor * node(ggml_context * ctx, ggml_tensor * x, int group) const {
        return ggml_mul_mat_w4_convrot(ctx, w, x, scale, nullptr, nullptr, nullptr, bias, group);
    }
    Build build(ggml_tensor * x, int group) const {
        return [=, this](ggml_context * ctx) { return node(ctx, x, group); };
    }
    Outcome expected(ggml_tensor * x, int group) {
        return reference(on_copy(build(x, group), packed_copy(in, x, group)), linear_w4_reference);
    }
    void check(ggml_tensor * x, int group, const std::string & what) {
        check_against(build(x, group), expected(x, group), what);
    }
};

// W4A8.
struct BookLayer {
    Inputs in;
    PackedSize size;
    ggml_tensor *w, *codebook, *channel, *relative, *bias;

    explicit BookLayer(PackedSize s, uint32_t seed = 1)
        : in(seed), size(s), w(in.bytes({s.k / 2, s.n, 1, 1})), codebook(in.floats({16, 1, 1, 1})),
          channel(in.floats({s.n, 1, 1, 1})), relative(in.bytes({s.k / 16, s.n, 1, 1})),
          bias(in.floats({s.n, 1, 1, 1})) {
        for (int64_t i = 0; i < ggml_nelements(relative); ++i) { // no NaN
            uint8_t & byte = static_cast<uint8_t *>(relative->data)[i];
            if ((byte & 0x7f) == 0x7f) byte = 0x38;
        }
    }

    Build build(ggml_tensor * x, int group) const {
        return [=, this](ggml_context * ctx) {
            return ggml_mul_mat_w4_convrot(ctx, w, x, nullptr, codebook, channel, relative, bias, group);
        };
    }

    Outcome expected(ggml_tensor * x, int group) {
        return reference(on_copy(build(x, group), packed_copy(in, x, group)), linear_w4_reference);
    }

    // The same sums of magnitudes, which the room for rounding is a multiple of.
    Outcome magnitudes(ggml_tensor * x, int group) {
        ggml_tensor * codes = packed_copy(in, x, group);
        for (int64_t i = 0; i < ggml_nrows(x) * size.k; ++i) {
            int8_t & code = static_cast<int8_t *>(codes->data)[i];
            code = int8_t(std::abs(code));
        }
        BookLayer positive(size);
        positive.w = w;
        positive.bias = bias == nullptr ? nullptr : absolute(positive.in, bias);
        positive.codebook = absolute(positive.in, codebook);
        positive.channel = absolute(positive.in, channel);
        positive.relative = positive.in.tensor(GGML_TYPE_I8, {size.k / 16, size.n, 1, 1});
        for (int64_t i = 0; i < ggml_nelements(relative); ++i)
            static_cast<int8_t *>(positive.relative->data)[i] =
                static_cast<int8_t *>(relative->data)[i] & 0x7f;
        return reference(on_copy(positive.build(x, group), codes), linear_w4_reference);
    }

    // Within what implementations of the format are allowed. On each number of threads the same bits.
    void check(ggml_tensor * x, int group, const std::string & what) {
        const Outcome wanted = expected(x, group), room = magnitudes(x, group);
        for (const std::string & name : usable_kernel_names()) {
            RunOptions options = {.n_threads = 1, .disabled = all_but(all_kernel_names(), name)};
            const Outcome got = run(build(x, group), options);
            if (!expect_within(got, wanted, room, what + ", " + name)) return;
            for (options.n_threads = 2; options.n_threads <= 3; ++options.n_threads)
                expect_same_floats(run(build(x, group), options), got, what + ", threads, " + name);
        }
    }

    bool expect_within(const Outcome & got, const Outcome & wanted, const Outcome & room,
                       const std::string & what) const {
        const std::vector<float> a = got.floats(), b = wanted.floats(), m = room.floats();
        EXPECT_EQ(got.status, GGML_STATUS_SUCCESS) << what;
        EXPECT_EQ(got.ne, wanted.ne) << what;
        const double unit = double(size.k / 16 + 32) * 0x1p-24;
        for (size_t i = 0; i < b.size() && i < a.size(); ++i) {
            if (std::isnan(a[i]) && std::isnan(b[i])) continue;
            if (std::fabs(double(a[i]) - double(b[i])) <= unit * double(m[i]) + 1e-37) continue;
            ADD_FAILURE() << what << ": element " << i << " is " << a[i] << " and not " << b[i];
            return false;
        }
        return true;
    }

  private:
    static ggml_tensor * absolute(Inputs & in, const ggml_tensor * t) {
        ggml_tensor * copy = in.tensor(GGML_TYPE_F32, {t->ne[0], 1, 1, 1});
        for (int64_t i = 0; i < t->ne[0]; ++i)
            static_cast<float *>(copy->data)[i] = std::fabs(static_cast<const float *>(t->data)[i]);
        return copy;
    }
};

} // namespace sd::test
