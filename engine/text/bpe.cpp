#include "text/bpe.h"

#include "base/error.h"

#include <queue>

namespace sd {
namespace {

std::string utf8(uint32_t code) {
    if (code < 0x80) return std::string(1, char(code));
    return {char(0xc0 | (code >> 6)), char(0x80 | (code & 0x3f))};
}

uint64_t key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

} // namespace

const std::vector<std::string> & byte_symbols() {
    static const std::vector<std::string> symbols = [] {
        std::vector<std::string> out;
        uint32_t next = 0x100;
        for (uint32_t b = 0; b < 256; ++b) {
            const bool prints = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            out.push_back(utf8(prints ? b : next++));
        }
        return out;
    }();
    return symbols;
}

Bpe::Bpe(const std::vector<std::string> & tokens) {
    ids_.reserve(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].empty()) ids_.emplace(tokens[i], int32_t(i));
    }
    for (const std::string & symbol : byte_symbols()) {
        const int32_t id = find(symbol);
        if (id < 0) throw Error("the vocabulary has no token for the byte " + symbol);
        bytes_.push_back(id);
    }
}

void Bpe::set_merges(const std::vector<std::string> & merges) {
    merges_.reserve(merges.size());
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string & merge = merges[rank];
        const size_t blank = merge.find(' ');
        if (blank == std::string::npos)
            throw Error("merge " + std::to_string(rank) + " is no pair: " + printable(merge));
        const std::string left = merge.substr(0, blank), right = merge.substr(blank + 1);
        const int32_t a = find(left), b = find(right), result = find(left + right);
        if (a < 0 || b < 0 || result < 0) {
            throw Error("merge " + std::to_string(rank) +
                        " is of tokens the vocabulary does not have: " + printable(merge));
        }
        merges_.emplace(key(a, b), Merge{int32_t(rank), result});
    }
}

int32_t Bpe::find(std::string_view token) const {
    const auto found = ids_.find(std::string(token));
    return found != ids_.end() ? found->second : -1;
}

const Bpe::Merge * Bpe::merge_of(int32_t left, int32_t right) const {
    const auto found = merges_.find(key(left, right));
    return found != merges_.end() ? &found->second : nullptr;
}

void Bpe::encode(std::string_view piece, std::vector<int32_t> & out) const {
    // A doubly linked list of tokens, and a queue of the pairs that can merge: lowest rank first, then from
    // the left. Pairs whose tokens have changed since are recognized by their ids.
    struct Node {
        int32_t id, previous, next;
    };
    struct Pair {
        int32_t rank, at, left, right, result;
        bool operator<(const Pair & o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
    };
    std::vector<Node> nodes(piece.size());
    for (size_t i = 0; i < piece.size(); ++i) {
        const bool last = i + 1 == piece.size();
        nodes[i] = {bytes_[uint8_t(piece[i])], int32_t(i) - 1, last ? -1 : int32_t(i) + 1};
    }
    std::priority_queue<Pair> queue;
    const auto offer = [&](int32_t at) {
        if (at < 0 || nodes[size_t(at)].next < 0) return;
        const int32_t left = nodes[size_t(at)].id, right = nodes[size_t(nodes[size_t(at)].next)].id;
        if (const Merge * m = merge_of(left, right)) queue.push({m->rank, at, left, right, m->result});
    };
    for (size_t i = 0; i < nodes.size(); ++i) offer(int32_t(i));
    while (!queue.empty()) {
        const Pair p = queue.top();
        queue.pop();
        Node & node = nodes[size_t(p.at)];
        if (node.id != p.left || node.next < 0 || nodes[size_t(node.next)].id != p.right) continue;
        Node & gone = nodes[size_t(node.next)];
        gone.id = -1;
        node.id = p.result;
        node.next = gone.next;
        if (node.next >= 0) nodes[size_t(node.next)].previous = p.at;
        offer(node.previous);
        offer(p.at);
    }
    for (int32_t at = nodes.empty() ? -1 : 0; at >= 0; at = nodes[size_t(at)].next)
        out.push_back(nodes[size_t(at)].id);
}

} // namespace sd
