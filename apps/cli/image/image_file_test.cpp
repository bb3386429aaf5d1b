#include "apps/cli/image/image_file.h"

#include "apps/cli/image/image_codecs.h"
#include "apps/cli/test_folder.h"

#include <csetjmp>
#include <cstdlib>
#include <png.h>

#include <jpeglib.h>

namespace cli {
namespace {

// A picture with slow and quick changes.
Image picture(uint32_t width, uint32_t height, uint32_t channels) {
    Image image = {width, height, channels, {}, {}};
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            for (uint32_t c = 0; c < channels; ++c)
                image.pixels.push_back(uint8_t(x * 3 + y * 2 + c * 40 + (x * y) % 5));
        }
    }
    return image;
}

sd_image_t view(Image & image) { return {image.width, image.height, image.channels, image.pixels.data()}; }

class ImageFile : public test::TestFolder {
  protected:
    // Where it was written.
    std::string written(const std::string & name, Image image, const std::string & text = "") {
        std::string error;
        EXPECT_TRUE(write_image(path(name), view(image), text, error)) << error;
        return path(name);
    }
    Image read(const std::string & file) {
        Image image;
        std::string error;
        EXPECT_TRUE(read_image(file, image, error)) << error;
        return image;
    }
    // "" when it could be read; else the cause, after a check that the file is named.
    std::string refusal(const std::string & file) {
        Image image;
        std::string error;
        if (read_image(file, image, error)) return "";
        EXPECT_EQ(error.substr(0, file.size() + 2), file + ": ");
        EXPECT_EQ(error.find('\n'), std::string::npos);
        return error.substr(file.size() + 2);
    }
    // A PNG as other programs write them: `bits` a channel, of libpng's color type; `rows` are the file's.
    std::string png(const std::string & name, int bits, int type, const std::vector<Bytes> & rows,
                    uint32_t width, bool transparent = false, int interlace = PNG_INTERLACE_NONE) {
        const std::string file = path(name);
        std::FILE * out = std::fopen(file.c_str(), "wb");
        png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
        png_infop info = png_create_info_struct(p);
        png_init_io(p, out);
        png_set_IHDR(p, info, width, png_uint_32(rows.size()), bits, type, interlace,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        const png_color palette[] = {{1, 2, 3}, {250, 251, 252}};
        const png_byte alpha[] = {0, 200};
        if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(p, info, palette, 2);
        if (transparent) png_set_tRNS(p, info, alpha, 2, nullptr);
        png_write_info(p, info);
        std::vector<png_bytep> lines;
        for (const Bytes & row : rows) lines.push_back(const_cast<png_bytep>(row.data()));
        png_write_image(p, lines.data());
        png_write_end(p, nullptr);
        png_destroy_write_struct(&p, &info);
        std::fclose(out);
        return file;
    }
};

TEST_F(ImageFile, png_comes_back_as_it_was) {
    for (const uint32_t channels : {1u, 3u}) {
        const Image image = picture(61, 35, channels), back = read(written("a.png", image));
        EXPECT_EQ(back.width, 61u);
        EXPECT_EQ(back.height, 35u);
        EXPECT_EQ(back.channels, channels);
        EXPECT_EQ(back.pixels, image.pixels);
        EXPECT_EQ(back.text, "");
    }
}

TEST_F(ImageFile, jpeg_and_webp_come_back_nearly_as_they_were) {
    for (const char * name : {"a.jpg", "b.JPEG", "c.jpe", "d.webp"}) {
        const Image image = picture(61, 35, 3), back = read(written(name, image));
        ASSERT_EQ(back.pixels.size(), image.pixels.size()) << name;
        double sum = 0.0;
        for (size_t i = 0; i < image.pixels.size(); ++i) sum += std::abs(back.pixels[i] - image.pixels[i]);
        // Values wrap in this picture, and colors have half the resolution.
        EXPECT_LT(sum / double(image.pixels.size()), 12.0) << name;
    }
}

TEST_F(ImageFile, the_first_bytes_and_not_the_name_decide_what_a_file_is) {
    const Image image = picture(20, 10, 3);
    std::filesystem::rename(written("a.png", image), path("b.jpg"));
    EXPECT_EQ(read(path("b.jpg")).pixels, image.pixels);
}

TEST_F(ImageFile, text_of_any_language_comes_back_from_every_format) {
    std::string longest(70000, 'x'); // more than a JPEG segment
    longest += "end";
    for (const std::string & text :
         {std::string("a cat\nSteps: 8"), std::string("caf\xc3\xa9"), std::string("\xc3\x83\xc2\xa9"),
          std::string("\xe7\x8c\xab <b> & \xf0\x9f\x90\x88 \"q\"\r\n]]>"), longest}) {
        for (const char * name : {"a.png", "a.jpg", "a.webp"})
            EXPECT_EQ(read(written(name, picture(16, 16, 3), text)).text, text) << name;
    }
}

TEST_F(ImageFile, png_text_is_the_plain_kind_where_that_is_enough) {
    written("a.png", picture(8, 8, 3), "caf\xc3\xa9");
    EXPECT_NE(get("a.png").find("tEXtparameters\0caf\xe9"), std::string::npos);
    written("a.png", picture(8, 8, 3), "\xe7\x8c\xab");
    EXPECT_NE(get("a.png").find("iTXtparameters"), std::string::npos);
}

TEST_F(ImageFile, png_of_16_bits_of_palettes_and_of_fewer_bits_becomes_8_bits) {
    Image image = read(png("16.png", 16, PNG_COLOR_TYPE_RGB, {{0xff, 0xff, 0x80, 0x80, 0, 1}}, 1));
    EXPECT_EQ(image.pixels, (Bytes{255, 128, 0}));
    image = read(png("palette.png", 1, PNG_COLOR_TYPE_PALETTE, {{0x40}}, 2));
    EXPECT_EQ(image.channels, 3u);
    EXPECT_EQ(image.pixels, (Bytes{1, 2, 3, 250, 251, 252}));
    image = read(png("palette_alpha.png", 1, PNG_COLOR_TYPE_PALETTE, {{0x40}}, 2, true));
    EXPECT_EQ(image.pixels, (Bytes{1, 2, 3, 0, 250, 251, 252, 200}));
    image = read(png("bits.png", 2, PNG_COLOR_TYPE_GRAY, {{0x1b}}, 4));
    EXPECT_EQ(image.channels, 1u);
    EXPECT_EQ(image.pixels, (Bytes{0, 85, 170, 255}));
    image = read(png("gray_alpha.png", 8, PNG_COLOR_TYPE_GRAY_ALPHA, {{9, 200}}, 1));
    EXPECT_EQ(image.channels, 2u);
    EXPECT_EQ(image.pixels, (Bytes{9, 200}));
    image =
        read(png("laced.png", 8, PNG_COLOR_TYPE_GRAY, {{1, 2, 3}, {4, 5, 6}}, 3, false, PNG_INTERLACE_ADAM7));
    EXPECT_EQ(image.pixels, (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST_F(ImageFile, jpeg_of_inks_becomes_light) {
    jpeg_compress_struct c = {};
    jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    std::FILE * out = std::fopen(path("inks.jpg").c_str(), "wb");
    jpeg_stdio_dest(&c, out);
    c.image_width = c.image_height = 8;
    c.input_components = 4;
    c.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    c.write_Adobe_marker = TRUE; // inverted inks
    jpeg_start_compress(&c, TRUE);
    Bytes row;
    for (int i = 0; i < 8; ++i) row.insert(row.end(), {255, 128, 0, 255});
    for (int y = 0; y < 8; ++y) {
        JSAMPROW line = row.data();
        jpeg_write_scanlines(&c, &line, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    std::fclose(out);
    const Image image = read(path("inks.jpg"));
    ASSERT_EQ(image.channels, 3u);
    EXPECT_NEAR(image.pixels[0], 255, 3);
    EXPECT_NEAR(image.pixels[1], 128, 3);
    EXPECT_NEAR(image.pixels[2], 0, 3);
}

TEST_F(ImageFile, every_file_that_is_cut_short_is_refused) {
    for (const char * name : {"a.png", "a.jpg", "a.webp"}) {
        written(name, picture(90, 70, 3), "text");
        const std::string whole = get(name);
        for (size_t length = 97; length < whole.size(); length += 97) {
            const std::string cause = refusal(put("cut", whole.substr(0, length)));
            EXPECT_EQ(cause, "is cut short") << name << " " << length;
        }
        EXPECT_EQ(refusal(put("cut", whole.substr(0, whole.size() - 1))), "is cut short") << name;
    }
}

// Nothing to compare with: what counts is that there is an answer, and what a sanitizer says.
TEST_F(ImageFile, a_file_with_any_byte_changed_is_read_or_refused) {
    for (const char * name : {"a.png", "a.jpg", "a.webp"}) {
        written(name, picture(40, 30, 3), "text");
        const std::string whole = get(name);
        int refused = 0;
        for (size_t at = 0; at < whole.size(); at += 7) {
            for (const int change : {0x01, 0x80, 0xff}) {
                std::string broken = whole;
                broken[at] = char(broken[at] ^ change);
                refused += refusal(put("broken", broken)).empty() ? 0 : 1;
            }
        }
        EXPECT_GT(refused, 0) << name;
    }
}

TEST_F(ImageFile, what_claims_to_be_large_is_refused_before_there_is_memory_for_it) {
    std::string png = get(std::filesystem::path(written("a.png", picture(8, 8, 3))).filename().string());
    const auto with_size = [&](uint32_t width, uint32_t height) {
        std::string out = png;
        for (int i = 0; i < 4; ++i) {
            out[size_t(16 + i)] = char(width >> (24 - 8 * i));
            out[size_t(20 + i)] = char(height >> (24 - 8 * i));
        }
        return refusal(put("large.png", out));
    };
    EXPECT_EQ(with_size(20000, 5), "has 20000x5 pixels; at most 16384 a side and 256 million are read");
    EXPECT_EQ(with_size(16384, 16384),
              "has 16384x16384 pixels; at most 16384 a side and 256 million are read");
    EXPECT_EQ(with_size(0, 5), "has 0x5 pixels; at most 16384 a side and 256 million are read");
    EXPECT_EQ(with_size(0xffffffff, 0xffffffff),
              "has 4294967295x4294967295 pixels; at most 16384 a side and 256 million are read");
    EXPECT_EQ(with_size(15000, 15000).substr(0, 10), "is damaged"); // its checksum

    std::string jpeg = get(std::filesystem::path(written("a.jpg", picture(8, 8, 3))).filename().string());
    const size_t frame = jpeg.find("\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    for (size_t i = 5; i < 9; i += 2) jpeg.replace(frame + i, 2, "\x3a\x98"); // 15000
    EXPECT_EQ(refusal(put("large.jpg", jpeg)), "is cut short");
}

TEST_F(ImageFile, what_is_no_picture_is_refused) {
    EXPECT_EQ(refusal(put("a.png", "")), "is empty");
    EXPECT_EQ(refusal(put("a.png", "hello")), "is no PNG, JPEG or WebP file");
    EXPECT_EQ(refusal(put("a.png", "RIFF")), "is no PNG, JPEG or WebP file");
    EXPECT_EQ(refusal(path("none.png")), "cannot be read: No such file or directory");
    EXPECT_EQ(refusal(folder_.string()), "is a folder (name a file in it)");
}

TEST_F(ImageFile, pictures_a_format_cannot_hold_are_refused_before_and_after) {
    std::string error;
    EXPECT_TRUE(can_write_image(path("a.webp"), 16383, 100, error));
    EXPECT_FALSE(can_write_image(path("a.webp"), 16384, 100, error));
    EXPECT_EQ(error, path("a.webp") + ": WebP has at most 16383 pixels a side");
    Image two = picture(4, 4, 2);
    EXPECT_FALSE(write_image(path("a.png"), view(two), "", error));
    EXPECT_EQ(error, path("a.png") + ": cannot hold a picture of 2 channels");
    EXPECT_TRUE(names().empty());
}

} // namespace
} // namespace cli
