#include "checkpoint/comfy_quant/settings.h"

#include "base/error.h"
#include "checkpoint/safetensors/json_stream.h"

#include <cmath>
#include <locale>
#include <set>
#include <sstream>
#include <vector>

namespace sd {
namespace {

std::string quoted(const std::string & text) { return in_quotes(text, 60); }

[[noreturn]] void fail(const char * code, std::string cause) {
    throw Error({code, {}, {}, std::move(cause), {}});
}

std::string as_text(const JsonScalar & value) {
    return value.kind == JsonScalar::string ? quoted(value.text) : printable(value.text, 60);
}

[[noreturn]] void wrong_value(const std::string & key, const std::string & found, const char * wanted) {
    fail("E_CONFIG_VALUE", "its setting " + quoted(key) + " is " + found + ", not " + wanted);
}

bool boolean(const std::string & key, const JsonScalar & value) {
    if (value.kind != JsonScalar::boolean) wrong_value(key, as_text(value), "true or false");
    return value.text == "true";
}

// 256, and 256.0 as some writers have it.
int64_t integer(const std::string & key, const JsonScalar & value) {
    constexpr double kExact = 9007199254740992.0; // 2^53
    const bool number = value.kind == JsonScalar::whole || value.kind == JsonScalar::other_number;
    std::istringstream text(value.text);
    text.imbue(std::locale::classic()); // a comma is no decimal point, whatever the process has set
    double as_double = 0;
    if (!number || !(text >> as_double) || std::fabs(as_double) > kExact ||
        as_double != std::floor(as_double))
        wrong_value(key, as_text(value), "an integer");
    return int64_t(as_double);
}

std::string string(const std::string & key, const JsonScalar & value) {
    if (value.kind != JsonScalar::string) wrong_value(key, as_text(value), "a string");
    return value.text;
}

constexpr const char * kKnown[] = {"format",     "convrot",      "convrot_groupsize",
                                   "group_size", "linear_dtype", "full_precision_matrix_mult"};

bool is_known(const std::string & key) {
    for (const char * known : kKnown) {
        if (key == known) return true;
    }
    return false;
}

void set(QuantSettings & settings, const std::string & key, const JsonScalar & value) {
    if (key == "format") {
        if (value.kind == JsonScalar::null || (value.kind == JsonScalar::string && value.text.empty()))
            return;
        settings.format = string(key, value);
    } else if (key == "convrot") {
        settings.convrot = boolean(key, value);
    } else if (key == "convrot_groupsize") {
        settings.convrot_group = integer(key, value);
    } else if (key == "group_size") {
        settings.scale_group = integer(key, value);
    } else if (key == "linear_dtype") {
        settings.linear_dtype = string(key, value);
    } else if (key == "full_precision_matrix_mult") {
        settings.full_precision = boolean(key, value);
    }
    settings.blank = false;
}

template <class T>
void fill(std::optional<T> & value, const std::optional<T> & other) {
    if (!value) value = other;
}

QuantSettings merged(QuantSettings top, const QuantSettings & params) {
    fill(top.format, params.format);
    fill(top.convrot, params.convrot);
    fill(top.convrot_group, params.convrot_group);
    fill(top.scale_group, params.scale_group);
    fill(top.linear_dtype, params.linear_dtype);
    fill(top.full_precision, params.full_precision);
    top.experts = top.experts || params.experts;
    top.blank = top.blank && params.blank;
    return top;
}

// What the innermost open bracket is.
enum class Place { header, layers, settings, params, ignored };

class SettingsHandler : public JsonHandler {
  public:
    // Of the whole text; in a header each layer's settings go to `layer`.
    SettingsHandler(Place outermost, const LayerSettings & layer) : outermost_(outermost), layer_(layer) {}

    void begin_object() override { open(false); }
    void begin_array() override { open(true); }
    void end_array() override { frames_.pop_back(); }

    void end_object() override {
        const Place place = frames_.back().place;
        frames_.pop_back();
        if (place == Place::settings) layer_(module_, merged(top_, params_));
    }

    void key(std::string & name) override {
        Frame & frame = frames_.back();
        if (!frame.keys.insert(name).second)
            fail("E_CONFIG_JSON", "its settings have the key " + quoted(name) + " twice");
        frame.key = name;
        if (frame.place == Place::layers) module_ = name;
        if (frame.place != Place::settings && frame.place != Place::params) return;
        if (name == "num_experts") current().experts = true;
        if (name != "format" && name != "params") current().blank = false;
    }

    void scalar(JsonScalar & value) override {
        if (frames_.empty()) no_object();
        const std::string & key = frames_.back().key;
        switch (frames_.back().place) {
        case Place::header:
            if (key == "layers") fail("E_CONFIG_JSON", "its \"layers\" are no object");
            return;
        case Place::layers: return bare(value);
        case Place::settings:
            if (key == "params" && value.kind != JsonScalar::null)
                wrong_value(key, as_text(value), "an object");
            [[fallthrough]];
        case Place::params:
            if (is_known(key)) set(current(), key, value);
            return;
        case Place::ignored: return;
        }
    }

    bool saw_layers() const { return saw_layers_; }
    const std::string & module() const { return module_; } // empty: not in a header's layer

  private:
    struct Frame {
        Place place;
        std::set<std::string> keys;
        std::string key;
    };

    [[noreturn]] void no_object() const { fail("E_CONFIG_JSON", "its settings are no JSON object"); }

    QuantSettings & current() { return frames_.back().place == Place::params ? params_ : top_; }

    // Old files: "module": "format".
    void bare(const JsonScalar & value) {
        if (value.kind != JsonScalar::string)
            fail("E_CONFIG_JSON", "the settings of layer " + quoted(module_) + " are no object");
        QuantSettings settings;
        set(settings, "format", value);
        layer_(module_, settings);
    }

    void open(bool array) { frames_.push_back({place_of_next(array), {}, {}}); }

    Place place_of_next(bool array) {
        if (frames_.empty()) {
            if (array) no_object();
            if (outermost_ == Place::settings) begin_settings();
            return outermost_;
        }
        const std::string & key = frames_.back().key;
        const char * const found = array ? "a list" : "an object";
        switch (frames_.back().place) {
        case Place::header:
            if (key != "layers") return Place::ignored;
            if (array) fail("E_CONFIG_JSON", "its \"layers\" are no object");
            saw_layers_ = true;
            return Place::layers;
        case Place::layers:
            if (array) fail("E_CONFIG_JSON", "the settings of layer " + quoted(module_) + " are no object");
            begin_settings();
            return Place::settings;
        case Place::settings:
            if (key == "params") {
                if (array) wrong_value(key, found, "an object");
                return Place::params;
            }
            [[fallthrough]];
        case Place::params:
            if (is_known(key)) wrong_value(key, found, "a plain value");
            return Place::ignored;
        default: return Place::ignored;
        }
    }

    void begin_settings() {
        top_ = {};
        params_ = {};
    }

    const Place outermost_;
    const LayerSettings & layer_;
    std::vector<Frame> frames_;
    std::string module_;
    QuantSettings top_, params_;
    bool saw_layers_ = false;
};

void parse(std::string_view text, const std::string & what, SettingsHandler & handler) {
    try {
        parse_json(text, what, handler);
    } catch (const Error & error) {
        Error::Parts parts = error.parts();
        if (parts.code == "E_CONTAINER")
            parts.code = "E_CONFIG_JSON"; // the stream does not know what it reads
        if (parts.code == "E_CONFIG_VALUE" && parts.file.empty() && !handler.module().empty())
            parts.cause = "layer " + quoted(handler.module()) + ": " + parts.cause;
        throw Error(std::move(parts));
    }
}

} // namespace

QuantSettings parse_settings(std::string_view text) {
    QuantSettings found;
    if (text.find_first_not_of(std::string_view(" \t\r\n\0", 5)) == text.npos) return found;
    const LayerSettings keep = [&](const std::string &, const QuantSettings & settings) { found = settings; };
    SettingsHandler handler(Place::settings, keep);
    parse(text, "its text", handler);
    return found;
}

void parse_header_settings(std::string_view text, const LayerSettings & layer) {
    SettingsHandler handler(Place::header, layer);
    parse(text, "its text", handler);
    if (!handler.saw_layers()) fail("E_CONFIG_JSON", "it has no \"layers\"");
}

} // namespace sd
