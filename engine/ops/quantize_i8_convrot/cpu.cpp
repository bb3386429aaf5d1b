#include "ops/quantize_i8_convrot/cpu.h"

#include "ops/common/attrs.h"
#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
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

struct Fusion {
    const char * name;
    ggml_ext_status (*add)(ggml_backend_dev_t device, const char * name);
};

constexpr Fusion kFusions[] = {
#define X(name, add) {name, add},
#include "ops/quantize_i8_convrot/fusions.inc"
#undef X
};

constexpr size_t kCacheLine = 64;
size_t whole_lines(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// The workspace: scratch space of the output, then one row for each thread.
struct Scratch {
    size_t output_bytes, row_bytes;
    int n_threads;

    static Scratch of(const ggml_ext_prepare_params & params) {
        const ggml_tensor * x = params.step.nodes[params.step.n_nodes - 1]->src[0];
        return {whole_lines(Output::scratch_bytes(params)), whole_lines(size_t(x->ne[0]) * sizeof(float)),
                cpu_threads(params.backend)};
    }
};

void pack_rows(const ConvrotWalk & walk, Range range, char * out, float * scratch) {
    const ggml_tensor * x = walk.quantize->src[0];
    const int group = attrs_of<QuantizeI8ConvrotAttrs>(walk.quantize).group;
    const PackedRows packed = PackedRows::of(x->ne[0], ggml_nrows(x));
    Row r = row_number(x, range.begin);
    for (int64_t row = range.begin; row < range.end; ++row) {
        float scale = 0;
        QuantizeRow work = {walk.row(walk, r, scratch),
                            packed.k,
                            group,
                            reinterpret_cast<int8_t *>(out) + row * packed.k,
                            &scale,
                            scratch};
        next_row(x, r);
        if (walk.sources != nullptr && row + 1 < range.end) walk.sources(walk, r, work.next);
        walk.kernel(work);
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
    const auto stored_row = [](const ConvrotWalk & walk, Row r, float *) -> const float * {
        return row_start(walk.quantize->src[0], r);
    };
    return run_convrot(
        *params, state,
        {params->step.nodes, params->step.nodes[0], static_cast<const Kernel *>(self)->entry, stored_row});
}

} // namespace

ggml_status prepare_convrot(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    const Scratch scratch = Scratch::of(*params);
    prepared->workspace_bytes = scratch.output_bytes + size_t(scratch.n_threads) * scratch.row_bytes;
    prepared->state = new (std::nothrow) Scratch(scratch);
    return prepared->state != nullptr ? GGML_STATUS_SUCCESS : GGML_STATUS_ALLOC_FAILED;
}

void destroy_convrot(void * state, void *) { delete static_cast<Scratch *>(state); }

ggml_status run_convrot(const ggml_ext_execute_params & params, const void * state,
                        const ConvrotWalk & walk) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const Scratch & scratch = *static_cast<const Scratch *>(state);
    const ggml_tensor * x = walk.quantize->src[0];
    const PackedRows packed = PackedRows::of(x->ne[0], ggml_nrows(x));
    auto * base = static_cast<char *>(params.workspace_base);
    const Output output(params.step, scratch.output_bytes > 0 ? base : nullptr);
    auto * out = static_cast<char *>(output.data());
    const int64_t worth = std::max<int64_t>(packed.k * packed.rows / kTask, 1);
    const int tasks = int(std::min({worth, packed.rows, int64_t(scratch.n_threads)}));
    const ggml_status status = cpu_run(params.backend, std::max(tasks, 1), [&](int ith, int nth) {
        const Range range = part_of(packed.rows, ith, nth);
        if (range.begin == range.end) return;
        char * row = base + scratch.output_bytes + size_t(ith) * scratch.row_bytes;
        pack_rows(walk, range, out, reinterpret_cast<float *>(row));
    });
    if (status != GGML_STATUS_SUCCESS) return status;
    clear_padding(packed, out);
    output.finish();
    return GGML_STATUS_SUCCESS;
}

ggml_ext_status register_quantize_i8_convrot(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = quantize_i8_convrot_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = [](ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t why, void *) {
        return is_sound(node, why);
    };
    callbacks.prepare = prepare_convrot;
    callbacks.execute = execute;
    callbacks.destroy = destroy_convrot;
    const ggml_ext_status added = add_kernels(device, op, callbacks, kKernels);
    if (added != GGML_EXT_SUCCESS) return added;
    for (const Fusion & fusion : kFusions) {
        const ggml_ext_status status = fusion.add(device, fusion.name);
        if (status != GGML_EXT_SUCCESS) return status;
    }
    return GGML_EXT_SUCCESS;
}

} // namespace sd
