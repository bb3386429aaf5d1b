// sd.linear_i8.v1 on the CPU: one kernel per instruction set, which differ in their Int8Gemm alone.
#include "ops/common/cpu.h"
#include "kernels/cpu/int8_matmul.h"
#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/linear_i8/schema.h"

#include <new>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    const Int8Gemm & (*entry)();
    Isa isa;
};

constexpr Kernel kKernels[] = {
#define X(name, entry, isa) {name, entry, isa},
#include "ops/linear_i8/kernels.inc"
#undef X
};

const Kernel & kernel_of(void * user_data) { return *static_cast<const Kernel *>(user_data); }

const float * values_of(const ggml_tensor * t) {
    return t != nullptr ? static_cast<const float *>(t->data) : nullptr;
}

class Source : public Int8Source {
  public:
    Source(const ggml_tensor * node, const Kernel & kernel)
        : rows_(node), gemm_(kernel.entry()),
          quantize_(kernel.isa == Isa::scalar ? rotate_quantize_scalar : rotate_quantize_simd),
          weight_(static_cast<const int8_t *>(node->src[0]->data)) {}

    // The room of quantized rows: their codes, then a row of floats.
    static size_t room_extra(const LinearI8Rows & rows) {
        return rows.kind == LinearI8Input::floats ? size_t(rows.k) * sizeof(float) + alignof(float) : 0;
    }

    const int8_t * rows(int64_t first, int count, void * room, float * scales) const override {
        const int64_t k = rows_.k;
        if (rows_.kind != LinearI8Input::floats) {
            for (int r = 0; r < count; ++r) scales[r] = rows_.scale(first + r);
            return rows_.codes(first);
        }
        auto * codes = static_cast<int8_t *>(room);
        const size_t behind = (size_t(count) * size_t(k) + alignof(float) - 1) / alignof(float);
        for (int r = 0; r < count; ++r) {
            quantize_({rows_.floats(first + r), k, rows_.group, codes + r * k, scales + r,
                       static_cast<float *>(room) + behind});
        }
        return codes;
    }

    void pack_panel(uint8_t * panel, int64_t first, int n) const override {
        gemm_.pack_panel(panel, weight_ + first * rows_.k, rows_.k, n, rows_.k);
    }

    void dots(int32_t * sums, int64_t sums_stride, int64_t first, int n, const void * rows, size_t row_bytes,
              const int32_t * start, int m, int64_t k0, int64_t k) const override {
        gemm_.dots(sums, sums_stride, weight_ + first * rows_.k + k0, rows_.k, n, rows, row_bytes, start, m,
                   k);
    }

  private:
    const LinearI8Rows rows_;
    const Int8Gemm & gemm_;
    const RotateQuantize quantize_;
    const int8_t * weight_;
};

bool supports(ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t why, void * self) {
    if (cpu_may_use(kernel_of(self).isa)) return true;
    return ggml_ext_refuse(why, "the processor, or GGML_CPU_ISA, has no such instructions");
}

struct Prepared {
    size_t output_bytes;
    Int8Plan plan;
};

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void * self) {
    const ggml_tensor * node = params->step.nodes[0];
    const LinearI8Rows rows(node);
    auto * state = new (std::nothrow) Prepared{
        Output::scratch_bytes(*params), int8_plan(kernel_of(self).entry(), rows.n, node->ne[0], rows.k,
                                                  cpu_threads(params->backend), Source::room_extra(rows))};
    if (state == nullptr) return GGML_STATUS_ALLOC_FAILED;
    prepared->state = state;
    prepared->workspace_bytes = state->output_bytes + state->plan.workspace_bytes;
    return GGML_STATUS_SUCCESS;
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    const auto & [output_bytes, plan] = *static_cast<const Prepared *>(state);
    const ggml_tensor * node = params->step.nodes[0];
    const Output output(params->step, output_bytes > 0 ? params->workspace_base : nullptr);
    const LinearI8Inputs in = LinearI8Inputs::of(node);
    const Source source(node, kernel_of(self));
    const Int8Result result = {static_cast<float *>(output.data()), values_of(in.weight_scale),
                               values_of(in.bias)};
    const ggml_status status = int8_multiply(plan, source, result, params->backend,
                                             static_cast<std::byte *>(params->workspace_base) + output_bytes);
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

void destroy(void * state, void *) { delete static_cast<Prepared *>(state); }

} // namespace

ggml_ext_status register_linear_i8(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = linear_i8_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = supports;
    callbacks.prepare = prepare;
    callbacks.execute = execute;
    callbacks.destroy = destroy;
    return add_kernels(device, op, callbacks, kKernels);
}

} // namespace sd
