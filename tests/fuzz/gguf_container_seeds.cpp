// gguf_container_seeds FOLDER: writes small files with tensors of several ranks and types, some with original
// shapes.
#include "ggml-cpp.h"
#include "gguf.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace {

void add_tensors(gguf_context * g, ggml_context * ctx) {
    int i = 0;
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K}) {
        ggml_tensor * t = ggml_new_tensor_3d(ctx, type, 256, 1 + i % 2, 1 + i / 2);
        ggml_format_name(t, "blk.%d.weight", i++);
        std::memset(t->data, 0, ggml_nbytes(t));
        gguf_add_tensor(g, t);
    }
}

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: gguf_container_seeds FOLDER\n");
        return 1;
    }
    for (int i = 0; i < 3; ++i) {
        ggml_context_ptr ctx(ggml_init({1u << 16, nullptr, false}));
        gguf_context_ptr g(gguf_init_empty());
        gguf_set_val_u32(g.get(), "general.alignment", i == 2 ? 8 : 32);
        const int32_t shape[] = {2, 4, 4, 4, 2};
        const int64_t wide[] = {512, 1};
        if (i > 0) {
            gguf_set_arr_data(g.get(), "comfy.gguf.orig_shape.blk.0.weight", GGUF_TYPE_INT32, shape, 5);
            gguf_set_arr_data(g.get(), "comfy.gguf.orig_shape.blk.1.weight", GGUF_TYPE_INT64, wide, 2);
            gguf_set_arr_data(g.get(), "comfy.gguf.orig_shape.other", GGUF_TYPE_INT64, wide, 2);
        }
        add_tensors(g.get(), ctx.get());
        const std::string name = std::string(argv[1]) + "/seed" + std::to_string(i) + ".gguf";
        if (!gguf_write_to_file(g.get(), name.c_str(), false)) return 1;
    }
    return 0;
}
