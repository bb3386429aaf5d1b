// The table of element types: name, block size, codecs. The only place that knows which ids exist and which
// of them can be read. Ids that are only named (IQ*, TQ*, MXFP4 ...) have sizes but no codec.
#pragma once

#include "ggml.h"

namespace ggml {

using ToFloat = void (*)(const void * src, float * dst, int64_t n);
using FromFloat = void (*)(const float * src, void * dst, int64_t n);

struct TypeInfo {
    const char * name; // as in files and on the command line: "q4_K"
    int64_t block;     // elements per block, 1 for plain types, 0 for retired ids
    size_t bytes;      // bytes per block
    bool quantized;
    ToFloat to_float;     // null: data of this type cannot be read here
    FromFloat from_float; // null: cannot be written from floats; this is the reference rounding
};

// Never null; out-of-range and retired ids give an entry with block 0 and name "none".
const TypeInfo & type_info(ggml_type type);

// True when elements of this type can be converted to and from float here.
inline bool type_is_readable(ggml_type type) { return type_info(type).to_float != nullptr; }

} // namespace ggml
