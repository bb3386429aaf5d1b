// Reading a container's metadata with a reason for every refusal. Tensor data is not touched.
//
// Accepted: versions 2 and 3; any alignment that is a power of two; tensors in any order of offsets;
// zero-sized dimensions; names of any length (only creating ggml tensors limits them). Refused: everything
// else that a file cannot mean, see the reason ids in read.cpp, pairs.cpp and records.cpp.
#pragma once

#include "runtime/base/status.h"
#include "runtime/gguf/context.h"
#include "runtime/gguf/source.h"

namespace ggml::gguf {

// Fills `out` from the start of the source. On failure `out` is unspecified. data_required: the data section
// must be complete; otherwise a container that ends before its data section (metadata only) is accepted too.
Status read_container(Source & source, bool data_required, gguf_context & out);

// Parts of it, in order of the file.
Status read_pairs(Source & source, int64_t count, gguf_context & out);
Status read_records(Source & source, int64_t count, gguf_context & out);

// A length-prefixed string whose bytes are there. `what` names it in the message.
Status read_string(Source & source, const char * what, std::string & out);

// Sets a record's byte size from type and sizes. Fails when rows are not whole blocks or the bytes do not
// fit.
Status set_record_bytes(TensorRecord & record);

// "file ended" with what was being read and where.
Status cut_short(const Source & source, const char * what);

} // namespace ggml::gguf
