// The opcodes that make and fill tuples, lists, dictionaries and sets.
#include "checkpoint/pytorch/unpickler.h"

#include <utility>

namespace sd::pytorch {

void Unpickler::make(Kind kind, std::vector<Value> items) { push(heap_.make(kind, std::move(items))); }

bool Unpickler::containers(uint8_t op) {
    switch (op) {
    case ')': make(Kind::tuple, {}); return true;
    case 't': make(Kind::tuple, pop_to_mark()); return true;
    case 0x85: make(Kind::tuple, {pop()}); return true;
    case 0x86: {
        const Value b = pop(), a = pop();
        make(Kind::tuple, {a, b});
        return true;
    }
    case 0x87: {
        const Value c = pop(), b = pop(), a = pop();
        make(Kind::tuple, {a, b, c});
        return true;
    }
    case ']': make(Kind::list, {}); return true;
    case 'l': make(Kind::list, pop_to_mark()); return true;
    case '}': make(Kind::dict, {}); return true;
    case 'd': {
        std::vector<Value> items = pop_to_mark();
        if (items.size() % 2 != 0) broken("a key has no value");
        make(Kind::dict, std::move(items));
        return true;
    }
    // No tensor's name or place comes from a set.
    case 0x8f: push({Kind::opaque, 0}); return true;
    case 0x91: pop_to_mark(), push({Kind::opaque, 0}); return true;
    case 0x90:
        pop_to_mark();
        if (top().kind != Kind::opaque) broken("members for something that is no set");
        return true;
    default: return false;
    }
}

bool Unpickler::additions(uint8_t op) {
    switch (op) {
    case 'a': {
        const Value item = pop();
        const Value list = top();
        if (list.kind == Kind::list)
            heap_.append(list, item);
        else if (list.kind != Kind::call)
            broken("an item for something that is no list");
        return true;
    }
    case 'e': {
        const std::vector<Value> items = pop_to_mark();
        const Value list = top();
        if (list.kind != Kind::list && list.kind != Kind::call) {
            broken("items for something that is no list");
        }
        if (list.kind == Kind::list) {
            for (const Value item : items) heap_.append(list, item);
        }
        return true;
    }
    case 's': {
        const Value value = pop(), key = pop();
        add_items({key, value});
        return true;
    }
    case 'u': add_items(pop_to_mark()); return true;
    default: return false;
    }
}

// Objects of other classes may be dictionaries of their own kind; their contents are left out with them.
void Unpickler::add_items(std::vector<Value> items) {
    const Value dict = top();
    if (items.size() % 2 != 0) broken("a key has no value");
    if (dict.kind != Kind::dict && dict.kind != Kind::call)
        broken("keys for something that is no dictionary");
    if (dict.kind == Kind::call) return;
    for (const Value item : items) heap_.append(dict, item);
}

} // namespace sd::pytorch
