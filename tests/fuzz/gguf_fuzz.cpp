// Any bytes as a GGUF file: opened with and without data, walked through every accessor, written and read
// again.
#include "ggml-cpp.h"
#include "gguf.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

volatile size_t sink; // keeps the walk from being optimized away

void walk(const gguf_context * g) {
    size_t sum = 0;
    for (int64_t i = 0; i < gguf_get_n_kv(g); ++i) {
        sum += std::strlen(gguf_get_key(g, i));
        const gguf_type type = gguf_get_kv_type(g, i);
        if (type == GGUF_TYPE_STRING) {
            sum += std::strlen(gguf_get_val_str(g, i));
        } else if (type != GGUF_TYPE_ARRAY) {
            sum += *static_cast<const uint8_t *>(gguf_get_val_data(g, i));
        } else if (gguf_get_arr_type(g, i) == GGUF_TYPE_STRING) {
            for (size_t j = 0; j < gguf_get_arr_n(g, i); ++j) sum += std::strlen(gguf_get_arr_str(g, i, j));
        } else if (gguf_get_arr_n(g, i) > 0) {
            sum += *static_cast<const uint8_t *>(gguf_get_arr_data(g, i));
        }
    }
    for (int64_t i = 0; i < gguf_get_n_tensors(g); ++i) {
        sum += std::strlen(gguf_get_tensor_name(g, i)) + gguf_get_tensor_size(g, i) +
               gguf_get_tensor_offset(g, i);
    }
    sink = sum;
}

// What was read can be written, and reads back as the same bytes.
void rewrite(const gguf_context * g) {
    if (gguf_get_alignment(g) > 4096) return; // padding alone would fill memory
    std::vector<uint8_t> once(gguf_get_meta_size(g));
    gguf_get_meta_data(g, once.data());
    gguf_context_ptr back(gguf_init_from_buffer(once.data(), once.size(), {true, nullptr}));
    if (back == nullptr) std::abort();
    std::vector<uint8_t> twice(gguf_get_meta_size(back.get()));
    gguf_get_meta_data(back.get(), twice.data());
    if (once != twice) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    if (gguf_context_ptr g{gguf_init_from_buffer(data, size, {true, nullptr})}) {
        walk(g.get());
        rewrite(g.get());
    }
    ggml_context * ctx = nullptr;
    gguf_context_ptr loaded(gguf_init_from_buffer(data, size, {false, &ctx}));
    size_t sum = 0;
    if (ctx != nullptr) {
        for (ggml_tensor * t = ggml_get_first_tensor(ctx); t != nullptr; t = ggml_get_next_tensor(ctx, t)) {
            if (ggml_nbytes(t) > 0) sum += static_cast<const uint8_t *>(t->data)[ggml_nbytes(t) - 1];
        }
        ggml_free(ctx);
    }
    sink = sum;
    return 0;
}
