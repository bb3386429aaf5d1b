// Byte-level BPE with the Qwen2 rules: normalization form C, special tokens first, pieces by a regular
// expression, merges by rank. The vocabulary comes from a file; nothing about its size is assumed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct gguf_context;

namespace sd {

// What files say, in whatever form; checked by Tokenizer.
struct Vocabulary {
    std::string source;              // the file, for messages
    std::vector<std::string> tokens; // by id, in the printable form of bytes; "" where an id is not used
    std::vector<std::string> merges; // "left right", by rank
    std::string merges_source;       // the file they are from, where it is another one
    std::vector<int32_t> special;    // ids that stand in the text as they are
};

// From a GGUF's tokenizer.ggml.* pairs. Throws Error when it has none or they are of another kind.
Vocabulary vocabulary_of_gguf(const gguf_context * pairs, const std::string & file);

// From tokenizer.json; or from vocab.json and merges.txt.
Vocabulary vocabulary_of_tokenizer_json(const std::string & path);
Vocabulary vocabulary_of_files(const std::string & vocab, const std::string & merges);

// For a model file without one: `given` (a tokenizer.json, a vocab.json whose merges.txt lies beside it, or a
// folder), else the files of these names beside the model. Throws Error that lists where it looked.
Vocabulary find_vocabulary(const std::string & model, const std::string & given);

class Tokenizer {
  public:
    // Throws Error when bytes are missing or merges make no token.
    explicit Tokenizer(const Vocabulary & vocabulary);
    ~Tokenizer();
    Tokenizer(Tokenizer &&) noexcept;

    // text: valid UTF-8, of any length. From one thread at a time.
    std::vector<int32_t> encode(std::string_view text) const;

    // The id of a token that must exist, in the printable form; an Error otherwise.
    int32_t id(std::string_view token) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace sd
