// Asking for a report in tests, and finding one's way in it.
#pragma once

#include "ggml-ext-tools.h"
#include "tests/runtime/sched/ext_fixture.h"
#include "tests/support/json_value.h"

#include <algorithm>
#include <string>

namespace ggml::test {

inline std::string explain(ExtMachine & m, ggml_cgraph * graph, ggml_ext_format format) {
    char * text = ggml_ext_explain(m.sched(), graph, format);
    EXPECT_NE(text, nullptr) << ggml_ext_last_message();
    const std::string copy = text != nullptr ? text : "null";
    ggml_ext_text_free(text);
    return copy;
}

inline JsonValue explained(ExtMachine & m, ggml_cgraph * graph) {
    return JsonReader::read(explain(m, graph, GGML_EXT_FORMAT_JSON));
}

inline const JsonValue & named(const JsonValue & list, const char * key, const std::string & name) {
    static const JsonValue none;
    const auto found = std::find_if(list.items.begin(), list.items.end(),
                                    [&](const JsonValue & item) { return item[key].string == name; });
    EXPECT_NE(found, list.items.end()) << name;
    return found != list.items.end() ? *found : none;
}

inline int occurrences(const std::string & text, const std::string & part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

} // namespace ggml::test
