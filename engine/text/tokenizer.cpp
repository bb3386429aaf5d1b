#include "text/tokenizer.h"

#include "base/error.h"
#include "text/bpe.h"
#include "text/pieces.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sd {
namespace {

struct Special {
    std::string text;
    int32_t id;
};

} // namespace

struct Tokenizer::State {
    Bpe bpe;
    Pieces pieces;
    std::array<std::vector<Special>, 256> special; // by first byte, longest first

    explicit State(const Vocabulary & v) : bpe(v.tokens) {
        for (const int32_t id : v.special) {
            const std::string & text = v.tokens.at(size_t(id));
            if (!text.empty()) special[uint8_t(text[0])].push_back({text, id});
        }
        for (auto & list : special) {
            std::stable_sort(list.begin(), list.end(), [](const Special & a, const Special & b) {
                return a.text.size() > b.text.size();
            });
        }
    }

    const Special * special_at(std::string_view text) const {
        for (const Special & s : special[uint8_t(text[0])]) {
            if (text.starts_with(s.text)) return &s;
        }
        return nullptr;
    }
};

Tokenizer::Tokenizer(const Vocabulary & vocabulary) {
    try {
        state_ = std::make_unique<State>(vocabulary);
    } catch (const Error & error) {
        throw error.in_file(vocabulary.source);
    }
    try {
        state_->bpe.set_merges(vocabulary.merges);
    } catch (const Error & error) {
        throw error.in_file(vocabulary.merges_source.empty() ? vocabulary.source : vocabulary.merges_source);
    }
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view input) const {
    if (const size_t bad = invalid_utf8(input); bad != std::string_view::npos) {
        throw Error("the text is not valid UTF-8 at byte " + std::to_string(bad));
    }
    const std::string text = normalized(input);
    std::vector<int32_t> ids;
    const auto ordinary = [&](std::string_view part) {
        state_->pieces.cut(part, [&](std::string_view piece) { state_->bpe.encode(piece, ids); });
    };
    size_t begin = 0, at = 0;
    while (at < text.size()) {
        const Special * special = state_->special_at(std::string_view(text).substr(at));
        if (special == nullptr) {
            ++at;
            continue;
        }
        ordinary(std::string_view(text).substr(begin, at - begin));
        ids.push_back(special->id);
        at += special->text.size();
        begin = at;
    }
    ordinary(std::string_view(text).substr(begin));
    return ids;
}

int32_t Tokenizer::id(std::string_view token) const {
    const int32_t id = state_->bpe.find(token);
    if (id < 0) throw Error("the vocabulary has no token " + printable(token));
    return id;
}

} // namespace sd
