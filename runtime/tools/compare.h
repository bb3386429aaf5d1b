// How far a result is from its reference, element by element. Promise: every type that can be read is
// compared by value, through the strides of its tensor; a value that is not finite is good only where the
// reference is the same.
#pragma once

#include "ggml-ext-tools.h"
#include "runtime/ext/verdict/verdict.h"

#include <string>

namespace ggml::tools {

// The two are the bytes of tensors with this type, shape and these strides, from their first element on.
// max_rel leaves out elements whose reference is zero, nmse those that are not finite. A type that cannot be
// read (type_is_readable) is compared byte by byte, and each byte counts as an element.
ggml_ext_difference difference(const ggml_tensor * layout, const void * result, const void * reference,
                               const ggml_ext_tolerance & tolerance);

// Is each limit a number from 0 on? Infinity is one.
bool makes_sense(const ggml_ext_tolerance & tolerance, ext::Verdict * why);

bool is_good(const ggml_ext_difference & difference, const ggml_ext_tolerance & tolerance);

// "element 17 is 2.5, should be 2" or "nmse 0.1", for messages about a result that is not good.
std::string describe(const ggml_ext_difference & difference);

} // namespace ggml::tools
