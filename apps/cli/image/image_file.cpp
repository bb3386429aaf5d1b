#include "apps/cli/image/image_file.h"

#include "apps/cli/atomic_file.h"
#include "apps/cli/image/image_codecs.h"
#include "apps/cli/read_file.h"

#include <algorithm>
#include <cctype>
#include <new>
#include <string_view>

namespace cli {
namespace {

// More than pictures of the largest size take.
constexpr size_t kMostBytes = size_t(1) << 30;

struct Format {
    const char * name;
    uint32_t most_side;
    bool (*encode)(const sd_image_t &, const std::string &, Bytes &, std::string &);
};
constexpr Format kPng = {"PNG", 0x7fffffff, encode_png}, kJpeg = {"JPEG", 65500, encode_jpeg},
                 kWebp = {"WebP", 16383, encode_webp};

const Format * format_of(const std::string & path) {
    const size_t dot = path.rfind('.'), slash = path.rfind('/');
    if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return nullptr;
    std::string ending = path.substr(dot);
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    if (ending == ".png") return &kPng;
    if (ending == ".jpg" || ending == ".jpeg" || ending == ".jpe") return &kJpeg;
    return ending == ".webp" ? &kWebp : nullptr;
}

bool decode(const Bytes & bytes, Image & image, std::string & error) {
    using namespace std::string_view_literals;
    const std::string_view start(reinterpret_cast<const char *>(bytes.data()),
                                 std::min(bytes.size(), size_t(12)));
    if (start.starts_with("\x89PNG\r\n\x1a\n"sv)) return decode_png(bytes, image, error);
    if (start.starts_with("\xff\xd8\xff"sv)) return decode_jpeg(bytes, image, error);
    if (start.starts_with("RIFF"sv) && start.ends_with("WEBP"sv)) return decode_webp(bytes, image, error);
    error = bytes.empty() ? "is empty" : "is no PNG, JPEG or WebP file";
    return false;
}

// Runs `work`, which tells a cause; adds the file's name to it.
template <class Work>
bool for_file(const std::string & path, std::string & error, Work && work) {
    try {
        if (work()) return true;
    } catch (const std::bad_alloc &) {
        error = "not enough memory";
    }
    error = path + ": " + error;
    return false;
}

} // namespace

bool check_size(uint64_t width, uint64_t height, std::string & error) {
    const bool sides = width >= 1 && height >= 1 && width <= kMostSide && height <= kMostSide;
    if (sides && width * height <= kMostPixels) return true;
    error = "has " + std::to_string(width) + "x" + std::to_string(height) + " pixels; at most " +
            std::to_string(kMostSide) + " a side and " + std::to_string(kMostPixels / 1'000'000) +
            " million are read";
    return false;
}

bool read_image(const std::string & path, Image & image, std::string & error) {
    image = {};
    Bytes bytes;
    if (!read_file(path, kMostBytes, bytes, error)) return false;
    return for_file(path, error, [&] { return decode(bytes, image, error); });
}

bool write_image(const std::string & path, const sd_image_t & image, const std::string & text,
                 std::string & error) {
    Bytes bytes;
    const bool encoded = for_file(path, error, [&] {
        const Format * format = format_of(path);
        const bool possible =
            format != nullptr && (image.channel == 3 || (image.channel == 1 && format != &kWebp));
        if (!possible) {
            error = "cannot hold a picture of " + std::to_string(image.channel) + " channels";
            return false;
        }
        return format->encode(image, text, bytes, error);
    });
    return encoded && write_file(path, bytes.data(), bytes.size(), error);
}

bool can_write_image(const std::string & path, uint32_t width, uint32_t height, std::string & error) {
    const Format * format = format_of(path);
    if (format != nullptr && std::max(width, height) > format->most_side) {
        error = path + ": " + format->name + " has at most " + std::to_string(format->most_side) +
                " pixels a side";
        return false;
    }
    return can_write_file(path, error);
}

std::string with_image_ending(const std::string & path) {
    return format_of(path) != nullptr ? path : path + ".png";
}

} // namespace cli
