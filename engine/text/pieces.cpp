#include "text/pieces.h"

#include "base/error.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utf8proc.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sd {
namespace {

// Letters with one character before them, single digits, symbols with a blank before them, line ends, blanks.
// A run of blanks leaves its last one to what follows.
constexpr char kPattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                            " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

struct FreeCode {
    void operator()(pcre2_code * p) const { pcre2_code_free(p); }
};
struct FreeMatch {
    void operator()(pcre2_match_data * p) const { pcre2_match_data_free(p); }
};
struct FreeContext {
    void operator()(pcre2_match_context * p) const { pcre2_match_context_free(p); }
};

} // namespace

struct Pieces::State {
    std::unique_ptr<pcre2_code, FreeCode> code;
    std::unique_ptr<pcre2_match_data, FreeMatch> match;
    std::unique_ptr<pcre2_match_context, FreeContext> context;
};

Pieces::Pieces() : state_(std::make_unique<State>()) {
    int problem = 0;
    PCRE2_SIZE at = 0;
    state_->code.reset(pcre2_compile(PCRE2_SPTR(kPattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                                     &problem, &at, nullptr));
    if (state_->code == nullptr) throw Error("the tokenizer's expression does not compile");
    state_->match.reset(pcre2_match_data_create_from_pattern(state_->code.get(), nullptr));
    state_->context.reset(pcre2_match_context_create(nullptr));
    if (state_->match == nullptr || state_->context == nullptr) throw std::bad_alloc();
}

Pieces::~Pieces() = default;
Pieces::Pieces(Pieces &&) noexcept = default;

void Pieces::cut(std::string_view text, const std::function<void(std::string_view)> & found) const {
    const auto * subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    for (size_t at = 0; at < text.size();) {
        // Only the first search checks the text's UTF-8.
        const uint32_t options = PCRE2_ANCHORED | (at > 0 ? PCRE2_NO_UTF_CHECK : 0u);
        const int count = pcre2_match(state_->code.get(), subject, text.size(), at, options,
                                      state_->match.get(), state_->context.get());
        const PCRE2_SIZE * ends = pcre2_get_ovector_pointer(state_->match.get());
        // Every character is matched by one of the alternatives.
        if (count < 1 || ends[1] <= at) {
            throw Error("the text cannot be cut into words at byte " + std::to_string(at));
        }
        found(text.substr(at, ends[1] - at));
        at = ends[1];
    }
}

std::string normalized(std::string_view text) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x80; });
    if (plain) return std::string(text);
    utf8proc_uint8_t * out = nullptr;
    const auto options = utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                                 utf8proc_ssize_t(text.size()), &out, options);
    if (length < 0) throw Error(std::string("the text cannot be normalized: ") + utf8proc_errmsg(length));
    std::string result(reinterpret_cast<const char *>(out), size_t(length));
    std::free(out);
    return result;
}

size_t invalid_utf8(std::string_view text) {
    const auto * bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data());
    for (size_t at = 0; at < text.size();) {
        utf8proc_int32_t code = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(bytes + at, utf8proc_ssize_t(text.size() - at), &code);
        if (length < 1) return at;
        at += size_t(length);
    }
    return std::string_view::npos;
}

} // namespace sd
