// Any bytes as a module's settings, as those of a header, as the marker of layers of each shape, and as a
// whole checkpoint: modules are found or refused, and those that are found are decoded.
#include "engine/checkpoint/comfy_quant/settings.h"
#include "engine/checkpoint/type_rules.h"
#include "engine/checkpoint/values/dequantize.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace sd;

volatile double sink; // keeps decoding from being optimized away

// A checkpoint of these bytes, in memory under a path.
Checkpoint checkpoint_of(const std::string & bytes) {
    static const int file = memfd_create("checkpoint", 0);
    if (file < 0 || ftruncate(file, 0) != 0 ||
        pwrite(file, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()))
        std::abort();
    Checkpoint checkpoint;
    checkpoint.add("/proc/self/fd/" + std::to_string(file));
    return checkpoint;
}

void decode(const Checkpoint & checkpoint, const QuantModule & m) {
    // What the module promises whoever uses it.
    if (m.weight == nullptr || m.n < 1 || m.k < 1 || m.group < 1 || m.k % m.group != 0) std::abort();
    check_scale_values(checkpoint, m);
    const Dequantizer source(checkpoint, m);
    if (source.row_length() > 1 << 20) return;
    std::vector<float> row(size_t(source.row_length()));
    source.read(source.rows() - 1, 1, row.data());
    sink = double(row.back());
}

void find_and_decode(const std::string & bytes) {
    try {
        const Checkpoint checkpoint = checkpoint_of(bytes);
        static const TypeRules rules = TypeRules::parse("q4_K", "attn=q8_0");
        for (const TensorInfo & t : checkpoint.tensors()) sink = rules.target_type(t);
        for (const QuantOptions & options :
             {QuantOptions{}, QuantOptions{.assume_int8_group = 16}, QuantOptions{.has_operators = false}}) {
            try {
                for (const QuantModule & m : find_quant_modules(checkpoint, options).modules)
                    decode(checkpoint, m);
            } catch (const Error &) {
            }
        }
    } catch (const Error &) {
    }
}

void parse_alone(const std::string & text) {
    try {
        sink = parse_settings(text).blank ? 1 : 0;
    } catch (const Error &) {
    }
    try {
        parse_header_settings(
            text, [](const std::string & name, const QuantSettings &) { sink = double(name.size()); });
    } catch (const Error &) {
    }
}

// Layers of the common shapes, each with the text as its marker.
std::string layers_with(const std::string & text) {
    std::string header = "{", data;
    const auto add = [&](const std::string & name, const char * dtype, const char * shape, size_t bytes) {
        header += (data.empty() ? "\"" : ",\"") + name + "\":{\"dtype\":\"" + dtype +
                  "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(data.size()) + ',' +
                  std::to_string(data.size() + bytes) + "]}";
        data.resize(data.size() + bytes, '\1');
    };
    const auto marker = [&](const std::string & module) {
        add(module + ".comfy_quant", "U8", ("[" + std::to_string(text.size()) + "]").c_str(), text.size());
        data.replace(data.size() - text.size(), text.size(), text);
    };
    add("a.weight", "I8", "[2,64]", 128);
    add("a.weight_scale", "F32", "[2,1]", 8);
    add("a.weight_s_rel", "F8_E4M3", "[2,8]", 16);
    add("a.weight_s_channel", "F32", "[2]", 8);
    marker("a");
    add("b.weight", "F8_E4M3", "[2,16]", 32);
    marker("b");
    const uint64_t length = header.size() + 1;
    std::string bytes(sizeof(length), '\0');
    for (size_t i = 0; i < sizeof(length); ++i) bytes[i] = char(length >> (8 * i));
    return bytes + header + "}" + data;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    const std::string bytes(reinterpret_cast<const char *>(data), size);
    parse_alone(bytes);
    if (!bytes.empty()) find_and_decode(layers_with(bytes));
    find_and_decode(bytes);
    return 0;
}
