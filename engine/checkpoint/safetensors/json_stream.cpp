#include "checkpoint/safetensors/json_stream.h"

#include "base/error.h"

#include <nlohmann/json.hpp>

namespace sd {
namespace {

// Deeper than any header in use, and little enough for anything that keeps a stack.
constexpr int kMostDepth = 32;

// Hands events on, counts depth and words the parser's own errors.
class Adapter {
  public:
    Adapter(const std::string & what, JsonHandler & handler) : what_(what), handler_(handler) {}

    bool null() { return scalar({JsonScalar::null, 0, "null"}); }
    bool boolean(bool value) { return scalar({JsonScalar::boolean, 0, value ? "true" : "false"}); }
    bool number_unsigned(uint64_t value) { return scalar({JsonScalar::whole, value, std::to_string(value)}); }
    // Only negative numbers come here.
    bool number_integer(int64_t value) {
        return scalar({JsonScalar::other_number, 0, std::to_string(value)});
    }
    bool number_float(double, const std::string & text) {
        return scalar({JsonScalar::other_number, 0, text});
    }
    bool string(std::string & value) { return scalar({JsonScalar::string, 0, std::move(value)}); }
    bool binary(nlohmann::json::binary_t &) { return false; } // JSON text has none

    bool start_object(size_t) {
        deeper();
        handler_.begin_object();
        return true;
    }
    bool start_array(size_t) {
        deeper();
        handler_.begin_array();
        return true;
    }
    bool end_object() {
        --depth_;
        handler_.end_object();
        return true;
    }
    bool end_array() {
        --depth_;
        handler_.end_array();
        return true;
    }
    bool key(std::string & name) {
        handler_.key(name);
        return true;
    }

    bool parse_error(size_t position, const std::string &, const nlohmann::json::exception & reason) {
        constexpr int kNumberOutOfRange = 406;
        const std::string at = " at byte " + std::to_string(position);
        fail(reason.id == kNumberOutOfRange ? " has a number that is out of range" + at
                                            : " is not JSON" + at);
    }

  private:
    [[noreturn]] void fail(const std::string & cause) {
        throw Error({"E_CONTAINER", {}, {}, what_ + cause, "the file is damaged, or not what it claims"});
    }
    bool scalar(JsonScalar value) {
        handler_.scalar(value);
        return true;
    }
    void deeper() {
        if (++depth_ > kMostDepth) {
            fail(" is nested more than " + std::to_string(kMostDepth) + " levels deep");
        }
    }

    const std::string & what_;
    JsonHandler & handler_;
    int depth_ = 0;
};

} // namespace

void parse_json(std::string_view text, const std::string & what, JsonHandler & handler) {
    Adapter adapter(what, handler);
    nlohmann::json::sax_parse(text, &adapter);
}

} // namespace sd
