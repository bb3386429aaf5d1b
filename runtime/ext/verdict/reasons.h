// The list of reasons as a page for people. Promise: the page holds every reason, in the order of the
// numbers, and nothing that is not in ggml-ext-reasons.h.
#pragma once

#include <string>

namespace ggml::ext {

// The table as Markdown.
std::string reasons_markdown();

} // namespace ggml::ext
