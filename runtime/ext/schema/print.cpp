#include "runtime/ext/schema/schema.h"
#include "runtime/ext/verdict/guard.h"

#include <algorithm>
#include <cstring>

namespace ggml::ext {
namespace {

// "f32 [8, 4]", without the sizes of 1 behind the last other one.
std::string print_type(const ggml_tensor * t) {
    std::string text = ggml_type_name(t->type);
    const char * separator = " [";
    for (int d = 0; d < ggml_n_dims(t); ++d, separator = ", ") text += separator + std::to_string(t->ne[d]);
    return text + "]";
}

std::string print_input(const ggml_tensor * t, int number) {
    if (t == nullptr) return "none";
    std::string name = t->name[0] != '\0' ? t->name : "src" + std::to_string(number);
    return name + ": " + print_type(t);
}

// Built-in operators in lower case, like registered ones.
std::string print_op(const ggml_tensor * node) {
    std::string text = ggml_op_desc(node);
    for (char & c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return text;
}

std::string print_attrs(const ggml_tensor * node) {
    const auto * bytes = static_cast<const unsigned char *>(attrs_of(node));
    if (bytes == nullptr) return "";
    static const char digits[] = "0123456789abcdef";
    std::string text = "; attrs ";
    for (size_t i = 0; i < op_of(node)->attr_size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

int n_inputs(const ggml_tensor * node) {
    int n = GGML_MAX_SRC;
    while (n > 0 && node->src[n - 1] == nullptr) --n;
    return n;
}

} // namespace

std::string print_node(const ggml_tensor * node) {
    std::string text = print_op(node) + "(";
    for (int i = 0; i < n_inputs(node); ++i) text += (i > 0 ? ", " : "") + print_input(node->src[i], i);
    return text + print_attrs(node) + ") -> " + print_type(node);
}

} // namespace ggml::ext

size_t ggml_ext_node_print(const ggml_tensor * node, char * text, size_t size) {
    using namespace ggml::ext;
    if (text == nullptr) size = 0;
    if (size > 0) text[0] = '\0';
    if (node == nullptr) {
        answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_node_print: node is NULL");
        return 0;
    }
    size_t length = 0;
    guarded("print a node", [&] {
        const std::string whole = print_node(node);
        length = whole.size();
        if (size > 0) {
            const size_t copied = std::min(size - 1, length);
            std::memcpy(text, whole.data(), copied);
            text[copied] = '\0';
        }
        return GGML_EXT_SUCCESS;
    });
    return length;
}
