// The shape rules of constructors, as questions: constructors stop the process where these say no. Operators
// that are not listed keep the sources they were made with.
#include "runtime/ext/schema/infer.h"
#include "runtime/ext/schema/schema.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/build.h"
#include "runtime/ops/params.h"
#include "runtime/tools/fuzz_program.h"

#include <algorithm>
#include <optional>

namespace ggml::tools {
namespace {

struct Result {
    ggml_type type;
    Shape ne;
};
using Answer = std::optional<Result>;

Answer like(const ggml_tensor * t) { return Result{t->type, shape_of(t)}; }
Answer like_if(bool fits, const ggml_tensor * t) { return fits ? like(t) : std::nullopt; }

Answer infer_binary(const ggml_tensor * node, const FuzzSignature & made) {
    const ggml_tensor *a = node->src[0], *b = node->src[1];
    // add_cast chose the type of its result.
    if (made.result.type != made.sources[0].type) return std::nullopt;
    return like_if(!ggml_is_empty(b) && ggml_can_repeat(b, a), a);
}

Answer infer_soft_max(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *mask = node->src[1], *sinks = node->src[2];
    const auto params = get_params<SoftMaxParams>(node);
    if (!ggml_is_contiguous(a) || ggml_is_empty(a) || (mask == nullptr && params.max_bias > 0))
        return std::nullopt;
    if (sinks != nullptr && (sinks->ne[0] != a->ne[2] || sinks->type != GGML_TYPE_F32)) return std::nullopt;
    if (mask == nullptr) return like(a);
    const bool fits = (mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32) &&
                      ggml_is_contiguous(mask) && mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1] &&
                      repeats_into(mask->ne[2], a->ne[2]) && repeats_into(mask->ne[3], a->ne[3]);
    return like_if(fits, a);
}

Answer infer_rope(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *b = node->src[1], *c = node->src[2];
    const auto p = get_params<RopeParams>(node);
    const int64_t per_token = (p.mode & GGML_ROPE_TYPE_MROPE) != 0 ? GGML_MROPE_SECTIONS : 1;
    const bool vision = p.mode == GGML_ROPE_TYPE_VISION;
    const int64_t pairs = vision ? p.n_dims : p.n_dims / 2;
    const bool fits = (p.mode & 1) == 0 && p.n_dims > 0 && p.n_dims % 2 == 0 &&
                      int64_t(p.n_offs) + p.n_dims <= a->ne[0] && (!vision || p.n_dims == a->ne[0] / 2) &&
                      ggml_is_vector(b) && b->type == GGML_TYPE_I32 && a->ne[2] * per_token == b->ne[0] &&
                      (c == nullptr || (c->type == GGML_TYPE_F32 && c->ne[0] >= pairs));
    return like_if(fits, a);
}

Answer infer_mul_mat(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *b = node->src[1];
    if (ggml_is_empty(a) || ggml_is_empty(b) || a->ne[0] != b->ne[0] || !repeats_into(a->ne[2], b->ne[2]) ||
        !repeats_into(a->ne[3], b->ne[3]) || ggml_is_transposed(a)) {
        return std::nullopt;
    }
    return Result{GGML_TYPE_F32, {a->ne[1], b->ne[1], b->ne[2], b->ne[3]}};
}

// Are row numbers below `rows`, as far as anybody can tell? Those of leafs are chosen to be.
bool numbers_fit(ggml_tensor * numbers, int64_t rows, bool as_made) {
    const ggml_tensor * origin = fuzz_origin(numbers);
    switch (origin->op) {
    case GGML_OP_NONE: return true;
    case GGML_OP_ARGSORT:
    case GGML_OP_TOP_K:
    case GGML_OP_ARGMAX: return origin->src[0]->ne[0] <= rows;
    default: return as_made;
    }
}

Answer infer_get_rows(const ggml_tensor * node, const FuzzSignature & made) {
    const ggml_tensor *a = node->src[0], *b = node->src[1];
    if (!numbers_fit(node->src[1], a->ne[1], made.same_sources(node))) return std::nullopt;
    if (b->type != GGML_TYPE_I32 || a->ne[2] != b->ne[1] || a->ne[3] != b->ne[2] || b->ne[3] != 1)
        return std::nullopt;
    return Result{a->type == GGML_TYPE_I32 ? GGML_TYPE_I32 : GGML_TYPE_F32,
                  {a->ne[0], b->ne[0], b->ne[1], b->ne[2]}};
}

Answer infer_glu(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *b = node->src[1];
    if (!ggml_is_contiguous_1(a)) return std::nullopt;
    if (b != nullptr)
        return like_if(ggml_is_contiguous_1(b) && ggml_are_same_shape(a, b) && a->type == b->type, a);
    return Result{a->type, {a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3]}};
}

Answer infer_concat(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *b = node->src[1];
    const int dim = get_params<ConcatParams>(node).dim;
    Result result = *like(a);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (i != dim && a->ne[i] != b->ne[i]) return std::nullopt;
    }
    if (a->type != b->type) return std::nullopt;
    result.ne[size_t(dim)] += b->ne[dim];
    return result;
}

Answer infer_registered(const ggml_tensor * node) {
    const ggml_ext_op * op = ext::op_of(node);
    if (op == nullptr) return std::nullopt;
    int n = GGML_MAX_SRC;
    while (n > 0 && node->src[n - 1] == nullptr) --n;
    ext::Inferred inferred;
    ext::Verdict why;
    if (!ext::infer(*op, node->src, n, op->attr_size > 0 ? ext::attrs_of(node) : nullptr, inferred, why))
        return std::nullopt;
    return Result{inferred.type, inferred.ne};
}

// A shape the caller chose, when it still holds as many elements.
Answer own_shape(const ggml_tensor * node, const FuzzSignature & made) {
    const ggml_tensor * a = node->src[0];
    if (made.result.ne == made.sources[0].ne) return like(a);
    return ggml_nelements(node) == ggml_nelements(a) ? Answer(Result{a->type, shape_of(node)}) : std::nullopt;
}

Answer infer_copy(const ggml_tensor * node) {
    const ggml_tensor *a = node->src[0], *to = node->src[1];
    if (to == node) return Result{node->type, shape_of(a)}; // a conversion
    return like_if(ggml_nelements(a) == ggml_nelements(to), to);
}

Answer infer_result(const ggml_tensor * node, const FuzzSignature & made) {
    const ggml_tensor * a = node->src[0];
    switch (node->op) {
    case GGML_OP_ADD:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV:
        if (Answer answer = infer_binary(node, made)) return answer;
        break;
    case GGML_OP_ADD1: return like_if(ggml_is_scalar(node->src[1]) && has_padded_rows(a), a);
    case GGML_OP_UNARY: return like_if(ggml_is_contiguous_rows(a), a);
    case GGML_OP_SCALE: return like_if(has_padded_rows(a), a);
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_LOG:
    case GGML_OP_SIN:
    case GGML_OP_COS:
    case GGML_OP_DUP:
    case GGML_OP_CLAMP:
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
    case GGML_OP_L2_NORM: return like(a);
    case GGML_OP_SOFT_MAX: return infer_soft_max(node);
    case GGML_OP_ROPE: return infer_rope(node);
    case GGML_OP_MUL_MAT: return infer_mul_mat(node);
    case GGML_OP_GET_ROWS: return infer_get_rows(node, made);
    case GGML_OP_GLU: return infer_glu(node);
    case GGML_OP_CONCAT: return infer_concat(node);
    case GGML_OP_SUM: return Result{a->type, {1, 1, 1, 1}};
    case GGML_OP_SUM_ROWS: return Result{a->type, {1, a->ne[1], a->ne[2], a->ne[3]}};
    case GGML_OP_MEAN: return Result{GGML_TYPE_F32, {1, a->ne[1], a->ne[2], a->ne[3]}};
    case GGML_OP_CONT:
    case GGML_OP_RESHAPE: return own_shape(node, made);
    case GGML_OP_CPY: return infer_copy(node);
    case GGML_OP_CUSTOM:
        if (Answer answer = infer_registered(node)) return answer;
        break;
    default: break;
    }
    if (!made.same_sources(node)) return std::nullopt;
    return Result{made.result.type, made.result.ne};
}

void show(ggml_tensor * node, ggml_tensor * src, size_t offset) {
    node->view_src = fuzz_root(src);
    node->view_offs = (src->view_src != nullptr ? src->view_offs : 0) + offset;
}

bool stays_inside(const ggml_tensor * node) {
    size_t bytes = 0;
    const Strides nb = {node->nb[0], node->nb[1], node->nb[2], node->nb[3]};
    if (!span_bytes(node->type, shape_of(node), nb, bytes)) return false;
    return bytes == 0 || node->view_offs + bytes <= ggml_nbytes(node->view_src);
}

bool settle_view(ggml_tensor * node, const FuzzSignature & made) {
    ggml_tensor * src = node->src[0];
    const size_t unit = ggml_type_size(node->type), new_unit = ggml_type_size(src->type);
    auto params = get_params<ViewParams>(node);
    if (src->type != node->type) {
        if (ggml_blck_size(src->type) != 1 || ggml_blck_size(node->type) != 1) return false;
        for (size_t & nb : node->nb) nb = nb / unit * new_unit;
        params.offset = params.offset / unit * new_unit;
        set_params(node, params);
        node->type = src->type;
    }
    // A window all along the source grows and shrinks with it.
    if (params.offset == 0 && made.result.ne == made.sources[0].ne) {
        std::copy(src->ne, src->ne + GGML_MAX_DIMS, node->ne);
        std::copy(src->nb, src->nb + GGML_MAX_DIMS, node->nb);
    }
    show(node, src, params.offset);
    return stays_inside(node);
}

bool settle_turned(ggml_tensor * node) {
    const ggml_tensor * src = node->src[0];
    PermuteParams p = {{1, 0, 2, 3}};
    if (node->op == GGML_OP_PERMUTE) p = get_params<PermuteParams>(node);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        node->ne[p.axis[i]] = src->ne[i];
        node->nb[p.axis[i]] = src->nb[i];
    }
    node->type = src->type;
    show(node, node->src[0], 0);
    return true;
}

// A result in storage of its own, or over a source of exactly its shape.
bool settle_result(ggml_tensor * node, const Result & result) {
    Strides nb;
    if (!contiguous_strides(result.type, result.ne, nb)) return false;
    if (node->view_src != nullptr) {
        ggml_tensor * over = node->src[fuzz_destination(node)];
        if (over == nullptr || over->type != result.type || shape_of(over) != result.ne) return false;
        std::copy(over->nb, over->nb + GGML_MAX_DIMS, nb.begin());
        show(node, over, 0);
    }
    node->type = result.type;
    std::copy(result.ne.begin(), result.ne.end(), node->ne);
    std::copy(nb.begin(), nb.end(), node->nb);
    return true;
}

} // namespace

bool fuzz_infer(ggml_tensor * node, const FuzzSignature & made) {
    if (node->op == GGML_OP_VIEW) return settle_view(node, made);
    if (node->op == GGML_OP_PERMUTE || node->op == GGML_OP_TRANSPOSE) return settle_turned(node);
    const Answer result = infer_result(node, made);
    if (!result.has_value()) return false;
    if (node->op != GGML_OP_RESHAPE) return settle_result(node, *result);
    Strides nb;
    if (!ggml_is_contiguous(node->src[0]) || !contiguous_strides(result->type, result->ne, nb)) return false;
    node->type = result->type;
    std::copy(result->ne.begin(), result->ne.end(), node->ne);
    std::copy(nb.begin(), nb.end(), node->nb);
    show(node, node->src[0], 0);
    return true;
}

} // namespace ggml::tools
