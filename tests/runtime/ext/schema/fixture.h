// A context with two inputs, and operators whose inference is a function of the test.
#pragma once

#include "runtime/ext/schema/schema.h"
#include "tests/runtime/ext/registry/fixture.h"
#include "tests/support/log_capture.h"

#include <functional>

namespace ggml::test {

using Infer = std::function<bool(const ggml_tensor * const * inputs, int n_inputs, const void * attrs,
                                 ggml_ext_output & output, ggml_ext_why_t why)>;

inline bool call_infer(const ggml_tensor * const * inputs, int n_inputs, const void * attrs,
                       ggml_ext_output * output, ggml_ext_why_t why, void * user_data) {
    return (*static_cast<const Infer *>(user_data))(inputs, n_inputs, attrs, *output, why);
}

class ExtSchema : public testing::Test {
  protected:
    void SetUp() override {
        ctx = ggml_init({1 << 20, nullptr, true});
        const int64_t ne[] = {8, 4};
        x = ggml_set_name(ggml_new_tensor(ctx, GGML_TYPE_F32, 2, ne), "x");
        scale = ggml_set_name(ggml_new_tensor(ctx, GGML_TYPE_F16, 1, ne), "scale");
    }
    void TearDown() override { ggml_free(ctx); }

    // `infer` must live as long as nodes are made.
    ggml_ext_op_t op_of(const Infer & infer, size_t attr_size = 0) {
        return new_op("schema", attr_size, call_infer, const_cast<Infer *>(&infer));
    }
    ggml_tensor * create(ggml_ext_op_t op, std::vector<ggml_tensor *> inputs,
                         const std::vector<char> & attrs = {}) {
        return ggml_ext_op_create(ctx, op, inputs.data(), int(inputs.size()), attrs.data(), attrs.size());
    }

    // Nothing was made, and thread and log know why.
    void expect_none(ggml_ext_reason reason, const std::vector<std::string> & parts,
                     const std::function<ggml_tensor *()> & make) {
        const size_t used = ggml_used_mem(ctx);
        LogCapture log;
        EXPECT_EQ(make(), nullptr);
        EXPECT_EQ(ggml_used_mem(ctx), used);
        expect_refused(GGML_EXT_REFUSED, GGML_EXT_REFUSED, reason, parts);
        EXPECT_EQ(log.text, std::string("ggml_ext: ") + ggml_ext_last_message() + " (" +
                                ggml_ext_reason_name(reason) + ")\n");
    }

    ggml_context * ctx = nullptr;
    ggml_tensor *x = nullptr, *scale = nullptr;
};

} // namespace ggml::test
