#include "apps/cli/image_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <png.h>
#include <vector>

namespace cli {
namespace {

std::string ending_of(const std::string & path) {
    const size_t dot = path.rfind('.'), slash = path.rfind('/');
    if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return {};
    std::string ending = path.substr(dot);
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return ending;
}

void append(png_structp png, png_bytep data, png_size_t bytes) {
    auto * out = static_cast<std::vector<uint8_t> *>(png_get_io_ptr(png));
    out->insert(out->end(), data, data + bytes);
}

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
    *static_cast<std::string *>(png_get_error_ptr(png)) = text;
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

// No C++ objects are made between setjmp and a possible jump.
bool encode_rows(png_structp png, png_infop info, const sd_image_t & image, png_textp text,
                 std::vector<png_bytep> & rows) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_set_IHDR(png, info, image.width, image.height, 8,
                 image.channel == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (text != nullptr) png_set_text(png, info, text, 1);
    png_write_info(png, info);
    png_write_image(png, rows.data());
    png_write_end(png, nullptr);
    return true;
}

bool encode_png(const sd_image_t & image, const std::string & metadata, std::vector<uint8_t> & out,
                std::string & error) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, on_error, on_warning);
    png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info == nullptr) {
        png_destroy_write_struct(&png, nullptr);
        error = "not enough memory";
        return false;
    }
    png_set_write_fn(png, &out, append, nullptr);
    std::vector<png_bytep> rows(image.height);
    for (uint32_t y = 0; y < image.height; ++y)
        rows[y] = image.data + size_t(y) * image.width * image.channel;
    std::string key = "parameters", value = metadata;
    png_text text = {};
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    text.key = key.data();
    text.text = value.data();
    text.text_length = value.size();
    const bool made = encode_rows(png, info, image, metadata.empty() ? nullptr : &text, rows);
    png_destroy_write_struct(&png, &info);
    return made;
}

bool write_file(const std::string & path, const std::vector<uint8_t> & bytes, std::string & error) {
    namespace fs = std::filesystem;
    const fs::path target(std::u8string(path.begin(), path.end()));
    std::error_code problem;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), problem);
    fs::path temporary = target;
    temporary += ".part";
    std::FILE * file = std::fopen(temporary.c_str(), "wb");
    if (file == nullptr) {
        error = path + ": " + std::strerror(errno);
        return false;
    }
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    const bool closed = std::fclose(file) == 0;
    if (written && closed) fs::rename(temporary, target, problem);
    if (written && closed && !problem) return true;
    error = path + ": " + (problem ? problem.message() : std::strerror(errno));
    fs::remove(temporary, problem);
    return false;
}

} // namespace

bool has_image_ending(const std::string & path) {
    const std::string ending = ending_of(path);
    return ending == ".png";
}

bool write_image(const std::string & path, const sd_image_t & image, const std::string & metadata,
                 std::string & error) {
    std::vector<uint8_t> bytes;
    if (encode_png(image, metadata, bytes, error)) return write_file(path, bytes, error);
    error = path + ": " + error;
    return false;
}

} // namespace cli
