// Pictures in memory, as they come out of files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// Rows from the top, channels side by side: gray, gray and alpha, RGB, or RGBA; 8 bits each.
struct Image {
    uint32_t width = 0, height = 0, channels = 0;
    std::vector<uint8_t> pixels;
    std::string text; // the generation data the file holds, UTF-8; "": none
};

} // namespace cli
