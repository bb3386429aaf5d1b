// gguf_seeds FOLDER: writes small valid files that together use every value type, tensor types and
// alignments.
#include "ggml-cpp.h"
#include "gguf.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace {

void add_pairs(gguf_context * g) {
    gguf_set_val_u8(g, "a.u8", 1);
    gguf_set_val_i16(g, "a.i16", -2);
    gguf_set_val_f32(g, "a.f32", 3.5f);
    gguf_set_val_u64(g, "a.u64", 4);
    gguf_set_val_f64(g, "a.f64", 5.5);
    gguf_set_val_bool(g, "a.bool", true);
    gguf_set_val_str(g, "general.architecture", "seed");
    const char * tokens[] = {"<s>", "a", "bc"};
    gguf_set_arr_str(g, "tokens", tokens, 3);
    const int32_t shape[] = {1, 2, 3, 4};
    gguf_set_arr_data(g, "shape", GGUF_TYPE_INT32, shape, 4);
}

void add_tensors(gguf_context * g, ggml_context * ctx) {
    int i = 0;
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q6_K, GGML_TYPE_I8}) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx, type, 256, 1 + i % 2);
        ggml_format_name(t, "blk.%d.weight", i++);
        std::memset(t->data, 0, ggml_nbytes(t));
        gguf_add_tensor(g, t);
    }
}

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: gguf_seeds FOLDER\n");
        return 1;
    }
    for (int i = 0; i < 4; ++i) {
        ggml_context_ptr ctx(ggml_init({1u << 16, nullptr, false}));
        gguf_context_ptr g(gguf_init_empty());
        if (i == 3) gguf_set_val_u32(g.get(), "general.alignment", 8);
        if (i > 0) add_pairs(g.get());
        if (i > 1) add_tensors(g.get(), ctx.get());
        const std::string name = std::string(argv[1]) + "/seed" + std::to_string(i) + ".gguf";
        if (!gguf_write_to_file(g.get(), name.c_str(), false)) return 1;
    }
    return 0;
}
