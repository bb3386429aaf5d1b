// JSON as a stream of events, without a tree: for headers of any size from strangers. Nesting is bounded,
// text is UTF-8 throughout, and anything but one complete value is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sd {

struct JsonScalar {
    enum Kind { null, boolean, whole, other_number, string } kind; // whole: 0 to 2^64 - 1
    uint64_t number = 0;                                           // of a whole
    std::string text = {}; // a string's contents; otherwise what the file says, for messages
};

// Whoever receives the events throws Error for what it does not want.
class JsonHandler {
  public:
    virtual ~JsonHandler() = default;
    virtual void begin_object() = 0;
    virtual void end_object() = 0;
    virtual void begin_array() = 0;
    virtual void end_array() = 0;
    virtual void key(std::string & name) = 0; // may be moved from
    virtual void scalar(JsonScalar & value) = 0;
};

// `what` begins the cause of an Error: "its header".
void parse_json(std::string_view text, const std::string & what, JsonHandler & handler);

} // namespace sd
