// One table from operator to kernels, built from the families' lists.
#include "backends/cpu/kernel.h"

#include <array>

namespace ggml::cpu {

#define FAMILY(name) Family family_##name();
#include "backends/cpu/kernels/families.inc"
#undef FAMILY

namespace {

struct Table {
    std::array<const OpKernels *, GGML_OP_COUNT> by_op{};

    Table() {
#define FAMILY(name) add(family_##name());
#include "backends/cpu/kernels/families.inc"
#undef FAMILY
    }

    void add(Family family) {
        for (const OpKernels & entry : family) {
            GGML_ASSERT(by_op[entry.op] == nullptr && "two families own one operator");
            GGML_ASSERT(entry.supports != nullptr && entry.kernel != nullptr && entry.reference != nullptr);
            by_op[entry.op] = &entry;
        }
    }
};

} // namespace

const OpKernels * find_kernels(ggml_op op) {
    static const Table table;
    return op >= 0 && op < GGML_OP_COUNT ? table.by_op[op] : nullptr;
}

} // namespace ggml::cpu
