#include "ops/common/cpu.h"
#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/attrs.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/quantize_i8_convrot/schema.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    RotateQuantize entry;
};

constexpr Kernel kKernels[] = {
#define X(name, entry) {name, entry},
#include "ops/quantize_i8_convrot/kernels.inc"
#undef X
};

constexpr size_t kCacheLine = 64;
size_t whole_lines(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// The workspace: scratch space of the output, then one rotated row for each thread.
struct Scratch {
    size_t output_bytes, row_bytes;
    int n_threads;

    static Scratch of(const ggml_ext_prepare_params & params) {
        const ggml_tensor * x = params.step.nodes[0]->src[0];
        return {whole_lines(Output::scratch_bytes(params)), whole_lines(size_t(x->ne[0]) * sizeof(float)),
                cpu_threads(params.backend)};
    }
};

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    const Scratch scratch = Scratch::of(*params);
    prepared->workspace_bytes = scratch.output_bytes + size_t(scratch.n_threads) * scratch.row_bytes;
    prepared->state = new (std::nothrow) Scratch(scratch);
    return prepared->state != nullptr ? GGML_STATUS_SUCCESS : GGML_STATUS_ALLOC_FAILED;
}

void destroy(void * state, void *) { delete static_cast<Scratch *>(state); }

void pack_rows(const Kernel & kernel, const ggml_tensor * x, int group, Range range, char * out,
               float * scratch) {
    const PackedRows packed = PackedRows::of(x->ne[0], ggml_nrows(x));
    Row r = row_number(x, range.begin);
    for (int64_t row = range.begin; row < range.end; ++row, next_row(x, r)) {
        float scale = 0;
        kernel.entry({repeated_row(x, r), packed.k, group, reinterpret_cast<int8_t *>(out) + row * packed.k,
                      &scale, scratch});
        // The result may lie anywhere: it is a tensor of bytes.
        std::memcpy(out + packed.scale_offset() + row * int64_t(sizeof(float)), &scale, sizeof(float));
    }
}

// What belongs to no row: padding rows, their scales, the rest of the last row of scales.
void clear_padding(const PackedRows & packed, char * out) {
    std::memset(out + packed.rows * packed.k, 0, size_t((packed.padded_rows - packed.rows) * packed.k));
    const int64_t used = packed.scale_offset() + packed.rows * int64_t(sizeof(float));
    std::memset(out + used, 0, size_t(packed.total_rows() * packed.k - used));
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const Scratch & scratch = *static_cast<const Scratch *>(state);
    const ggml_tensor *node = params->step.nodes[0], *x = node->src[0];
    const PackedRows packed = PackedRows::of(x->ne[0], ggml_nrows(x));
    auto * base = static_cast<char *>(params->workspace_base);
    const Output output(params->step, scratch.output_bytes > 0 ? base : nullptr);
    auto * out = static_cast<char *>(output.data());
    const int64_t worth = std::max<int64_t>(packed.k * packed.rows / kTask, 1);
    const int tasks = int(std::min({worth, packed.rows, int64_t(scratch.n_threads)}));
    const ggml_status status = cpu_run(params->backend, std::max(tasks, 1), [&](int ith, int nth) {
        const int group = attrs_of<QuantizeI8ConvrotAttrs>(node).group;
        const Range range = part_of(packed.rows, ith, nth);
        if (range.begin == range.end) return;
        auto * row = reinterpret_cast<float *>(base + scratch.output_bytes + size_t(ith) * scratch.row_bytes);
        pack_rows(*static_cast<const Kernel *>(self), x, group, range, out, row);
    });
    if (status != GGML_STATUS_SUCCESS) return status;
    clear_padding(packed, out);
    output.finish();
    return GGML_STATUS_SUCCESS;
}

} // namespace

ggml_ext_status register_quantize_i8_convrot(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = quantize_i8_convrot_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = [](ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; };
    callbacks.prepare = prepare;
    callbacks.execute = execute;
    callbacks.destroy = destroy;
    return add_kernels(device, op, callbacks, kKernels);
}

} // namespace sd
