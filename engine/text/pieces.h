// Cuts a text into the pieces merges stay within, by the rules of the Qwen2 tokenizer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sd {

class Pieces {
  public:
    Pieces();
    ~Pieces();
    Pieces(Pieces &&) noexcept;

    // Calls found(piece) for each, from left to right; together they are the text. text: valid UTF-8.
    void cut(std::string_view text, const std::function<void(std::string_view)> & found) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Unicode normalization form C. text: valid UTF-8.
std::string normalized(std::string_view text);

// The first byte that is not valid UTF-8; npos when all are.
size_t invalid_utf8(std::string_view text);

} // namespace sd
