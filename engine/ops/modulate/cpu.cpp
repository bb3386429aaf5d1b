#include "ops/modulate/cpu.h"

#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/modulate/schema.h"

#include <algorithm>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    void (*entry)(const ModulateSpan &);
    Steps steps;
};

constexpr Kernel kKernels[] = {
#define X(name, entry, steps) {name, entry, steps},
#include "ops/modulate/kernels.inc"
#undef X
};

const Kernel & kernel_of(void * user_data) { return *static_cast<const Kernel *>(user_data); }

bool supports(ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t why, void * self) {
    const ModulateInputs in = ModulateInputs::of(node);
    for (const ggml_tensor * t : {in.x, in.scale, in.shift}) {
        if (t != nullptr && !walks(kernel_of(self).steps, t))
            return ggml_ext_refuse(why, "elements of '%s' are %zu bytes apart", t->name, t->nb[0]);
    }
    return true;
}

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    prepared->workspace_bytes = Output::scratch_bytes(*params);
    return GGML_STATUS_SUCCESS;
}

// How a node is cut: into groups of neighbouring rows that share scale and shift, and those into pieces, so
// that a few long rows use all threads.
struct Cut {
    static constexpr int64_t kPiece = 4096;

    const ggml_tensor * node;
    int64_t rows, groups, pieces; // rows of a group, groups of a plane, pieces of a group

    Cut(const ggml_tensor * n, const ModulateInputs & in) : node(n) {
        const bool shared = in.scale->ne[1] == 1 && (in.shift == nullptr || in.shift->ne[1] == 1);
        rows = shared ? ModulateSpan::kMaxRows : 1;
        groups = (n->ne[1] + rows - 1) / rows;
        pieces = (n->ne[0] + kPiece - 1) / kPiece;
    }
    int64_t count() const { return pieces * groups * node->ne[2] * node->ne[3]; }
    Row first_row(int64_t i) const {
        const int64_t group = i / pieces, plane = group / groups;
        return {group % groups * rows, plane % node->ne[2], plane / node->ne[2]};
    }
};

// One piece, as runs in which neither scale nor shift starts over.
void compute_piece(const Kernel & kernel, const ModulateInputs & in, const Cut & cut, int64_t piece,
                   float * output) {
    const ggml_tensor * node = cut.node;
    const Row r = cut.first_row(piece);
    const int64_t begin = piece % cut.pieces * Cut::kPiece, end = std::min(begin + Cut::kPiece, node->ne[0]);
    const int64_t period = in.scale->ne[0] > 1 ? in.scale->ne[0] : end;
    const int64_t shift_period = in.shift != nullptr && in.shift->ne[0] > 1 ? in.shift->ne[0] : end;
    ModulateSpan span = {};
    span.x_step = float_step(in.x, 0);
    span.x_row = float_step(in.x, 1);
    span.scale_step = float_step(in.scale, 0);
    span.shift_step = in.shift != nullptr ? float_step(in.shift, 0) : 0;
    span.y_row = node->ne[0];
    span.rows = int(std::min(cut.rows, node->ne[1] - r.i1));
    for (int64_t i = begin; i < end; i += span.n) {
        span.n = std::min({end - i, period - i % period, shift_period - i % shift_period});
        span.x = row_start(in.x, r) + i * span.x_step;
        span.scale = repeated_row(in.scale, r) + i % period * span.scale_step;
        if (in.shift != nullptr) span.shift = repeated_row(in.shift, r) + i % shift_period * span.shift_step;
        span.y = output + ((r.i3 * node->ne[2] + r.i2) * node->ne[1] + r.i1) * node->ne[0] + i;
        kernel.entry(span);
    }
}

ggml_status execute(const ggml_ext_execute_params * params, void *, void * self) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const ggml_tensor * node = params->step.nodes[0];
    const ModulateInputs in = ModulateInputs::of(node);
    const Cut cut(node, in);
    const Output output(params->step, params->workspace_base);
    const int tasks = int(std::clamp<int64_t>(ggml_nelements(node) / kTask, 1, cpu_threads(params->backend)));
    const ggml_status status = cpu_run(params->backend, tasks, [&](int ith, int nth) {
        const auto [first, last] = part_of(cut.count(), ith, nth);
        for (int64_t i = first; i < last; ++i)
            compute_piece(kernel_of(self), in, cut, i, static_cast<float *>(output.data()));
    });
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

} // namespace

void modulate_span_scalar(const ModulateSpan & s) {
    for (int r = 0; r < s.rows; ++r) {
        for (int64_t i = 0; i < s.n; ++i) {
            const float x = s.x[r * s.x_row + i * s.x_step];
            const float product = x * s.scale[i * s.scale_step];
            const float scaled = x + product;
            s.y[r * s.y_row + i] = s.shift != nullptr ? scaled + s.shift[i * s.shift_step] : scaled;
        }
    }
}

ggml_ext_status register_modulate(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = modulate_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = supports;
    callbacks.prepare = prepare;
    callbacks.execute = execute;
    return add_kernels(device, op, callbacks, kKernels);
}

} // namespace sd
