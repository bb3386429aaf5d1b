#include "checkpoint/pytorch/unpickler.h"

#include "base/error.h"

#include <cstdio>
#include <utility>

namespace sd::pytorch {
namespace {

// Longer ones cannot be part of a tensor's name or place; of them only the kind is kept.
constexpr uint64_t kLongText = 4096;
constexpr size_t kLongName = 256; // of a module, class or function

// Writers number what they remember from 0 or 1 on; a few may be missing.
constexpr uint64_t kMostMissing = 64;
constexpr Value kUnused{Kind::none, -1};
bool is_unused(Value v) { return v.kind == kUnused.kind && v.number == kUnused.number; }

} // namespace

void Unpickler::broken(const std::string & cause) const {
    throw Error(
        {"E_PICKLE", {}, {}, "the pickle is broken at byte " + std::to_string(at_) + ": " + cause, {}});
}

Value Unpickler::load() {
    stack_.clear();
    marks_.clear();
    memo_.clear();
    remembered_ = 0;
    while (true) {
        at_ = in_.position();
        const auto op = in_.value<uint8_t>();
        if (op == '.') return pop();
        if (plain(op) || numbers(op) || texts(op) || containers(op) || additions(op) || memo(op) ||
            calls(op)) {
            continue;
        }
        char hex[8];
        std::snprintf(hex, sizeof hex, "0x%02x", unsigned(op));
        broken(std::string("opcode ") + hex + " is none that torch.save writes");
    }
}

void Unpickler::push(Value v) {
    heap_.charge(1, in_.position() - start_);
    stack_.push_back(v);
}

// What lies below a mark is out of reach until the mark is gone.
Value & Unpickler::top() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) broken("nothing is on the stack");
    return stack_.back();
}

Value Unpickler::pop() {
    const Value v = top();
    stack_.pop_back();
    return v;
}

std::vector<Value> Unpickler::pop_to_mark() {
    if (marks_.empty()) broken("there is no mark on the stack");
    const auto begin = stack_.begin() + ptrdiff_t(marks_.back());
    std::vector<Value> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
}

bool Unpickler::plain(uint8_t op) {
    switch (op) {
    case 0x80: // PROTO
        if (const auto version = in_.value<uint8_t>(); version > 5) {
            broken("protocol " + std::to_string(version) + " is unknown; 2 to 5 can be read");
        }
        return true;
    case 0x95: // FRAME: its length only helps readers that read ahead
        in_.skip(8);
        return true;
    case '0': pop(); return true;
    case '1': pop_to_mark(); return true;
    case '2': push(Value(top())); return true;
    case '(':
        heap_.charge(1, in_.position() - start_);
        marks_.push_back(stack_.size());
        return true;
    case 'N': push({}); return true;
    case 0x88: push({Kind::boolean, 1}); return true;
    case 0x89: push({Kind::boolean, 0}); return true;
    default: return false;
    }
}

bool Unpickler::numbers(uint8_t op) {
    switch (op) {
    case 'J': push({Kind::integer, in_.value<int32_t>()}); return true;
    case 'K': push({Kind::integer, in_.value<uint8_t>()}); return true;
    case 'M': push({Kind::integer, in_.value<uint16_t>()}); return true;
    case 'G':
        in_.skip(8);
        push({Kind::number, 0});
        return true;
    case 0x8a: long_number(in_.value<uint8_t>()); return true;
    case 0x8b: {
        const auto bytes = in_.value<int32_t>();
        if (bytes < 0) broken("a number of negative length");
        long_number(uint64_t(bytes));
        return true;
    }
    default: return false;
    }
}

// Two's complement, least significant byte first, of any length.
void Unpickler::long_number(uint64_t bytes) {
    if (bytes > kLongText) {
        in_.skip(bytes);
        push({Kind::number, 0});
        return;
    }
    const std::string digits = in_.text(size_t(bytes));
    if (bytes > 8) {
        push(heap_.make_text(Kind::big, digits));
        return;
    }
    const bool negative = !digits.empty() && (uint8_t(digits.back()) & 0x80) != 0;
    uint64_t value = negative ? ~uint64_t(0) : 0;
    for (size_t i = digits.size(); i-- > 0;) value = value << 8 | uint8_t(digits[i]);
    push({Kind::integer, int64_t(value)});
}

bool Unpickler::texts(uint8_t op) {
    switch (op) {
    case 'U':  // SHORT_BINSTRING
    case 'C':  // SHORT_BINBYTES
    case 0x8c: // SHORT_BINUNICODE
        long_text(in_.value<uint8_t>());
        return true;
    case 'X': // BINUNICODE
    case 'B': // BINBYTES
        long_text(in_.value<uint32_t>());
        return true;
    case 'T': { // BINSTRING
        const auto bytes = in_.value<int32_t>();
        if (bytes < 0) broken("a text of negative length");
        long_text(uint64_t(bytes));
        return true;
    }
    case 0x8d: // BINUNICODE8
    case 0x8e: // BINBYTES8
    case 0x96: // BYTEARRAY8
        long_text(in_.value<uint64_t>());
        return true;
    default: return false;
    }
}

void Unpickler::long_text(uint64_t bytes) {
    if (bytes > kLongText) {
        in_.skip(bytes);
        push({Kind::opaque, 0});
        return;
    }
    push(heap_.make_text(Kind::text, in_.text(size_t(bytes))));
}

bool Unpickler::memo(uint8_t op) {
    uint64_t key = 0;
    switch (op) {
    case 'q': remember(in_.value<uint8_t>(), top()); return true;
    case 'r': remember(in_.value<uint32_t>(), top()); return true;
    case 0x94: remember(remembered_, top()); return true;
    case 'h': key = in_.value<uint8_t>(); break;
    case 'j': key = in_.value<uint32_t>(); break;
    default: return false;
    }
    const bool known = key < memo_.size() && !is_unused(memo_[key]);
    if (!known) broken("value " + std::to_string(key) + " was never remembered");
    push(memo_[key]);
    return true;
}

void Unpickler::remember(uint64_t key, Value v) {
    heap_.charge(1, in_.position() - start_);
    if (key > remembered_ + kMostMissing) {
        broken("value " + std::to_string(key) + " is remembered out of turn");
    }
    if (key >= memo_.size()) memo_.resize(size_t(key) + 1, kUnused);
    if (is_unused(memo_[key])) ++remembered_;
    memo_[key] = v;
}

bool Unpickler::calls(uint8_t op) {
    switch (op) {
    case 'c': { // GLOBAL
        const std::string module = in_.line(kLongName), name = in_.line(kLongName);
        global(module, name);
        return true;
    }
    case 0x93: { // STACK_GLOBAL
        const Value name = pop(), module = pop();
        if (name.kind != Kind::text || module.kind != Kind::text) broken("a name is no text");
        global(std::string(heap_.text(module)), std::string(heap_.text(name)));
        return true;
    }
    case 'R':    // REDUCE
    case 0x81: { // NEWOBJ
        const Value arguments = pop(), function = pop();
        call(function, arguments);
        return true;
    }
    case 0x92: { // NEWOBJ_EX: with keywords, which no function that matters here takes
        pop();
        const Value arguments = pop(), function = pop();
        call(function, arguments);
        return true;
    }
    case 'b': // BUILD: state for an object; of those that matter here none has any
        pop();
        top();
        return true;
    case 'Q': // BINPERSID
        make(Kind::stored, {pop()});
        return true;
    default: return false;
    }
}

void Unpickler::global(const std::string & module, const std::string & name) {
    if (module.size() > kLongName || name.size() > kLongName) broken("the name of a class is too long");
    push(heap_.make_global(module + "." + name));
}

void Unpickler::call(Value function, Value arguments) {
    const std::string & name = function.kind == Kind::global ? heap_.name(function) : std::string();
    if (name == "collections.OrderedDict" || name == "builtins.dict" || name == "__builtin__.dict") {
        make_dict(arguments, 0);
    } else if (name == "collections.defaultdict") {
        make_dict(arguments, 1); // after the factory
    } else if (name == "torch.Size" && arguments.kind == Kind::tuple && heap_.items(arguments).size() == 1 &&
               heap_.items(arguments)[0].kind == Kind::tuple) {
        push(heap_.items(arguments)[0]);
    } else {
        make(Kind::call, {function, arguments});
    }
}

std::vector<Value> Unpickler::pairs_of(const std::vector<Value> & pairs) const {
    std::vector<Value> contents;
    for (const Value pair : pairs) {
        const bool is_pair =
            (pair.kind == Kind::tuple || pair.kind == Kind::list) && heap_.items(pair).size() == 2;
        if (!is_pair) broken("a dictionary is made of something else than pairs");
        contents.push_back(heap_.items(pair)[0]);
        contents.push_back(heap_.items(pair)[1]);
    }
    return contents;
}

// dict(), dict(other) or dict([(key, value), ...]) with the contents being argument number `which`.
void Unpickler::make_dict(Value arguments, size_t which) {
    std::vector<Value> contents;
    if (arguments.kind == Kind::tuple && heap_.items(arguments).size() > which) {
        const Value from = heap_.items(arguments)[which];
        if (from.kind != Kind::dict && from.kind != Kind::list && from.kind != Kind::tuple) {
            broken("a dictionary is made of something else");
        }
        heap_.charge(heap_.items(from).size() * 2, in_.position() - start_);
        if (from.kind == Kind::dict) {
            contents = heap_.items(from);
        } else {
            contents = pairs_of(heap_.items(from));
        }
    }
    make(Kind::dict, std::move(contents));
}

} // namespace sd::pytorch
