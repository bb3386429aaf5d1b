// A program of somebody who installed the engine and uses its operators in a graph of their own.
#include <ggml-backend.h>
#include <sd-ggml-ops.h>

int main(void) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (cpu == NULL || sd_ggml_register_extensions(cpu) != GGML_EXT_SUCCESS) return 1;
    struct ggml_init_params params = {1 << 20, NULL, true};
    struct ggml_context * ctx = ggml_init(params);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 256, 3);
    struct ggml_tensor * w = ggml_new_tensor_2d(ctx, GGML_TYPE_I8, 256, 5);
    struct ggml_tensor * y = ggml_mul_mat_i8_tensorwise(ctx, w, x, NULL, NULL, 256, NULL);
    const bool good = y != NULL && y->ne[0] == 5 && y->ne[1] == 3 && ggml_backend_dev_supports_op(cpu, y);
    ggml_free(ctx);
    return good ? 0 : 1;
}
