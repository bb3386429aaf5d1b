// Reading JSON in tests, strictly: what is no JSON throws.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ggml::test {

struct JsonValue {
    enum Kind { null, boolean, number, text, array, object } kind = null;
    std::string string; // of a text, or a number as it stands there
    bool truth = false;
    std::vector<JsonValue> items;
    std::map<std::string, JsonValue> fields;

    const JsonValue & operator[](const std::string & key) const { return fields.at(key); }
    const JsonValue & operator[](size_t i) const { return items.at(i); }
    bool has(const std::string & key) const { return fields.count(key) != 0; }
    size_t size() const { return items.size(); }
    double value() const { return std::strtod(string.c_str(), nullptr); }
};

class JsonReader {
  public:
    static JsonValue read(std::string_view text) {
        JsonReader reader{text};
        JsonValue v = reader.value();
        reader.space();
        if (reader.at_ != text.size()) reader.fail("text behind the end");
        return v;
    }

  private:
    explicit JsonReader(std::string_view text) : text_(text) {}

    [[noreturn]] void fail(const std::string & what) const {
        throw std::runtime_error(what + " at " + std::to_string(at_));
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void space() {
        while (peek() != '\0' && std::string_view(" \n\t\r").find(peek()) != std::string_view::npos) ++at_;
    }
    bool take(std::string_view token) {
        space();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    void need(std::string_view token) {
        if (!take(token)) fail("no " + std::string(token));
    }

    JsonValue value() {
        JsonValue v;
        if (take("{")) {
            v.kind = JsonValue::object;
            for (bool first = true; !take("}"); first = false) {
                if (!first) need(",");
                std::string key = string();
                need(":");
                if (!v.fields.emplace(std::move(key), value()).second) fail("key given twice");
            }
        } else if (take("[")) {
            v.kind = JsonValue::array;
            for (bool first = true; !take("]"); first = false) {
                if (!first) need(",");
                v.items.push_back(value());
            }
        } else if (take("true")) {
            v.kind = JsonValue::boolean, v.truth = true;
        } else if (take("false")) {
            v.kind = JsonValue::boolean;
        } else if (take("null")) {
        } else if (peek() == '"') {
            v.kind = JsonValue::text, v.string = string();
        } else {
            v.kind = JsonValue::number;
            while (std::isdigit(uint8_t(peek())) ||
                   (peek() != '\0' && std::string_view("+-.eE").find(peek()) != std::string_view::npos))
                v.string += text_[at_++];
            if (v.string.empty()) fail("no value");
        }
        return v;
    }

    std::string string() {
        need("\"");
        std::string s;
        for (; peek() != '"'; ++at_) {
            if (uint8_t(peek()) < 0x20) fail("control character");
            if (peek() != '\\') {
                s += peek();
                continue;
            }
            ++at_;
            const size_t known = std::string_view("\"\\/nt").find(peek());
            if (known != std::string_view::npos) {
                s += "\"\\/\n\t"[known];
            } else if (peek() == 'u') {
                s += char(std::strtol(std::string(text_.substr(at_ + 1, 4)).c_str(), nullptr, 16));
                at_ += 4;
            } else {
                fail("escape");
            }
        }
        ++at_;
        return s;
    }

    std::string_view text_;
    size_t at_ = 0;
};

} // namespace ggml::test
