#include "tools/op-bench/explain_file.h"

#include "tools/op-bench/failure.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace op_bench {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFile = size_t{256} << 20;

// A field of one kind, or the words for its absence. `where` says which node.
const Json & field(const Json & object, const char * key, Json::value_t kind, const std::string & where) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    const bool there = object.is_object() && it != object.end();
    const bool number = kind == Json::value_t::number_unsigned;
    if (there && (number ? it->is_number_unsigned() : it->type() == kind)) return *it;
    throw Failure(where + (there ? ": '" : ": no '") + key + (there ? "' is of another kind" : "'"));
}

std::string text_of(const Json & object, const char * key, const std::string & where) {
    return field(object, key, Json::value_t::string, where).get<std::string>();
}

ggml_type type_named(const std::string & name, const std::string & where) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const char * other = ggml_type_name(ggml_type(i));
        if (other != nullptr && name == other && ggml_blck_size(ggml_type(i)) > 0) return ggml_type(i);
    }
    throw Failure(where + ": there is no type '" + name + "'");
}

template <class To>
void read_four(const Json & input, const char * key, To & to, const std::string & where) {
    const Json & list = field(input, key, Json::value_t::array, where);
    if (list.size() != GGML_MAX_DIMS) throw Failure(where + ": '" + key + "' has not 4 numbers");
    for (size_t d = 0; d < GGML_MAX_DIMS; ++d) {
        if (!list[d].is_number_unsigned() || list[d].get<uint64_t>() > uint64_t(INT64_MAX))
            throw Failure(where + ": '" + key + "' has a number that is no size");
        to[d] = static_cast<typename To::value_type>(list[d].get<uint64_t>());
    }
}

Operand operand(const Json & input, const std::string & where) {
    if (input.is_null()) return {};
    Operand o;
    o.present = true;
    o.type = type_named(text_of(input, "type", where), where);
    read_four(input, "ne", o.ne, where);
    read_four(input, "nb", o.nb, where);
    return o;
}

std::vector<uint8_t> bytes_of(const std::string & hex, const std::string & where) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    const bool valid = hex.size() % 2 == 0 && hex.size() <= 2 * GGML_MAX_OP_PARAMS &&
                       hex.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!valid) throw Failure(where + ": 'attrs' are no hexadecimal bytes");
    std::vector<uint8_t> bytes(hex.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = uint8_t(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    return bytes;
}

ExplainNode node(const Json & json, const std::string & where) {
    ExplainNode out;
    out.spec.op = text_of(json, "op", where);
    out.kind = text_of(json, "kind", where);
    if (out.kind != "native") out.by = text_of(json, "by", where);
    const Json & inputs = field(json, "inputs", Json::value_t::array, where);
    if (inputs.size() > GGML_MAX_SRC) throw Failure(where + ": more inputs than a node can have");
    for (const Json & input : inputs) out.spec.inputs.push_back(operand(input, where));
    out.spec.attrs = bytes_of(text_of(json, "attrs", where), where);
    for (const Json & item : field(json, "rejected", Json::value_t::array, where)) {
        out.rejected.push_back(
            {text_of(item, "who", where), text_of(item, "reason", where), text_of(item, "message", where)});
    }
    return out;
}

uint64_t saturating_sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

std::string key_of(const NodeSpec & spec) {
    std::string key = spec.op + '\n';
    const auto add = [&](auto number) { key += std::to_string(number) + ' '; };
    for (const Operand & o : spec.inputs) {
        add(int(o.present));
        add(int(o.type));
        for (const auto n : o.ne) add(n);
        for (const auto n : o.nb) add(n);
    }
    key += '\n';
    for (const uint8_t byte : spec.attrs) add(int(byte));
    return key;
}

} // namespace

ExplainDocument parse_explain(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw Failure("it is not JSON");
    const Json & version = field(json, "version", Json::value_t::number_unsigned, "the document");
    if (version.get<uint64_t>() != 1) throw Failure("its version is " + version.dump() + ", not 1");
    ExplainDocument document;
    for (const Json & split : field(json, "splits", Json::value_t::array, "the document")) {
        for (const Json & item : field(split, "nodes", Json::value_t::array, "a split"))
            document.nodes.push_back(node(item, "node " + std::to_string(document.nodes.size())));
    }
    for (const Json & memory : field(json, "memory", Json::value_t::array, "the document")) {
        for (const char * key : {"tensor_bytes", "workspace_bytes"}) {
            const Json & bytes = field(memory, key, Json::value_t::number_unsigned, "memory");
            document.memory_bytes = saturating_sum(document.memory_bytes, bytes.get<uint64_t>());
        }
    }
    return document;
}

ExplainDocument read_explain(const std::string & path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(path + ": cannot be opened");
    std::string text;
    for (char block[65536]; file.read(block, sizeof(block)) || file.gcount() > 0;) {
        text.append(block, size_t(file.gcount()));
        if (text.size() > kMaxFile) throw Failure(path + ": larger than 256 MiB, so no explain document");
    }
    if (file.bad() || !file.eof()) throw Failure(path + ": cannot be read");
    try {
        return parse_explain(text);
    } catch (const Failure & failure) {
        throw Failure(path + ": no explain document: " + failure.what());
    }
}

std::vector<RepeatedNode> distinct_nodes(const ExplainDocument & document) {
    std::vector<RepeatedNode> list;
    std::map<std::string, size_t> known;
    for (const ExplainNode & node : document.nodes) {
        const auto [it, is_new] = known.try_emplace(key_of(node.spec), list.size());
        if (is_new) list.push_back({node.spec, 0, 0});
        ++list[it->second].count;
        if (node.kind == "fusion") ++list[it->second].fused;
    }
    return list;
}

bool is_free(const std::string & op) {
    static const std::vector<std::string> kFree = {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"};
    return std::find(kFree.begin(), kFree.end(), op) != kFree.end();
}

} // namespace op_bench
