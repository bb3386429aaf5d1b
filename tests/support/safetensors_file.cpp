#include "tests/support/safetensors_file.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace ggml::test {
namespace {

// As much JSON as these headers have: objects, arrays of whole numbers, strings without escapes.
class Header {
  public:
    explicit Header(std::string_view text) : text_(text) {}

    bool take(char c) {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
        if (text_.empty() || text_[0] != c) return false;
        text_.remove_prefix(1);
        return true;
    }

    void expect(char c) {
        if (!take(c)) throw std::runtime_error(std::string("safetensors header: no '") + c + "' here");
    }

    std::string string() {
        expect('"');
        const size_t end = text_.find('"');
        if (end == text_.npos || text_.substr(0, end).find('\\') != text_.npos)
            throw std::runtime_error("safetensors header: a string without end or with an escape");
        const std::string value(text_.substr(0, end));
        text_.remove_prefix(end + 1);
        return value;
    }

    std::vector<int64_t> numbers() {
        std::vector<int64_t> values;
        expect('[');
        while (!take(']')) {
            if (!values.empty()) expect(',');
            while (take(' ')) {
            }
            int64_t value = 0;
            const auto result = std::from_chars(text_.data(), text_.data() + text_.size(), value);
            if (result.ec != std::errc()) throw std::runtime_error("safetensors header: not a number");
            text_.remove_prefix(size_t(result.ptr - text_.data()));
            values.push_back(value);
        }
        return values;
    }

    // member(key) reads the value.
    template <class Member>
    void object(Member && member) {
        expect('{');
        if (take('}')) return;
        do {
            const std::string key = string();
            expect(':');
            member(key);
        } while (take(','));
        expect('}');
    }

  private:
    std::string_view text_;
};

StoredTensor read_tensor(Header & header, std::string_view data) {
    StoredTensor t;
    std::vector<int64_t> place;
    header.object([&](const std::string & key) {
        if (key == "dtype") {
            t.dtype = header.string();
        } else if (key == "shape") {
            t.shape = header.numbers();
        } else {
            place = header.numbers();
        }
    });
    if (place.size() != 2 || place[0] < 0 || place[1] < place[0] || size_t(place[1]) > data.size())
        throw std::runtime_error("safetensors header: a tensor outside the file");
    t.bytes.assign(data.begin() + place[0], data.begin() + place[1]);
    return t;
}

} // namespace

std::map<std::string, StoredTensor> read_safetensors(const std::string & path) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    uint64_t length = 0;
    if (content.size() < sizeof(length)) throw std::runtime_error(path + " cannot be read");
    std::memcpy(&length, content.data(), sizeof(length));
    if (length > content.size() - sizeof(length))
        throw std::runtime_error(path + " has a header without end");
    const std::string_view rest = std::string_view(content).substr(sizeof(length));
    Header header(rest.substr(0, length));
    std::map<std::string, StoredTensor> tensors;
    header.object([&](const std::string & name) {
        if (name != "__metadata__") {
            tensors[name] = read_tensor(header, rest.substr(length));
        } else {
            header.object([&](const std::string &) { header.string(); });
        }
    });
    return tensors;
}

} // namespace ggml::test
