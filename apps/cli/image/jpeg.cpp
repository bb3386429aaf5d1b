#include "apps/cli/image/image_codecs.h"
#include "apps/cli/text.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>

#include <jerror.h>

// libjpeg leaves by longjmp, as libpng does: the same rules as in png.cpp.
namespace cli {
namespace {

struct Errors {
    jpeg_error_mgr manager; // the first member: libjpeg knows only this one
    jmp_buf place;
    char text[JMSG_LENGTH_MAX] = "";
    bool ended = false;
};

Errors & errors_of(j_common_ptr common) { return *reinterpret_cast<Errors *>(common->err); }

[[noreturn]] void leave(j_common_ptr common) {
    Errors & e = errors_of(common);
    e.manager.format_message(common, e.text);
    e.ended = e.manager.msg_code == JWRN_JPEG_EOF || e.manager.msg_code == JERR_INPUT_EOF ||
              e.manager.msg_code == JERR_INPUT_EMPTY;
    std::longjmp(e.place, 1);
}

// Damage is a warning to libjpeg, which goes on with gray. Cameras leave bytes between segments and give
// wrong version numbers; both harm nothing.
void on_message(j_common_ptr common, int level) {
    const int code = common->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM)
        return;
    leave(common);
}

void no_output(j_common_ptr) {}

jpeg_error_mgr * prepare(Errors & e) {
    jpeg_std_error(&e.manager);
    e.manager.error_exit = leave;
    e.manager.emit_message = on_message;
    e.manager.output_message = no_output;
    return &e.manager;
}

// Each scan of a progressive file goes through the whole picture; real ones have about ten.
constexpr int kMostScans = 200;

void on_progress(j_common_ptr common) {
    const auto * d = reinterpret_cast<j_decompress_ptr>(common);
    if (d->input_scan_number > kMostScans) ERREXIT(common, JERR_BAD_PROGRESSION);
}

struct Reader {
    Errors errors;
    jpeg_decompress_struct d = {};
    jpeg_progress_mgr progress = {};
    const Bytes & bytes;

    explicit Reader(const Bytes & b) : bytes(b) {
        d.err = prepare(errors);
        progress.progress_monitor = on_progress;
    }
    ~Reader() { jpeg_destroy_decompress(&d); }
    Reader(const Reader &) = delete;
    Reader & operator=(const Reader &) = delete;
};

constexpr unsigned kLongestSegment = 0xffff;

bool read_header(Reader & r) {
    if (setjmp(r.errors.place) != 0) return false;
    jpeg_create_decompress(&r.d);
    r.d.progress = &r.progress;
    jpeg_mem_src(&r.d, r.bytes.data(), static_cast<unsigned long>(r.bytes.size()));
    jpeg_save_markers(&r.d, JPEG_COM, kLongestSegment);
    jpeg_read_header(&r.d, TRUE);
    switch (r.d.jpeg_color_space) {
    case JCS_GRAYSCALE: r.d.out_color_space = JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: r.d.out_color_space = JCS_CMYK; break;
    default: r.d.out_color_space = JCS_RGB;
    }
    return true;
}

bool read_rows(Reader & r, uint8_t * out, size_t row) {
    if (setjmp(r.errors.place) != 0) return false;
    jpeg_start_decompress(&r.d);
    while (r.d.output_scanline < r.d.output_height) {
        JSAMPROW line = out + r.d.output_scanline * row;
        jpeg_read_scanlines(&r.d, &line, 1);
    }
    jpeg_finish_decompress(&r.d);
    return true;
}

// Inks to light. Files by Adobe's programs, nearly all there are, hold the inks inverted.
void cmyk_to_rgb(Image & image, bool inverted) {
    const size_t pixels = size_t(image.width) * image.height;
    uint8_t * p = image.pixels.data();
    for (size_t i = 0; i < pixels; ++i) {
        for (size_t c = 0; c < 3; ++c) {
            const unsigned ink = p[4 * i + c], black = p[4 * i + 3];
            p[3 * i + c] = uint8_t((inverted ? ink * black : (255 - ink) * (255 - black)) / 255);
        }
    }
    image.channels = 3;
    image.pixels.resize(pixels * 3);
}

// Text longer than a segment goes on in the next one.
std::string text_in(const jpeg_decompress_struct & d) {
    std::string text;
    for (jpeg_saved_marker_ptr m = d.marker_list; m != nullptr; m = m->next) {
        std::string_view data(reinterpret_cast<const char *>(m->data), m->data_length);
        const std::string_view key(kTextKey, sizeof(kTextKey)); // with its final zero
        if (text.empty() && !data.starts_with(key)) continue;
        if (text.empty()) data.remove_prefix(key.size());
        text += data;
    }
    return to_utf8(text);
}

struct Writer {
    Errors errors;
    jpeg_compress_struct c = {};
    unsigned char * data = nullptr; // by malloc
    unsigned long size = 0;

    Writer() { c.err = prepare(errors); }
    ~Writer() {
        jpeg_destroy_compress(&c);
        std::free(data);
    }
    Writer(const Writer &) = delete;
    Writer & operator=(const Writer &) = delete;
};

bool write_all(Writer & w, const sd_image_t & image, const std::string & text) {
    if (setjmp(w.errors.place) != 0) return false;
    jpeg_create_compress(&w.c);
    jpeg_mem_dest(&w.c, &w.data, &w.size);
    w.c.image_width = image.width;
    w.c.image_height = image.height;
    w.c.input_components = int(image.channel);
    w.c.in_color_space = image.channel == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&w.c);
    jpeg_set_quality(&w.c, kQuality, TRUE);
    jpeg_start_compress(&w.c, TRUE);
    constexpr size_t kMost = kLongestSegment - 2; // a segment counts its own length
    for (size_t at = 0; at < text.size(); at += kMost) {
        jpeg_write_marker(&w.c, JPEG_COM, reinterpret_cast<const JOCTET *>(text.data() + at),
                          unsigned(std::min(kMost, text.size() - at)));
    }
    while (w.c.next_scanline < w.c.image_height) {
        JSAMPROW line = image.data + size_t(w.c.next_scanline) * image.width * image.channel;
        jpeg_write_scanlines(&w.c, &line, 1);
    }
    jpeg_finish_compress(&w.c);
    return true;
}

} // namespace

bool decode_jpeg(const Bytes & bytes, Image & image, std::string & error) {
    Reader r(bytes);
    const auto fail = [&] {
        error = r.errors.ended ? "is cut short" : std::string("is damaged: ") + r.errors.text;
        return false;
    };
    if (!read_header(r)) return fail();
    image.width = r.d.image_width;
    image.height = r.d.image_height;
    image.channels = r.d.out_color_space == JCS_GRAYSCALE ? 1 : r.d.out_color_space == JCS_CMYK ? 4 : 3;
    if (!check_size(image.width, image.height, error)) return false;
    // Every block of 64 pixels takes a bit at least.
    if (uint64_t(image.width) * image.height > uint64_t(bytes.size()) * 1024) {
        error = "is cut short";
        return false;
    }
    const size_t row = size_t(image.width) * image.channels;
    image.pixels.resize(row * image.height);
    image.text = text_in(r.d); // the end of decompression forgets the segments
    if (!read_rows(r, image.pixels.data(), row)) return fail();
    if (image.channels == 4) cmyk_to_rgb(image, r.d.saw_Adobe_marker);
    return true;
}

bool encode_jpeg(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error) {
    Writer w;
    const std::string comment = text.empty() ? "" : std::string(kTextKey, sizeof(kTextKey)) + text;
    if (!write_all(w, image, comment)) {
        error = std::string("cannot be made into JPEG: ") + w.errors.text;
        return false;
    }
    out.assign(w.data, w.data + w.size);
    return true;
}

} // namespace cli
