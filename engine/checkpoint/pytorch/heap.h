// What a pickle describes, without being it: plain values, containers, and notes of what would have been
// called. Nothing here can run. Objects refer to one another by number, so loops among them are harmless, and
// live as long as the heap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sd::pytorch {

enum class Kind : uint8_t {
    none,
    boolean, // number: 0 or 1
    integer, // number: itself
    number,  // a fraction; nobody asks which
    big,     // an integer beyond int64; its text is the little-endian bytes
    text,    // text or bytes
    opaque,  // something no tensor is in: long text, sets
    global,  // a class or function, by name
    tuple,   // items
    list,    // items
    dict,    // items: key, value, key, value ... as they were set; a later key replaces an earlier one
    call,    // items: what was called (mostly a global), and the arguments, mostly a tuple
    stored,  // items: the id of something that is outside the pickle
};

struct Value {
    Kind kind = Kind::none;
    int64_t number = 0; // a number, or which of the heap's objects, texts or globals
};

class Heap {
  public:
    // `bytes` counts the pickle's bytes so far. Memory stays in proportion to it: every value is paid for
    // with a byte, which copies of containers are not, so the allowance is twice that.
    void charge(uint64_t values, uint64_t bytes);

    Value make(Kind kind, std::vector<Value> items);
    Value make_text(Kind kind, std::string_view text);
    Value make_global(const std::string & name);

    void append(Value container, Value item) { objects_[size_t(container.number)].items.push_back(item); }

    // Of kinds that have them.
    const std::vector<Value> & items(Value v) const { return objects_[size_t(v.number)].items; }
    std::string_view text(Value v) const;                                          // text, big
    const std::string & name(Value v) const { return globals_[size_t(v.number)]; } // "module.name"

    // Objects are numbered from 0 in the order they were made.
    size_t objects() const { return objects_.size(); }
    Value object(size_t i) const { return {objects_[i].kind, int64_t(i)}; }

    // The name of what a call calls; empty when that is no global.
    std::string_view callee(Value call) const;
    // The arguments of a call: empty when they are no tuple.
    const std::vector<Value> & arguments(Value call) const;

  private:
    void charge_text(uint64_t bytes);

    struct Object {
        Kind kind;
        std::vector<Value> items;
    };
    struct Range {
        uint64_t begin, size;
    };
    std::vector<Object> objects_;
    std::string texts_;
    std::vector<Range> ranges_; // in texts_
    std::vector<std::string> globals_;
    std::map<std::string, int64_t> global_numbers_;
    uint64_t values_ = 0, text_bytes_ = 0;
};

} // namespace sd::pytorch
