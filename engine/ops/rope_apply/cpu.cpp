#include "ops/rope_apply/cpu.h"

#include "ops/common/attrs.h"
#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/rope_apply/schema.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    LoadRotations load;
    RotateRow rotate;
    Steps steps;
};

constexpr Kernel kKernels[] = {
#define X(name, load, rotate, steps) {name, load, rotate, steps},
#include "ops/rope_apply/kernels.inc"
#undef X
};

struct Fusion {
    const char * name;
    ggml_ext_status (*add)(ggml_backend_dev_t device, ggml_ext_op_t rope_apply, const char * name);
};

constexpr Fusion kFusions[] = {
#define X(name, add) {name, add},
#include "ops/rope_apply/fusions.inc"
#undef X
};

const Kernel & kernel_of(void * user_data) { return *static_cast<const Kernel *>(user_data); }

bool supports(ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t why, void * self) {
    const ggml_tensor * x = node->src[0];
    return walks(kernel_of(self).steps, x) ||
           ggml_ext_refuse(why, "elements of '%s' are %zu bytes apart", x->name, x->nb[0]);
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    RopeWalk walk = {};
    walk.rope = params->step.nodes[0];
    walk.x = walk.rope->src[0];
    walk.load = kernel_of(self).load;
    walk.rotate = kernel_of(self).rotate;
    walk.row = [](const RopeWalk & w, const RopeRow & row, const Rotations & r) { w.rotate(row, r); };
    return run_rope(*params, state, walk);
}

// Scratch memory: `scratch` bytes for Output, then `floats` for each thread's rotations.
struct Plan {
    size_t scratch;
    int threads;
    size_t floats;
};

RotationSource source_of(const ggml_tensor * pe, int64_t token) {
    return {row_start(pe, {0, 0, token}), float_step(pe, 0), float_step(pe, 1), float_step(pe, 2)};
}

void run_heads(const RopeWalk & walk, int64_t token, int64_t batch, const Rotations & rotations, float * y) {
    const ggml_tensor * x = walk.x;
    for (int64_t head = 0; head < x->ne[1]; ++head, y += x->ne[0]) {
        walk.row(walk, {row_start(x, {head, token, batch}), float_step(x, 0), y, x->ne[0]}, rotations);
    }
}

// Tokens [first, last) of all batches, the batches of a token one after another: they share its rotations.
void run_tokens(const RopeWalk & walk, int64_t first, int64_t last, const Rotations & rotations, float * y) {
    const ggml_tensor * rope = walk.rope;
    for (int64_t token = first; token < last; ++token) {
        walk.load(source_of(rope->src[1], token), rotations);
        for (int64_t batch = 0; batch < rope->ne[3]; ++batch) {
            const int64_t rows = (batch * rope->ne[2] + token) * rope->ne[1];
            run_heads(walk, token, batch, rotations, y + rows * rope->ne[0]);
        }
    }
}

} // namespace

ggml_status prepare_rope(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    constexpr size_t kLine = 16; // floats: threads share no cache line
    const ggml_tensor * pe = params->step.nodes[params->step.n_nodes - 1]->src[1];
    const size_t floats = (size_t(4 * pe->ne[2]) + kLine - 1) / kLine * kLine;
    const size_t scratch = (Output::scratch_bytes(*params) + 63) / 64 * 64;
    auto * plan = new (std::nothrow) Plan{scratch, cpu_threads(params->backend), floats};
    if (plan == nullptr) return GGML_STATUS_ALLOC_FAILED;
    prepared->state = plan;
    prepared->workspace_bytes = scratch + size_t(plan->threads) * floats * sizeof(float);
    return GGML_STATUS_SUCCESS;
}

void destroy_rope(void * state, void *) { delete static_cast<Plan *>(state); }

ggml_status run_rope(const ggml_ext_execute_params & params, const void * state, const RopeWalk & walk) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const Plan & plan = *static_cast<const Plan *>(state);
    const ggml_tensor * rope = walk.rope;
    const bool interleaved = attrs_of<RopeApplyAttrs>(rope).interleaved != 0;
    const int64_t pairs = rope->src[1]->ne[2];
    auto * const workspace = static_cast<char *>(params.workspace_base);
    const Output output(params.step, plan.scratch > 0 ? workspace : nullptr);
    const int tasks = int(std::clamp<int64_t>(ggml_nelements(rope) / kTask, 1, plan.threads));
    const ggml_status status = cpu_run(params.backend, tasks, [&](int ith, int nth) {
        float * own = reinterpret_cast<float *>(workspace + plan.scratch) + size_t(ith) * plan.floats;
        const auto [first, last] = part_of(rope->ne[2], ith, nth);
        run_tokens(walk, first, last, {pairs, interleaved, own, own + 2 * pairs},
                   static_cast<float *>(output.data()));
    });
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

void load_rotations_scalar(const RotationSource & s, const Rotations & r) { load_some_rotations(s, r, 0); }

void load_some_rotations(const RotationSource & s, const Rotations & r, int64_t first) {
    for (int64_t i = first; i < r.pairs; ++i) {
        const float * m = s.pe + i * s.pair;
        const int64_t a = r.interleaved ? 2 * i : i, b = r.interleaved ? 2 * i + 1 : i + r.pairs;
        r.own[a] = m[0];
        r.other[a] = m[s.column];
        r.other[b] = m[s.row];
        r.own[b] = m[s.row + s.column];
    }
}

void rotate_row_scalar(const RopeRow & row, const Rotations & r) {
    const auto x = [&](int64_t i) { return row.x[i * row.x_step]; };
    for (int64_t i = 0; i < r.pairs; ++i) {
        const int64_t a = r.interleaved ? 2 * i : i, b = r.interleaved ? 2 * i + 1 : i + r.pairs;
        const float xa = x(a), xb = x(b);
        row.y[a] = xa * r.own[a] + xb * r.other[a];
        row.y[b] = xb * r.own[b] + xa * r.other[b];
    }
    for (int64_t i = 2 * r.pairs; i < row.n; ++i) row.y[i] = x(i);
}

ggml_ext_status register_rope_apply(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = rope_apply_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = supports;
    callbacks.prepare = prepare_rope;
    callbacks.execute = execute;
    callbacks.destroy = destroy_rope;
    const ggml_ext_status added = add_kernels(device, op, callbacks, kKernels);
    if (added != GGML_EXT_SUCCESS) return added;
    for (const Fusion & fusion : kFusions) {
        const ggml_ext_status status = fusion.add(device, op, fusion.name);
        if (status != GGML_EXT_SUCCESS) return status;
    }
    return GGML_EXT_SUCCESS;
}

} // namespace sd
