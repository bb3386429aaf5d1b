// Sizes, types and contents of what nobody computes.
#include "runtime/tools/fuzz_mutate.h"

#include <cmath>
#include <limits>
#include <set>

namespace ggml::tools {
namespace {

// All leafs that nodes of the example read or show.
std::vector<FuzzLeaf *> leafs_of_example(FuzzProgram & program) {
    std::set<const ggml_tensor *> read;
    for (const ggml_tensor * node : program.example) read.insert(node->src, node->src + GGML_MAX_SRC);
    std::vector<FuzzLeaf *> leafs;
    for (FuzzLeaf & leaf : program.leafs) {
        if (read.count(leaf.tensor) != 0) leafs.push_back(&leaf);
    }
    return leafs;
}

} // namespace

// A size stands for the same thing wherever it appears, so it changes everywhere at once; sometimes in one
// place only, which makes broadcasts.
bool resize(FuzzProgram & program, Random & random, std::string & what) {
    static constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 5, 7, 13, 17, 31, 32, 33, 64, 65, 127, 256};
    std::vector<FuzzLeaf *> leafs = leafs_of_example(program);
    if (leafs.empty()) return false;
    FuzzLeaf & chosen = *random.pick(leafs);
    const size_t dim = random.below(GGML_MAX_DIMS);
    const int64_t before = chosen.tensor->ne[dim], after = random.pick(kSizes);
    if (before == after) return false;
    what = "size " + std::to_string(before) + " is " + std::to_string(after);
    // Trailing ones are not one thing.
    if (before == 1 || random.one_in(5)) {
        chosen.tensor->ne[dim] = after;
        what += " in " + std::string(chosen.tensor->name);
        return true;
    }
    const auto replace = [&](ggml_tensor * t) {
        for (int64_t & ne : t->ne) ne = ne == before ? after : ne;
    };
    for (FuzzLeaf & leaf : program.leafs) replace(leaf.tensor);
    for (ggml_tensor * node : program.order) {
        if (node->op == GGML_OP_RESHAPE || node->op == GGML_OP_CONT) replace(node);
    }
    return true;
}

bool retype(FuzzProgram & program, Random & random, std::string & what) {
    static constexpr ggml_type kTypes[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_F16,  GGML_TYPE_BF16,
                                           GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K};
    std::vector<FuzzLeaf *> leafs = leafs_of_example(program);
    if (leafs.empty()) return false;
    ggml_tensor * t = random.pick(leafs)->tensor;
    const ggml_type type = random.pick(kTypes);
    if (t->type == type || t->type == GGML_TYPE_I32 || t->type == GGML_TYPE_I64) return false;
    what = std::string(t->name) + " is " + ggml_type_name(type);
    t->type = type;
    // Where operands must be alike.
    if (!random.one_in(3)) return true;
    for (FuzzLeaf * leaf : leafs) {
        if (leaf->tensor->type == GGML_TYPE_F32) leaf->tensor->type = type;
    }
    what = std::string("inputs are ") + ggml_type_name(type);
    return true;
}

bool put_special_values(FuzzProgram & program, Random & random, std::string & what) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    struct Kind {
        const char * name;
        std::vector<float> values;
    };
    static const Kind kKinds[] = {
        {"NaN", {std::nanf("")}},
        {"infinities", {kInf, -kInf}},
        {"zeros", {0.0f, -0.0f}},
        {"huge values", {3e38f, -3e38f, 1e30f}},
        {"denormals", {1e-40f, -1e-40f, std::numeric_limits<float>::denorm_min()}},
    };
    std::vector<FuzzLeaf *> leafs;
    for (FuzzLeaf * leaf : leafs_of_example(program)) {
        if (is_float(leaf->tensor)) leafs.push_back(leaf);
    }
    if (leafs.empty()) return false;
    const Kind & kind = random.pick(kKinds);
    FuzzLeaf & leaf = *random.pick(leafs);
    leaf.specials = kind.values;
    what = std::string(kind.name) + " in " + leaf.tensor->name;
    return true;
}

} // namespace ggml::tools
