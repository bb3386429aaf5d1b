// Nodes that can take many seconds stop between their pieces, not after the last one.
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"

#include <gtest/gtest.h>

namespace {

struct Questions {
    int asked = 0, allowed = 0;
};

// What a graph of one node answers when the callback says stop after `allowed` questions.
ggml_status run(ggml_context * ctx, ggml_tensor * node, int threads, Questions & questions) {
    ggml_backend_ptr backend(ggml_backend_cpu_init());
    ggml_backend_cpu_set_n_threads(backend.get(), threads);
    const auto stop = [](void * data) {
        auto & q = *static_cast<Questions *>(data);
        return ++q.asked > q.allowed;
    };
    ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx, backend.get()));
    if (buffer == nullptr) return GGML_STATUS_ALLOC_FAILED;
    ggml_backend_buffer_clear(buffer.get(), 0);
    ggml_backend_cpu_set_abort_callback(backend.get(), stop, &questions);
    return ggml_backend_graph_compute(backend.get(), graph);
}

// The node's first piece is worked on, some more are, and then it ends with ABORTED. Left alone it succeeds.
void expect_stops_inside(ggml_tensor * (*build)(ggml_context *)) {
    for (const int threads : {1, 2}) {
        for (const int allowed : {3, 1'000'000}) {
            ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
            Questions questions{0, allowed};
            const ggml_status status = run(ctx.get(), build(ctx.get()), threads, questions);
            EXPECT_EQ(status, allowed == 3 ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS);
            EXPECT_GT(questions.asked, 3);
            if (allowed != 3) continue;
            EXPECT_EQ(questions.asked, 4) << "nobody asks again after the answer";
        }
    }
}

TEST(stop, attention_stops_between_its_pieces) {
    expect_stops_inside([](ggml_context * ctx) {
        ggml_tensor * q = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 64, 512, 16, 1);
        ggml_tensor * k = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 64, 512, 16, 1);
        ggml_tensor * v = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 64, 512, 16, 1);
        return ggml_flash_attn_ext(ctx, q, k, v, nullptr, 1.0f, 0.0f, 0.0f);
    });
}

TEST(stop, a_convolution_stops_between_its_strips) {
    expect_stops_inside([](ggml_context * ctx) {
        ggml_tensor * kernel = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 3, 3, 32, 32);
        ggml_tensor * image = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 512, 512, 32, 1);
        return ggml_conv_2d_direct(ctx, kernel, image, 1, 1, 1, 1, 1, 1);
    });
}

} // namespace
