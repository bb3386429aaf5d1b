#include "pipeline/text_encoder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/container.h"
#include "pipeline/spread.h"
#include "text/prompt.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

namespace sd {
namespace {

// What Krea 2 was trained with around a prompt.
constexpr char kBefore[] = "<|im_start|>system\nDescribe the image by detailing the color, shape, size, "
                           "texture, quantity, text, spatial "
                           "relationships of the objects and background:<|im_end|>\n<|im_start|>user\n";
constexpr char kAfter[] = "<|im_end|>\n<|im_start|>assistant\n";

// Attention takes time and its mask memory with the square of this: 128 MiB here, and no text of a person is
// longer. A whole file given as a prompt by mistake is refused at once.
constexpr size_t kMostTokens = 8192;

// Of a part of a prompt, either way: people stay below 2, and weights that brackets within brackets multiply
// without end become infinite.
constexpr float kMostWeight = 1000.0f;

// Tokens of kBefore; their features are dropped.
constexpr size_t kPrefixTokens = 34;

bool is_gguf(const File & file) {
    char magic[4] = {};
    if (file.size() >= sizeof magic) file.read(0, magic, sizeof magic);
    return std::string_view(magic, sizeof magic) == "GGUF";
}

// Another model file's vocabulary; nothing where `given` is no such file.
std::optional<Vocabulary> vocabulary_of_model(const std::string & given) {
    std::error_code ignored;
    const std::filesystem::path path(std::u8string(given.begin(), given.end()));
    if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
    const File file = File::open(given);
    if (!is_gguf(file)) return std::nullopt;
    return vocabulary_of_gguf(read_gguf(file).pairs.get(), given);
}

Tokenizer tokenizer_of(const ModelTable & table, const std::string & given) {
    const TensorInfo & any = *table.get("embed_tokens.weight").info;
    const OpenedFile & file = table.checkpoint().files()[size_t(any.file)];
    const bool own = given.empty() && file.container.pairs != nullptr;
    if (const auto vocabulary = vocabulary_of_model(given)) return Tokenizer(*vocabulary);
    return Tokenizer(own ? vocabulary_of_gguf(file.container.pairs.get(), file.file.path())
                         : find_vocabulary(file.file.path(), given));
}

double mean(const std::vector<float> & values) {
    double sum = 0.0;
    for (const float v : values) sum += double(v);
    return sum / double(values.size());
}

// Weighs each token's features, then brings the mean of all back to what it was.
void weigh(std::vector<float> & states, const std::vector<float> & weights) {
    if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1.0f; })) return;
    const size_t features = states.size() / weights.size();
    const double before = mean(states);
    for (size_t i = 0; i < states.size(); ++i) states[i] *= weights[i / features];
    const double after = mean(states);
    if (!std::isfinite(before) || !std::isfinite(after) || after == 0.0) return;
    // Means near zero would make this anything; real prompts are close to 1.
    constexpr double kMost = 4.0;
    double gain = before / after;
    if (std::abs(gain) > kMost || gain <= 0.0) {
        log_warn("the weights of the prompt would change all features by a factor of " +
                 std::to_string(gain) + "; they are not rescaled");
        gain = 1.0;
    }
    for (float & v : states) v *= float(gain);
}

} // namespace

TextEncoder::TextEncoder(const ModelTable & table, const std::vector<Runner *> & runners,
                         const std::string & tokenizer, const Weights::Options & options,
                         const ParallelOptions & loading)
    : config_(qwen3_vl_config(table)), weights_(table, options), model_(weights_, config_),
      tokenizer_(tokenizer_of(table, tokenizer)),
      layers_(runners, weights_, model_.stages(), model_.most_nodes(), "text encoder") {
    spread_blocks(weights_, runners, "text encoder");
    if (always_there())
        weights_.load(loading);
    else
        weights_.prepare(loading);
}

TextEncoder::Tokens TextEncoder::tokens_of(const std::string & prompt) const {
    Tokens tokens;
    const auto add = [&](const std::string & text, float weight) {
        const std::vector<int32_t> ids = tokenizer_.encode(text);
        tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
        tokens.weights.resize(tokens.ids.size(), weight);
    };
    add(kBefore, 1.0f);
    if (tokens.ids.size() != kPrefixTokens) {
        throw Error(
            {"E_TOKENIZER",
             weights_.table().checkpoint().file_of(*weights_.table().get("embed_tokens.weight").info).path(),
             {},
             "the tokenizer makes " + std::to_string(tokens.ids.size()) +
                 " tokens of the model's template, not " + std::to_string(kPrefixTokens),
             "it belongs to another model"});
    }
    for (const Fragment & f : parse_prompt(prompt)) {
        // Written so that NaN is outside.
        if (!(std::fabs(f.weight) <= kMostWeight))
            throw Error(
                {"E_PROMPT",
                 {},
                 {},
                 "the prompt's brackets give a part a weight beyond " + std::to_string(int(kMostWeight)),
                 "a backslash makes a bracket text"});
        add(f.text, f.weight);
    }
    add(kAfter, 1.0f);
    return tokens;
}

TextContext TextEncoder::encode(const std::string & prompt, const std::string & name, Watch & watch,
                                const std::atomic<bool> * cancel) {
    const Tokens tokens = tokens_of(prompt);
    if (tokens.ids.size() > kMostTokens) {
        throw Error({"E_PROMPT",
                     {},
                     {},
                     (name == "uncond" ? "the negative prompt has " : "the prompt has ") +
                         std::to_string(tokens.ids.size()) + " tokens with the model's template",
                     "at most " + std::to_string(kMostTokens) + " are possible"});
    }
    const size_t around = kPrefixTokens + tokenizer_.encode(kAfter).size();
    log_info((name == "uncond" ? "the negative prompt has " : "the prompt has ") +
             std::to_string(tokens.ids.size() - around) + " tokens");
    const TextContext context = encode_tokens(tokens.ids, tokens.weights, cancel);
    watch.ints(name + ".token_ids", tokens.ids);
    watch.floats(name + ".token_weights", {int64_t(tokens.weights.size())}, tokens.weights);
    watch.floats(name + ".context", {context.tokens, context.features}, context.values);
    return context;
}

TextContext TextEncoder::encode_tokens(const std::vector<int32_t> & ids, const std::vector<float> & weights,
                                       const std::atomic<bool> * cancel) {
    const auto n = int64_t(ids.size());
    HostValue mask = {
        GGML_TYPE_F16, {n, n, 1, 1}, std::vector<std::byte>(size_t(n * n) * sizeof(ggml_fp16_t))};
    std::memcpy(mask.bytes.data(), Qwen3Vl::causal_mask(n).data(), mask.bytes.size());
    HostValues in = {{"x", HostValue::of({config_.hidden, n}, model_.embeddings(ids))},
                     {"rope", HostValue::of({2, 2, config_.head_dim / 2, n}, model_.rope(n))},
                     {"mask", std::move(mask)}};
    StagedModel::Run run;
    run.cancel = cancel;
    const HostValue states = layers_.run(std::move(in), run).at("states");
    std::vector<float> values = states.floats();
    weigh(values, weights);
    const int64_t features = states.ne[0];
    values.erase(values.begin(), values.begin() + int64_t(kPrefixTokens) * features);
    return {n - int64_t(kPrefixTokens), features, std::move(values)};
}

} // namespace sd
