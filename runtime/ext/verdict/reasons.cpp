#include "runtime/ext/verdict/reasons.h"

#include "ggml-ext.h"

#include <cstring>
#include <iterator>

namespace ggml::ext {
namespace {

struct Reason {
    const char * id;
    const char * word;
    const char * sentence;
};

// Indexed by number.
constexpr Reason kReasons[] = {
#define REASON(id, word, sentence) {"GGML_EXT_REASON_" #id, word, sentence},
    GGML_EXT_REASONS(REASON)
#undef REASON
};
static_assert(std::size(kReasons) == GGML_EXT_REASON_COUNT);

constexpr Reason kUnknown = {"unknown", "unknown", "unknown"};

// The number may come from a caller's arithmetic. As bytes, because an enum outside its range is no value.
const Reason & reason_of(const ggml_ext_reason & reason) {
    unsigned number;
    static_assert(sizeof(number) == sizeof(reason));
    std::memcpy(&number, &reason, sizeof(number));
    return number < std::size(kReasons) ? kReasons[number] : kUnknown;
}

} // namespace

std::string reasons_markdown() {
    std::string text = "| Number | Name | Word | Meaning |\n| ---: | --- | --- | --- |\n";
    for (size_t i = 0; i < std::size(kReasons); ++i) {
        const Reason & reason = kReasons[i];
        text.append("| ").append(std::to_string(i)).append(" | `").append(reason.id).append("` | `");
        text.append(reason.word).append("` | ").append(reason.sentence).append(" |\n");
    }
    return text;
}

} // namespace ggml::ext

const char * ggml_ext_reason_name(ggml_ext_reason reason) { return ggml::ext::reason_of(reason).word; }

const char * ggml_ext_reason_text(ggml_ext_reason reason) { return ggml::ext::reason_of(reason).sentence; }
