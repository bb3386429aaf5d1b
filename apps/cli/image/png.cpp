#include "apps/cli/image/image_codecs.h"
#include "apps/cli/text.h"

#include <cstdio>
#include <cstring>
#include <png.h>

// libpng leaves by longjmp. Functions with setjmp make no C++ objects and change no local variable after it;
// everything they work with lives in the structs here, which their callers own.
namespace cli {
namespace {

struct Codec {
    png_structp png = nullptr;
    png_infop info = nullptr;
    char error[160] = "";
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
    Codec & c = *static_cast<Codec *>(png_get_error_ptr(png));
    std::snprintf(c.error, sizeof(c.error), "%s", text);
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Reader : Codec {
    const Bytes & bytes;
    size_t at = 0;
    bool ended = false; // more was asked for than there is
    int passes = 1;
    std::vector<png_bytep> rows;

    explicit Reader(const Bytes & b) : bytes(b) {
        png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<Codec *>(this), on_error, on_warning);
        if (png != nullptr) info = png_create_info_struct(png);
    }
    ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
    Reader(const Reader &) = delete;
    Reader & operator=(const Reader &) = delete;
};

void give_bytes(png_structp png, png_bytep out, png_size_t count) {
    Reader & r = *static_cast<Reader *>(png_get_io_ptr(png));
    if (count > r.bytes.size() - r.at) {
        r.ended = true;
        png_error(png, "is cut short");
    }
    std::memcpy(out, r.bytes.data() + r.at, count);
    r.at += count;
}

// Everything becomes 1 to 4 channels of 8 bits.
bool read_header(Reader & r) {
    if (setjmp(png_jmpbuf(r.png)) != 0) return false;
    png_set_read_fn(r.png, &r, give_bytes);
    png_set_user_limits(r.png, kMostSide, kMostSide);
    png_read_info(r.png, r.info);
    png_set_expand(r.png);
    png_set_scale_16(r.png);
    r.passes = png_set_interlace_handling(r.png);
    png_read_update_info(r.png, r.info);
    return true;
}

bool read_rows(Reader & r) {
    if (setjmp(png_jmpbuf(r.png)) != 0) return false;
    png_read_image(r.png, r.rows.data());
    png_read_end(r.png, r.info);
    return true;
}

std::string text_in(Reader & r) {
    png_textp list = nullptr;
    int count = 0;
    png_get_text(r.png, r.info, &list, &count);
    for (int i = 0; i < count; ++i) {
        if (std::strcmp(list[i].key, kTextKey) != 0 || list[i].text == nullptr) continue;
        const size_t length =
            list[i].compression >= PNG_ITXT_COMPRESSION_NONE ? list[i].itxt_length : list[i].text_length;
        return to_utf8({list[i].text, length});
    }
    return {};
}

struct Writer : Codec {
    Bytes & out;
    bool out_of_memory = false;
    std::vector<png_bytep> rows;
    png_text text = {};
    bool has_text = false;

    explicit Writer(Bytes & o) : out(o) {
        png =
            png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<Codec *>(this), on_error, on_warning);
        if (png != nullptr) info = png_create_info_struct(png);
    }
    ~Writer() { png_destroy_write_struct(&png, &info); }
    Writer(const Writer &) = delete;
    Writer & operator=(const Writer &) = delete;
};

void take_bytes(png_structp png, png_bytep data, png_size_t count) {
    Writer & w = *static_cast<Writer *>(png_get_io_ptr(png));
    try {
        w.out.insert(w.out.end(), data, data + count);
    } catch (const std::bad_alloc &) {
        w.out_of_memory = true;
    }
    // Outside the handler: a jump out of it would lose the exception's storage.
    if (w.out_of_memory) png_error(png, "not enough memory");
}

bool write_all(Writer & w, const sd_image_t & image) {
    if (setjmp(png_jmpbuf(w.png)) != 0) return false;
    png_set_write_fn(w.png, &w, take_bytes, nullptr);
    png_set_IHDR(w.png, w.info, image.width, image.height, 8,
                 image.channel == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (w.has_text) png_set_text(w.png, w.info, &w.text, 1);
    png_write_info(w.png, w.info);
    png_write_image(w.png, w.rows.data());
    png_write_end(w.png, nullptr);
    return true;
}

} // namespace

bool decode_png(const Bytes & bytes, Image & image, std::string & error) {
    Reader r(bytes);
    const auto fail = [&] {
        error = r.ended ? "is cut short" : std::string("is damaged: ") + r.error;
        return false;
    };
    if (r.info == nullptr) throw std::bad_alloc();
    // The header's own check gives no numbers. IHDR is always the first chunk; elsewhere libpng refuses it.
    const auto word = [&](size_t at) {
        return uint64_t(bytes[at]) << 24 | uint64_t(bytes[at + 1]) << 16 | uint64_t(bytes[at + 2]) << 8 |
               bytes[at + 3];
    };
    constexpr size_t kWidthAt = 16, kHeaderEnd = 24;
    if (bytes.size() >= kHeaderEnd && !check_size(word(kWidthAt), word(kWidthAt + 4), error)) return false;
    if (!read_header(r)) return fail();
    image.width = png_get_image_width(r.png, r.info);
    image.height = png_get_image_height(r.png, r.info);
    image.channels = png_get_channels(r.png, r.info);
    if (!check_size(image.width, image.height, error)) return false;
    // A byte of deflate stands for at most 1032: a short file that claims to be large is refused before
    // there is memory for it. Bits of palettes and gray levels take an eighth of a byte.
    const uint64_t values = uint64_t(image.width) * image.height;
    if (values / 8 > bytes.size() * 1032) {
        error = "is cut short";
        return false;
    }
    const size_t row = size_t(image.width) * image.channels;
    image.pixels.resize(row * image.height);
    r.rows.resize(image.height);
    for (uint32_t y = 0; y < image.height; ++y) r.rows[y] = image.pixels.data() + y * row;
    if (!read_rows(r)) return fail();
    image.text = text_in(r);
    return true;
}

bool encode_png(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error) {
    Writer w(out);
    if (w.info == nullptr) throw std::bad_alloc();
    w.rows.resize(image.height);
    for (uint32_t y = 0; y < image.height; ++y)
        w.rows[y] = image.data + size_t(y) * image.width * image.channel;
    std::string key = kTextKey, language, value = text;
    // tEXt is Latin-1. Bytes of it that happen to be UTF-8 would be read as that.
    const std::optional<std::string> latin1 = to_latin1(text);
    const bool is_ascii = latin1 && *latin1 == text;
    const bool plain = latin1 && (is_ascii || invalid_utf8(*latin1) != std::string::npos);
    if (plain) value = *latin1;
    w.has_text = !text.empty();
    w.text.compression = plain ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    w.text.key = key.data();
    w.text.text = value.data();
    (plain ? w.text.text_length : w.text.itxt_length) = value.size();
    w.text.lang = language.data();
    w.text.lang_key = language.data();
    if (write_all(w, image)) return true;
    error = std::string("cannot be made into PNG: ") + w.error;
    return false;
}

} // namespace cli
