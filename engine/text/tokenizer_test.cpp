#include "text/tokenizer.h"

#include "base/error.h"
#include "text/bpe.h"
#include "text/pieces.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sd {
namespace {

// Bytes by their own numbers, then merges in this order, then two special tokens.
Vocabulary small() {
    Vocabulary v;
    v.source = "small";
    v.tokens = byte_symbols();
    for (const char * merge : {"a b", "ab c", "b c", "\xc4\xa0 a", "\xc4\xa0 ab"}) {
        v.merges.push_back(merge);
        std::string token(merge);
        token.erase(token.find(' '), 1);
        v.tokens.push_back(token);
    }
    v.special = {int32_t(v.tokens.size()), int32_t(v.tokens.size()) + 1};
    v.tokens.insert(v.tokens.end(), {"<|x|>", "<|x|>y"});
    return v;
}

std::vector<int32_t> ids(const std::string & text) { return Tokenizer(small()).encode(text); }

std::vector<std::string> pieces(const std::string & text) {
    std::vector<std::string> out;
    Pieces().cut(text, [&](std::string_view piece) { out.emplace_back(piece); });
    return out;
}

std::string refusal(const std::function<void()> & run) {
    try {
        run();
    } catch (const Error & error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST(tokenizer, merges_by_rank_and_from_the_left) {
    EXPECT_EQ(ids("abc"), (std::vector<int32_t>{257}));
    EXPECT_EQ(ids("bc"), (std::vector<int32_t>{258}));
    EXPECT_EQ(ids("aabc"), (std::vector<int32_t>{'a', 257}));
    EXPECT_EQ(ids("abab"), (std::vector<int32_t>{256, 256}));
    EXPECT_EQ(ids("x ab"), (std::vector<int32_t>{'x', 260}));
    EXPECT_EQ(ids(""), (std::vector<int32_t>{}));
}

TEST(tokenizer, keeps_special_tokens_whole_and_takes_the_longest) {
    EXPECT_EQ(ids("a<|x|>b"), (std::vector<int32_t>{'a', 261, 'b'}));
    EXPECT_EQ(ids("<|x|>y<|x|>"), (std::vector<int32_t>{262, 261}));
    EXPECT_EQ(ids("<|x"), (std::vector<int32_t>{'<', '|', 'x'}));
    // Merges do not reach over them.
    EXPECT_EQ(ids("a<|x|>bc"), (std::vector<int32_t>{'a', 261, 258}));
}

TEST(tokenizer, composes_characters_first) {
    EXPECT_EQ(ids("e\xcc\x81"), ids("\xc3\xa9"));
    EXPECT_NE(ids("e\xcc\x81"), ids("e"));
}

TEST(tokenizer, refuses_text_that_is_not_utf8) {
    EXPECT_EQ(refusal([] { ids("ab\xff"); }), "the text is not valid UTF-8 at byte 2");
    EXPECT_EQ(refusal([] { ids("\xc3"); }), "the text is not valid UTF-8 at byte 0");
    EXPECT_EQ(refusal([] { ids("\xed\xa0\x80"); }), "the text is not valid UTF-8 at byte 0");
}

TEST(tokenizer, takes_long_words_in_little_time) {
    std::string word;
    for (int i = 0; i < 1 << 18; ++i) word += "abc";
    EXPECT_EQ(ids(word).size(), size_t(1) << 18);
}

TEST(tokenizer, names_what_a_vocabulary_lacks) {
    Vocabulary v = small();
    v.tokens[65].clear();
    EXPECT_EQ(refusal([&] { Tokenizer t(v); }), "small: the vocabulary has no token for the byte A");
    v = small();
    v.merges.push_back("a zz");
    EXPECT_EQ(refusal([&] { Tokenizer t(v); }),
              "small: merge 5 is of tokens the vocabulary does not have: a zz");
    v.merges.back() = "nopair";
    EXPECT_EQ(refusal([&] { Tokenizer t(v); }), "small: merge 5 is no pair: nopair");
    EXPECT_EQ(refusal([] { Tokenizer(small()).id("<|y|>"); }), "the vocabulary has no token <|y|>");
}

TEST(pieces, cut_text_as_the_model_was_trained) {
    using List = std::vector<std::string>;
    EXPECT_EQ(pieces("don't I'LL go"), (List{"don", "'t", " I", "'LL", " go"}));
    EXPECT_EQ(pieces("a  b"), (List{"a", " ", " b"}));
    EXPECT_EQ(pieces("a\t\tb"), (List{"a", "\t", "\tb"}));
    EXPECT_EQ(pieces("12 3"), (List{"1", "2", " ", "3"}));
    EXPECT_EQ(pieces("x\n\n y "), (List{"x", "\n\n", " y", " "}));
    EXPECT_EQ(pieces("wow!!\n ok"), (List{"wow", "!!\n", " ok"}));
    EXPECT_EQ(pieces("\xe7\x8c\xab \xf0\x9f\x90\xb1"), (List{"\xe7\x8c\xab", " \xf0\x9f\x90\xb1"}));
}

// A folder that is gone afterwards.
class Folder {
  public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("vocabulary-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string write(const std::string & name, const std::string & text) const {
        std::ofstream(path_ / name) << text;
        return (path_ / name).string();
    }
    std::string path(const std::string & name = {}) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

std::string vocab_json(const std::vector<std::string> & tokens) {
    nlohmann::json json;
    for (size_t i = 0; i < tokens.size(); ++i) json[tokens[i]] = i;
    return json.dump();
}

TEST(vocabulary, comes_from_either_kind_of_files_beside_the_model) {
    const Folder folder;
    const std::string model = folder.write("model.safetensors", "");
    EXPECT_NE(refusal([&] {
                  find_vocabulary(model, "");
              }).find("has no vocabulary, and there is no tokenizer.json"),
              std::string::npos);
    std::vector<std::string> tokens = byte_symbols();
    tokens.push_back("ab");
    folder.write("vocab.json", vocab_json(tokens));
    folder.write("merges.txt", "#version: 0.2\na b\n");
    const Tokenizer plain(find_vocabulary(model, ""));
    EXPECT_EQ(plain.encode("ab<|im_start|>"), (std::vector<int32_t>{256, 258}));
    EXPECT_EQ(Tokenizer(find_vocabulary(model, folder.path("vocab.json"))).encode("ab"),
              (std::vector<int32_t>{256}));

    const std::string json =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":" + vocab_json(tokens) +
        ",\"merges\":[[\"a\",\"b\"]]},\"added_tokens\":[{\"id\":300,\"content\":\"<|s|>\"}]}";
    folder.write("tokenizer.json", json);
    EXPECT_EQ(Tokenizer(find_vocabulary(model, folder.path())).encode("ab<|s|>"),
              (std::vector<int32_t>{256, 300}));
}

TEST(vocabulary, faults_are_said_of_the_file_they_are_in) {
    const Folder folder;
    const std::string merges = folder.write("merges.txt", "abc\n");
    const std::string vocab = folder.write("vocab.json", vocab_json(byte_symbols()));
    EXPECT_EQ(refusal([&] { Tokenizer(vocabulary_of_files(vocab, merges)); }),
              merges + ": merge 0 is no pair: abc");
    std::filesystem::remove(merges);
    EXPECT_EQ(refusal([&] { find_vocabulary("model.safetensors", folder.path()); }),
              folder.path() +
                  ": is a folder with no tokenizer.json and no vocab.json with merges.txt (both come "
                  "with the model)");
}

TEST(vocabulary, refuses_files_that_are_none) {
    const Folder folder;
    const auto json = [&](const std::string & text) {
        const std::string path = folder.write("tokenizer.json", text);
        const std::string line = refusal([&] { vocabulary_of_tokenizer_json(path); });
        return line.substr(line.find("tokenizer.json"));
    };
    EXPECT_EQ(json("{"), "tokenizer.json: is not valid JSON");
    EXPECT_EQ(json("[1]"), "tokenizer.json: is no tokenizer.json");
    EXPECT_EQ(json("{\"model\":{\"type\":\"Unigram\"}}"), "tokenizer.json: is not a BPE tokenizer");
    EXPECT_EQ(json("{\"model\":{\"vocab\":{\"a\":-1}}}"),
              "tokenizer.json: has an id that is no number for a");
    EXPECT_EQ(json("{\"model\":{\"vocab\":{\"a\":99999999999}}}"),
              "tokenizer.json: has an id that is no number for a");
    EXPECT_EQ(json("{\"model\":{\"vocab\":{\"a\":1,\"b\":1}}}"),
              "tokenizer.json: has two tokens with the id 1");
    EXPECT_EQ(json("{\"model\":{\"vocab\":{},\"merges\":[3]}}"),
              "tokenizer.json: has a merge that is no pair of tokens");
    EXPECT_EQ(json("{\"model\":{\"vocab\":{}},\"added_tokens\":[{}]}"),
              "tokenizer.json: has an added token without text or id");
}

} // namespace
} // namespace sd
