// Writing JSON. Promise: the text is valid whatever bytes names contain (what is no UTF-8 becomes U+FFFD);
// integers are exact. The caller closes what it opens and gives each value of an object its key.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace ggml {

// With the quotes.
void append_json_string(std::string & out, std::string_view text);

class JsonWriter {
  public:
    JsonWriter & key(std::string_view name) {
        separate();
        append_json_string(out_, name);
        out_ += ':';
        needs_comma_ = false;
        return *this;
    }
    void begin(char bracket) { // '{' or '['
        separate();
        out_ += bracket;
        needs_comma_ = false;
    }
    void end(char bracket) {
        out_ += bracket;
        needs_comma_ = true;
    }
    void value(std::string_view text) {
        separate();
        append_json_string(out_, text);
    }
    void null() {
        separate();
        out_ += "null";
    }
    template <std::integral T>
    void value(T number) {
        separate();
        if constexpr (std::is_same_v<T, bool>) {
            out_ += number ? "true" : "false";
        } else {
            out_ += std::to_string(number);
        }
    }
    template <class T>
    void field(std::string_view name, const T & v) {
        key(name).value(v);
    }
    std::string take() { return std::move(out_); }

  private:
    void separate() {
        if (needs_comma_) out_ += ',';
        needs_comma_ = true;
    }
    std::string out_;
    bool needs_comma_ = false;
};

} // namespace ggml
