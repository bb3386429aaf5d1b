// Python's pickle machine, cut down to describing: it fills a heap and runs nothing. Opcodes of protocols 2
// to 5 as torch.save writes them, and protocol 0's GLOBAL; every other opcode, and every use of one that does
// not fit, is an Error. Time and memory are in proportion to the pickle's bytes.
#pragma once

#include "checkpoint/pytorch/heap.h"
#include "checkpoint/pytorch/stream.h"

#include <string>
#include <vector>

namespace sd::pytorch {

class Unpickler {
  public:
    Unpickler(Stream & in, Heap & heap) : in_(in), heap_(heap), start_(in.position()) {}

    // The next pickle of the stream, up to and with its STOP.
    Value load();

  private:
    [[noreturn]] void broken(const std::string & cause) const;

    void push(Value v);
    Value pop();
    Value & top();
    std::vector<Value> pop_to_mark();
    void remember(uint64_t key, Value v);

    // Each takes one group of opcodes and says whether the opcode is of that group.
    bool plain(uint8_t op);
    bool numbers(uint8_t op);
    bool texts(uint8_t op);
    bool containers(uint8_t op);
    bool additions(uint8_t op);
    bool memo(uint8_t op);
    bool calls(uint8_t op);

    void long_number(uint64_t bytes);
    void long_text(uint64_t bytes);
    void make(Kind kind, std::vector<Value> items);
    void add_items(std::vector<Value> items);
    void global(const std::string & module, const std::string & name);
    void call(Value function, Value arguments);
    std::vector<Value> pairs_of(const std::vector<Value> & pairs) const;
    void make_dict(Value arguments, size_t which);

    Stream & in_;
    Heap & heap_;
    uint64_t start_;  // of the first pickle in the file
    uint64_t at_ = 0; // of the current opcode
    std::vector<Value> stack_;
    std::vector<size_t> marks_; // heights of the stack
    std::vector<Value> memo_;
    size_t remembered_ = 0; // memo entries in use
};

} // namespace sd::pytorch
