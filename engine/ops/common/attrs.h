// Attributes of a node as a plain struct. They lie unaligned in the node, so they are copied.
#pragma once

#include "ggml-ext.h"

#include <cstring>
#include <type_traits>

namespace sd {

template <class A>
A attrs_of(const void * attrs) {
    static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= GGML_EXT_MAX_ATTR_SIZE);
    A value;
    std::memcpy(&value, attrs, sizeof(A));
    return value;
}

template <class A>
A attrs_of(const ggml_tensor * node) {
    return attrs_of<A>(ggml_ext_node_attrs(node));
}

} // namespace sd
