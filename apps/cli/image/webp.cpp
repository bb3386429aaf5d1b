#include "apps/cli/image/image_codecs.h"

#include "apps/cli/text.h"

#include <memory>
#include <string_view>
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

namespace cli {
namespace {

// The text is the picture's description in XMP. What is before and after it is always the same, which makes
// finding it again a search.
constexpr std::string_view kBefore =
    "<?xpacket begin=\"\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
    "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">"
    "<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">";
constexpr std::string_view kAfter = "</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF>"
                                    "</x:xmpmeta><?xpacket end=\"r\"?>";

struct Entity {
    char character;
    std::string_view text;
};
constexpr Entity kEntities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\r', "&#13;"}};

std::string to_xmp(const std::string & text) {
    std::string out(kBefore);
    for (const char c : text) {
        std::string_view written(&c, 1);
        for (const Entity & e : kEntities) {
            if (c == e.character) written = e.text;
        }
        // XML has no way to write other control characters.
        if (uint8_t(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') written = "\xef\xbf\xbd";
        out += written;
    }
    return out += kAfter;
}

std::string from_xmp(std::string_view xmp) {
    if (!xmp.starts_with(kBefore)) return {};
    const size_t end = xmp.find(kAfter);
    if (end == std::string_view::npos) return {};
    std::string out;
    for (std::string_view rest = xmp.substr(kBefore.size(), end - kBefore.size()); !rest.empty();) {
        size_t length = 1;
        char c = rest[0];
        for (const Entity & e : kEntities) {
            if (!rest.starts_with(e.text)) continue;
            c = e.character;
            length = e.text.size();
        }
        out += c;
        rest.remove_prefix(length);
    }
    return out;
}

using Mux = std::unique_ptr<WebPMux, decltype(&WebPMuxDelete)>;

std::string text_in(const Bytes & bytes) {
    const WebPData data = {bytes.data(), bytes.size()};
    const Mux mux(WebPMuxCreate(&data, 0), WebPMuxDelete);
    WebPData xmp = {nullptr, 0};
    if (mux == nullptr || WebPMuxGetChunk(mux.get(), "XMP ", &xmp) != WEBP_MUX_OK) return {};
    return to_utf8(from_xmp({reinterpret_cast<const char *>(xmp.bytes), xmp.size}));
}

const char * cause_of(VP8StatusCode status) {
    switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return "is cut short";
    case VP8_STATUS_OUT_OF_MEMORY: return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "uses a feature of WebP that is not read here";
    default: return "is damaged";
    }
}

// The container says how long it is; the decoder does not mind when parts after the picture are missing.
bool is_complete(const Bytes & bytes) {
    constexpr size_t kHeader = 8; // "RIFF" and the length of the rest
    if (bytes.size() < kHeader) return false;
    uint64_t length = 0;
    for (size_t i = 0; i < 4; ++i) length |= uint64_t(bytes[4 + i]) << (8 * i);
    return length <= bytes.size() - kHeader;
}

} // namespace

bool decode_webp(const Bytes & bytes, Image & image, std::string & error) {
    WebPDecoderConfig config;
    WebPInitDecoderConfig(&config);
    VP8StatusCode status = is_complete(bytes) ? WebPGetFeatures(bytes.data(), bytes.size(), &config.input)
                                              : VP8_STATUS_NOT_ENOUGH_DATA;
    if (status == VP8_STATUS_OK && config.input.has_animation != 0) {
        error = "is an animation, not a picture";
        return false;
    }
    if (status != VP8_STATUS_OK) {
        error = cause_of(status);
        return false;
    }
    image.width = uint32_t(config.input.width);
    image.height = uint32_t(config.input.height);
    image.channels = config.input.has_alpha != 0 ? 4 : 3;
    if (!check_size(image.width, image.height, error)) return false;
    image.pixels.resize(size_t(image.width) * image.height * image.channels);
    config.output.colorspace = image.channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {image.pixels.data(), int(image.width * image.channels), image.pixels.size()};
    status = WebPDecode(bytes.data(), bytes.size(), &config);
    if (status != VP8_STATUS_OK) {
        error = cause_of(status);
        return false;
    }
    image.text = text_in(bytes);
    return true;
}

bool encode_webp(const sd_image_t & image, const std::string & text, Bytes & out, std::string & error) {
    if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION) {
        error = "WebP has at most " + std::to_string(WEBP_MAX_DIMENSION) + " pixels a side";
        return false;
    }
    uint8_t * data = nullptr;
    const size_t size = WebPEncodeRGB(image.data, int(image.width), int(image.height), int(image.width * 3),
                                      float(kQuality), &data);
    const std::unique_ptr<uint8_t, decltype(&WebPFree)> owner(data, WebPFree);
    if (size == 0) {
        error = "cannot be made into WebP";
        return false;
    }
    if (text.empty()) {
        out.assign(data, data + size);
        return true;
    }
    const std::string xmp = to_xmp(text);
    const WebPData picture = {data, size};
    const WebPData chunk = {reinterpret_cast<const uint8_t *>(xmp.data()), xmp.size()};
    const Mux mux(WebPMuxCreate(&picture, 0), WebPMuxDelete);
    WebPData whole = {nullptr, 0};
    const bool made = mux != nullptr && WebPMuxSetChunk(mux.get(), "XMP ", &chunk, 0) == WEBP_MUX_OK &&
                      WebPMuxAssemble(mux.get(), &whole) == WEBP_MUX_OK;
    if (made) out.assign(whole.bytes, whole.bytes + whole.size);
    WebPDataClear(&whole);
    if (!made) error = "its text cannot be made part of a WebP file";
    return made;
}

} // namespace cli
