// One pair of functions per format, on bytes in memory; image_file.h is what the program uses. All return
// false with the cause, without a file's name, in `error`, whatever the bytes are. None throws but
// std::bad_alloc.
#pragma once

#include "apps/cli/image/image.h"
#include "stable-diffusion.h"

#include <cstddef>

namespace cli {

using Bytes = std::vector<uint8_t>;

bool decode_png(const Bytes & bytes, Image & image, std::string & error);
bool decode_jpeg(const Bytes & bytes, Image & image, std::string & error);
bool decode_webp(const Bytes & bytes, Image & image, std::string & error);

// image: 1 or 3 channels (WebP: 3). text: generation data, valid UTF-8; "": none.
bool encode_png(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error);
bool encode_jpeg(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error);
bool encode_webp(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error);

// The sides a decoder may make room for: those that pictures are made with, and 256 megapixels together.
constexpr uint32_t kMostSide = 16384;
constexpr uint64_t kMostPixels = 256'000'000;
bool check_size(uint64_t width, uint64_t height, std::string & error);

constexpr int kQuality = 90; // of JPEG and WebP, 0 to 100
constexpr char kTextKey[] = "parameters";

} // namespace cli
