#include "base/error.h"
#include "base/file.h"
#include "text/tokenizer.h"

#include "gguf.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Real ones have about 10 MB and 150,000 entries.
constexpr uint64_t kMostBytes = 256 << 20;
constexpr size_t kMostTokens = 4 << 20;

[[noreturn]] void fail(const std::string & file, std::string cause, std::string advice = {}) {
    throw Error({"E_TOKENIZER", file, {}, std::move(cause), std::move(advice)});
}

std::string read_text(const std::string & path) {
    const File file = File::open(path);
    if (file.size() > kMostBytes) fail(path, "is too large for a vocabulary");
    std::string text(size_t(file.size()), '\0');
    file.read(0, text.data(), text.size());
    return text;
}

Json read_json(const std::string & path) {
    Json json = Json::parse(read_text(path), nullptr, false);
    if (json.is_discarded()) fail(path, "is not valid JSON");
    return json;
}

void set_token(Vocabulary & v, const std::string & text, const Json & id) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= kMostTokens)
        fail(v.source, "has an id that is no number for " + printable(text));
    const size_t at = id.get<size_t>();
    if (at >= v.tokens.size()) v.tokens.resize(at + 1);
    if (!v.tokens[at].empty() && v.tokens[at] != text)
        fail(v.source, "has two tokens with the id " + std::to_string(at));
    v.tokens[at] = text;
}

void set_tokens(Vocabulary & v, const Json & map) {
    if (!map.is_object()) fail(v.source, "is no list of tokens and ids");
    for (const auto & [text, id] : map.items()) set_token(v, text, id);
}

// The Qwen2 family's special tokens, in the order of their ids.
const std::vector<std::string> & qwen_special() {
    static const std::vector<std::string> list = {
        "<|endoftext|>",  "<|im_start|>",   "<|im_end|>",      "<|object_ref_start|>", "<|object_ref_end|>",
        "<|box_start|>",  "<|box_end|>",    "<|quad_start|>",  "<|quad_end|>",         "<|vision_start|>",
        "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>",   "<|video_pad|>",        "<tool_call>",
        "</tool_call>",   "<|fim_prefix|>", "<|fim_middle|>",  "<|fim_suffix|>",       "<|fim_pad|>",
        "<|repo_name|>",  "<|file_sep|>",   "<tool_response>", "</tool_response>",     "<think>",
        "</think>"};
    return list;
}

// vocab.json lists them or stops before them; then they follow.
void add_qwen_special(Vocabulary & v) {
    const bool listed = std::find(v.tokens.begin(), v.tokens.end(), qwen_special()[1]) != v.tokens.end();
    if (!listed) v.tokens.insert(v.tokens.end(), qwen_special().begin(), qwen_special().end());
    for (size_t i = 0; i < v.tokens.size(); ++i) {
        const auto & list = qwen_special();
        if (std::find(list.begin(), list.end(), v.tokens[i]) != list.end()) v.special.push_back(int32_t(i));
    }
}

int64_t find_array(const gguf_context * pairs, const std::string & file, const char * key, gguf_type type) {
    const int64_t id = gguf_find_key(pairs, key);
    if (id < 0) return -1;
    if (gguf_get_kv_type(pairs, id) != GGUF_TYPE_ARRAY || gguf_get_arr_type(pairs, id) != type) {
        fail(file, std::string(key) + " is not the list it should be");
    }
    return id;
}

std::vector<std::string> strings(const gguf_context * pairs, const std::string & file, const char * key) {
    const int64_t id = find_array(pairs, file, key, GGUF_TYPE_STRING);
    if (id < 0) fail(file, std::string("has no ") + key, "name a tokenizer.json with --tokenizer");
    std::vector<std::string> out;
    out.reserve(gguf_get_arr_n(pairs, id));
    for (size_t i = 0; i < gguf_get_arr_n(pairs, id); ++i) out.emplace_back(gguf_get_arr_str(pairs, id, i));
    return out;
}

} // namespace

Vocabulary vocabulary_of_gguf(const gguf_context * pairs, const std::string & file) {
    constexpr const char * kModel = "tokenizer.ggml.model";
    const int64_t model = gguf_find_key(pairs, kModel);
    if (model < 0 || gguf_get_kv_type(pairs, model) != GGUF_TYPE_STRING) {
        fail(file, "has no tokenizer", "name a tokenizer.json with --tokenizer");
    }
    if (std::string_view(gguf_get_val_str(pairs, model)) != "gpt2") {
        fail(file,
             std::string("has a tokenizer of the kind ") + gguf_get_val_str(pairs, model) + ", not gpt2");
    }
    Vocabulary v = {file,
                    strings(pairs, file, "tokenizer.ggml.tokens"),
                    strings(pairs, file, "tokenizer.ggml.merges"),
                    {}};
    const int64_t types = find_array(pairs, file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32);
    if (types < 0) {
        add_qwen_special(v);
        return v;
    }
    if (gguf_get_arr_n(pairs, types) != v.tokens.size())
        fail(file, "has another number of token types than of tokens");
    constexpr int32_t kControl = 3, kUserDefined = 4;
    const auto * type = static_cast<const int32_t *>(gguf_get_arr_data(pairs, types));
    for (size_t i = 0; i < v.tokens.size(); ++i) {
        if (type[i] == kControl || type[i] == kUserDefined) v.special.push_back(int32_t(i));
    }
    return v;
}

Vocabulary vocabulary_of_tokenizer_json(const std::string & path) {
    const Json json = read_json(path);
    Vocabulary v;
    v.source = path;
    if (!json.is_object() || !json.contains("model") || !json["model"].is_object())
        fail(path, "is no tokenizer.json");
    const Json & model = json["model"];
    if (model.value("type", Json("BPE")) != "BPE") fail(path, "is not a BPE tokenizer");
    set_tokens(v, model.value("vocab", Json()));
    for (const Json & merge : model.value("merges", Json::array())) {
        const bool pair =
            merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
        if (pair)
            v.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
        else if (merge.is_string())
            v.merges.push_back(merge.get<std::string>());
        else
            fail(path, "has a merge that is no pair of tokens");
    }
    for (const Json & added : json.value("added_tokens", Json::array())) {
        const bool whole = added.is_object() && added.contains("content") && added["content"].is_string() &&
                           added.contains("id");
        if (!whole) fail(path, "has an added token without text or id");
        set_token(v, added["content"].get<std::string>(), added["id"]);
        v.special.push_back(added["id"].get<int32_t>());
    }
    return v;
}

Vocabulary vocabulary_of_files(const std::string & vocab, const std::string & merges) {
    Vocabulary v;
    v.source = vocab;
    v.merges_source = merges;
    set_tokens(v, read_json(vocab));
    const std::string text = read_text(merges);
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        const bool header = begin == 0 && line.starts_with("#version");
        if (!line.empty() && !header) v.merges.push_back(std::move(line));
        begin = end + 1;
    }
    add_qwen_special(v);
    return v;
}

Vocabulary find_vocabulary(const std::string & model, const std::string & given) {
    const auto exists = [](const fs::path & p) {
        std::error_code ignored;
        return fs::is_regular_file(p, ignored);
    };
    const auto text = [](const fs::path & p) {
        const std::u8string utf8 = p.u8string();
        return std::string(utf8.begin(), utf8.end());
    };
    const auto path = [](const std::string & utf8) {
        return fs::path(std::u8string(utf8.begin(), utf8.end()));
    };
    std::error_code ignored;
    if (!given.empty() && !fs::is_directory(path(given), ignored)) {
        const fs::path file = path(given);
        const std::string name = text(file.filename());
        if (name.find("vocab") == std::string::npos) return vocabulary_of_tokenizer_json(given);
        std::string merges = name;
        merges.replace(merges.find("vocab"), 5, "merges");
        return vocabulary_of_files(given,
                                   text((file.parent_path() / path(merges)).replace_extension(".txt")));
    }
    const fs::path folder = given.empty() ? path(model).parent_path() : path(given);
    for (const char * prefix : {"", "tokenizer-"}) {
        const fs::path vocab = folder / (std::string(prefix) + "vocab.json");
        const fs::path merges = folder / (std::string(prefix) + "merges.txt");
        const fs::path json = folder / "tokenizer.json";
        if (exists(json)) return vocabulary_of_tokenizer_json(text(json));
        if (exists(vocab) && exists(merges)) return vocabulary_of_files(text(vocab), text(merges));
    }
    if (!given.empty())
        fail(given, "is a folder with no tokenizer.json and no vocab.json with merges.txt",
             "both come with the model");
    fail(model,
         "has no vocabulary, and there is no tokenizer.json and no vocab.json with merges.txt in " +
             (folder.empty() ? std::string("its folder") : text(folder)),
         "name one with --tokenizer");
}

} // namespace sd
