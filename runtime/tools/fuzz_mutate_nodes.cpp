// The nodes of the example: parameters, storage, where their results go.
#include "runtime/ext/schema/schema.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/build.h"
#include "runtime/ops/inplace.h"
#include "runtime/ops/params.h"
#include "runtime/tools/fuzz_mutate.h"

#include <algorithm>
#include <cstring>

namespace ggml::tools {
namespace {

constexpr size_t kWord = sizeof(uint32_t);

// Which words of op_params are numbers that may be anything, and which are small integers.
struct Words {
    uint32_t floats = 0, integers = 0; // bit i: word i
};

Words words_of(const ggml_tensor * node) {
    switch (node->op) {
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
    case GGML_OP_L2_NORM:
    case GGML_OP_LEAKY_RELU:
    case GGML_OP_FILL: return {0b1, 0};
    case GGML_OP_SCALE:
    case GGML_OP_SOFT_MAX:
    case GGML_OP_CLAMP: return {0b11, 0};
    case GGML_OP_FLASH_ATTN_EXT: return {0b111, 0};
    case GGML_OP_UNARY: return {0, 0b1};
    case GGML_OP_GLU: return {0b1100, 0b11};
    case GGML_OP_DIAG_MASK_INF:
    case GGML_OP_DIAG_MASK_ZERO:
    case GGML_OP_CONCAT: return {0, 0b1};
    // n_dims and mode; n_ctx_orig; six floats; sections; the offset.
    case GGML_OP_ROPE: return {0b11111100000, 0b1000000000010110};
    default: return {};
    }
}

float other_float(float before, Random & random) {
    const float values[] = {0.0f,  1.0f,       -1.0f,         0.5f,    2.0f,
                            1e-3f, before + 1, before * 1.5f, -before, 10000.0f};
    return random.pick(values);
}

int32_t other_integer(int32_t before, Random & random) {
    if (before < -(1 << 20) || before > 1 << 20) before = 0; // keeps the sums below in range
    const int32_t values[] = {0, 1, 2, 4, 8, before + 1, before - 1, before + 2, before * 2, before / 2};
    return random.pick(values);
}

template <class T>
T load(const void * from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

// What constructors check about parameters alone.
bool parameters_are_possible(const ggml_tensor * node) {
    switch (node->op) {
    case GGML_OP_UNARY: {
        const int32_t op = get_params<UnaryParams>(node).op;
        // xielu has parameters of its own.
        return op >= 0 && op < GGML_UNARY_OP_COUNT && op != GGML_UNARY_OP_XIELU;
    }
    case GGML_OP_GLU: {
        const auto p = get_params<GluParams>(node);
        return p.op >= 0 && p.op < GGML_GLU_OP_COUNT && (p.swapped == 0 || (p.swapped == 1 && !node->src[1]));
    }
    case GGML_OP_CONCAT:
        return get_params<ConcatParams>(node).dim >= 0 && get_params<ConcatParams>(node).dim < 4;
    case GGML_OP_CLAMP: return get_params<ClampParams>(node).min <= get_params<ClampParams>(node).max;
    case GGML_OP_DIAG_MASK_INF:
    case GGML_OP_DIAG_MASK_ZERO: return get_params<DiagMaskParams>(node).n_past >= 0;
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
    case GGML_OP_L2_NORM: return get_params<NormParams>(node).eps >= 0;
    case GGML_OP_ROPE: {
        const auto p = get_params<RopeParams>(node);
        return p.n_offs >= 0 && p.freq_base > 0 &&
               (p.mode == GGML_ROPE_TYPE_NORMAL || p.mode == GGML_ROPE_TYPE_NEOX ||
                p.mode == GGML_ROPE_TYPE_VISION);
    }
    default: return true;
    }
}

// Attributes mean what their operator says, so all of it is tried: a byte, a number, a whole word.
bool change_attributes(ggml_tensor * node, Random & random) {
    const ggml_ext_op * op = ext::op_of(node);
    if (op == nullptr || op->attr_size == 0) return false;
    auto * attrs = reinterpret_cast<uint8_t *>(node->op_params) + kExtensionAttrOffset;
    if (op->attr_size < kWord || random.one_in(4)) {
        uint8_t & byte = attrs[random.below(op->attr_size)];
        byte = uint8_t(random.one_in(2) ? byte + 1 : random.next());
        return true;
    }
    uint8_t * at = attrs + kWord * random.below(op->attr_size / kWord);
    if (random.one_in(2)) {
        const float value = other_float(load<float>(at), random);
        std::memcpy(at, &value, kWord);
    } else {
        // Wraps around like the bytes it is made of.
        const auto value = uint32_t(other_integer(int32_t(load<int16_t>(at)), random));
        std::memcpy(at, &value, kWord);
    }
    return true;
}

ggml_tensor * pick_result(FuzzProgram & program, Random & random) {
    ggml_tensor * last = program.example.back();
    ggml_tensor * t = random.one_in(3) ? pick_example_node(program, random) : last;
    return op_is_metadata_only(t->op) || !is_float(t) ? nullptr : t;
}

// An existing copy is directed there; without one, the result is copied there.
bool copy_to(FuzzProgram & program, Random & random, ggml_tensor * destination) {
    for (ggml_tensor * node : program.example) {
        if (node->op != GGML_OP_CPY || node->src[1] == node || node->src[1] == destination) continue;
        if (ggml_nelements(node->src[0]) != ggml_nelements(destination)) continue;
        node->src[1] = destination;
        return true;
    }
    ggml_tensor * t = pick_result(program, random);
    if (t == nullptr || ggml_nelements(t) != ggml_nelements(destination)) return false;
    ggml_tensor * copy = ggml_cpy(program.ctx(), t, destination);
    ggml_set_name(copy, "copied_result");
    program.insert(program.position(t) + 1, copy);
    program.example.insert(std::find(program.example.begin(), program.example.end(), t) + 1, copy);
    return true;
}

} // namespace

bool change_parameters(FuzzProgram & program, Random & random, std::string & what) {
    ggml_tensor * node = pick_example_node(program, random);
    what = std::string("other parameters of '") + node->name + "'";
    if (node->op == GGML_OP_CUSTOM) return change_attributes(node, random);
    const Words words = words_of(node);
    std::vector<size_t> usable;
    for (size_t i = 0; i < GGML_MAX_OP_PARAMS / kWord; ++i) {
        if (((words.floats | words.integers) >> i & 1) != 0) usable.push_back(i);
    }
    if (usable.empty()) return false;
    const size_t i = random.pick(usable);
    if ((words.floats >> i & 1) != 0) {
        const float value = other_float(load<float>(&node->op_params[i]), random);
        std::memcpy(&node->op_params[i], &value, kWord);
    } else {
        node->op_params[i] = other_integer(node->op_params[i], random);
    }
    return parameters_are_possible(node);
}

bool work_in_place(FuzzProgram & program, Random & random, std::string & what) {
    ggml_tensor * node = pick_example_node(program, random);
    ggml_tensor * over = node->src[0];
    if (!op_can_inplace(node->op) || node->view_src != nullptr || over == nullptr) return false;
    if (node->type != over->type || !ggml_are_same_shape(node, over) || !program.is_writable(over))
        return false;
    node->view_src = fuzz_root(over);
    what = std::string("'") + node->name + "' works in place";
    return true;
}

bool put_view_on_edge(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, false);
    if (edge.node == nullptr) return false;
    ggml_context * ctx = program.ctx();
    ggml_tensor * t = edge.src();
    size_t at = program.position(edge.node);
    const auto then = [&](ggml_tensor * made) { t = add_node(program, at, made); };
    const bool plain = ggml_blck_size(t->type) == 1, rows = t->nb[0] == ggml_type_size(t->type);
    const auto turned_back = [&](bool through_copy) {
        then(ggml_transpose(ctx, t));
        if (through_copy) then(ggml_cont(ctx, t));
        then(ggml_transpose(ctx, t));
    };
    switch (random.below(6)) {
    case 0:
        if (!rows || ggml_is_empty(t) || !can_be_contiguous(t)) return false;
        t = add_window(program, at, t, shape_of(t), 0);
        break;
    case 1: {
        if (!ggml_is_contiguous(t) || !can_be_contiguous(t)) return false;
        const Shape ne = shape_of(t);
        then(ggml_reshape_1d(ctx, t, ggml_nelements(t)));
        then(ggml_reshape_4d(ctx, t, ne[0], ne[1], ne[2], ne[3]));
        break;
    }
    case 2:
        if (!plain) return false;
        turned_back(false);
        break;
    case 3:
        if (!plain) return false;
        turned_back(true);
        break;
    case 4:
        if (!can_be_contiguous(t)) return false;
        then(ggml_cont(ctx, t));
        break;
    default:
        if (t->ne[0] != t->ne[1] || t->ne[0] < 2 || !plain) return false;
        then(ggml_transpose(ctx, t));
        break;
    }
    what =
        "source " + std::to_string(edge.j) + " of '" + edge.node->name + "' comes through " + ggml_op_desc(t);
    edge.src() = t;
    return true;
}

bool copy_result(FuzzProgram & program, Random & random, std::string & what) {
    const ggml_tensor * t = pick_result(program, random);
    if (t == nullptr || ggml_is_empty(t)) return false;
    what = "the result is copied to a tensor that exists";
    const ggml_type type = random.one_in(4) ? GGML_TYPE_F16 : t->type;
    if (random.one_in(2)) return copy_to(program, random, program.add_leaf(type, shape_of(t), true).tensor);
    Shape larger = shape_of(t);
    larger[0] += 3;
    ggml_tensor * whole = program.add_leaf(type, larger, true).tensor;
    size_t at = program.position(program.example.front());
    what = "the result is copied to a window of a larger tensor";
    return copy_to(program, random, add_window(program, at, whole, shape_of(t), 1));
}

bool copy_result_over_input(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, true);
    if (edge.node == nullptr || !program.is_writable(edge.src())) return false;
    what = std::string("the result is copied over '") + edge.src()->name + "'";
    return copy_to(program, random, edge.src());
}

bool copy_result_beside_input(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, true);
    if (edge.node == nullptr || !program.is_writable(edge.src()) || ggml_is_empty(edge.src())) return false;
    ggml_tensor * input = edge.src();
    const int64_t n = ggml_nelements(input);
    const auto shift = size_t(1 + random.below(size_t(n)));
    ggml_tensor * whole = program.add_leaf(input->type, {2 * n + 1, 1, 1, 1}, true).tensor;
    ggml_set_name(whole, "shared_storage");
    size_t at = program.position(program.example.front());
    const auto part = [&](size_t first) {
        ggml_tensor * window = add_window(program, at, whole, {n, 1, 1, 1}, first);
        return add_node(
            program, at,
            ggml_reshape_4d(program.ctx(), window, input->ne[0], input->ne[1], input->ne[2], input->ne[3]));
    };
    const bool before = random.one_in(2);
    ggml_tensor * now = part(before ? shift : 0);
    for (ggml_tensor * node : program.example) {
        std::replace(node->src, node->src + GGML_MAX_SRC, input, now);
    }
    what = "the result is copied to storage shared with '" + std::string(input->name) + "', " +
           std::to_string(shift) + " elements " + (before ? "earlier" : "later");
    return copy_to(program, random, part(before ? 0 : shift));
}

bool mark_output(FuzzProgram & program, Random & random, std::string & what) {
    ggml_tensor * node = pick_example_node(program, random);
    ggml_set_output(node);
    what = std::string("'") + node->name + "' is an output";
    return true;
}

} // namespace ggml::tools
