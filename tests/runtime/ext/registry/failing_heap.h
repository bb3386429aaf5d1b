// Memory that runs out. Linking failing_heap.cpp replaces operator new.
#pragma once

namespace ggml::test {

// This thread's next `n` allocations succeed, those behind them throw; while it lives.
class HeapOf {
  public:
    explicit HeapOf(int n);
    ~HeapOf();
    HeapOf(const HeapOf &) = delete;
    HeapOf & operator=(const HeapOf &) = delete;

    bool ran_out() const;
};

} // namespace ggml::test
