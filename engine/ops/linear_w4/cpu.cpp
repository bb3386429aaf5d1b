// sd.linear_w4_convrot.v1 on the CPU: one kernel per instruction set, which differ in their tables alone.
#include "ops/common/cpu.h"
#include "kernels/cpu/book_matmul.h"
#include "kernels/cpu/int4_gemm.h"
#include "kernels/cpu/int8_matmul.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/linear_w4/schema.h"

#include <new>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    const Int8Gemm & (*gemm)();
    Isa isa;
};

constexpr Kernel kKernels[] = {
#define X(name, gemm, isa) {name, gemm, isa},
#include "ops/linear_w4/kernels.inc"
#undef X
};

const Kernel & kernel_of(void * user_data) { return *static_cast<const Kernel *>(user_data); }

class SignedWeights : public Int8Source {
  public:
    SignedWeights(const LinearW4Operands & in, const Int8Gemm & gemm) : in_(in), gemm_(gemm) {}

    const int8_t * rows(int64_t first, int count, void *, float * scales) const override {
        for (int r = 0; r < count; ++r) scales[r] = in_.x_scale[first + r];
        return in_.codes + first * in_.k;
    }

    void pack_panel(uint8_t * panel, int64_t first, int n) const override {
        gemm_.pack_panel(panel, in_.weight + first * (in_.k / 2), in_.k / 2, n, in_.k);
    }

    void dots(int32_t * sums, int64_t sums_stride, int64_t first, int n, const void * rows, size_t row_bytes,
              const int32_t * start, int m, int64_t k0, int64_t k) const override {
        gemm_.dots(sums, sums_stride, in_.weight + (first * in_.k + k0) / 2, in_.k / 2, n, rows, row_bytes,
                   start, m, k);
    }

  private:
    const LinearW4Operands & in_;
    const Int8Gemm & gemm_;
};

bool supports(ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t why, void * self) {
    if (cpu_may_use(kernel_of(self).isa)) return true;
    return ggml_ext_refuse(why, "the processor, or GGML_CPU_ISA, has no such instructions");
}

const BookGemm & book_of(const Kernel & kernel) {
    return kernel.isa == Isa::scalar ? book_gemm_scalar() : book_gemm_simd();
}

// One of the two plans.
struct Prepared {
    size_t output_bytes = 0;
    Int8Plan signed_weights = {};
    BookPlan book = {};
};

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void * self) {
    const LinearW4Operands in(params->step.nodes[0]);
    auto * state = new (std::nothrow) Prepared;
    if (state == nullptr) return GGML_STATUS_ALLOC_FAILED;
    const int n_threads = cpu_threads(params->backend);
    state->output_bytes = Output::scratch_bytes(*params);
    size_t bytes = 0;
    if (in.format == LinearW4Format::w4a4) {
        state->signed_weights = int8_plan(kernel_of(self).gemm(), in.rows, in.n, in.k, n_threads, 0);
        bytes = state->signed_weights.workspace_bytes;
    } else {
        state->book = book_plan(book_of(kernel_of(self)), in.rows, in.n, in.k, n_threads);
        bytes = state->book.workspace_bytes;
    }
    prepared->state = state;
    prepared->workspace_bytes = state->output_bytes + bytes;
    return GGML_STATUS_SUCCESS;
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    const Prepared & plans = *static_cast<const Prepared *>(state);
    const Output output(params->step, plans.output_bytes > 0 ? params->workspace_base : nullptr);
    const LinearW4Operands in(params->step.nodes[0]);
    auto * y = static_cast<float *>(output.data());
    auto * workspace = static_cast<std::byte *>(params->workspace_base) + plans.output_bytes;
    ggml_status status = GGML_STATUS_FAILED;
    if (in.format == LinearW4Format::w4a4) {
        const SignedWeights source(in, kernel_of(self).gemm());
        status =
            int8_multiply(plans.signed_weights, source, {y, in.scale, in.bias}, params->backend, workspace);
    } else {
        const auto * indices = reinterpret_cast<const uint8_t *>(in.weight);
        const BookOperands operands = {
            {indices, in.relative_scale, in.codebook, in.k}, in.scale, in.bias, in.codes, in.x_scale, y};
        status = book_multiply(plans.book, operands, params->backend, workspace);
    }
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

void destroy(void * state, void *) { delete static_cast<Prepared *>(state); }

} // namespace

ggml_ext_status register_linear_w4(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = linear_w4_op();
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
