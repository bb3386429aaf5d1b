// comfy_quant_seeds FOLDER: writes settings of every format, header settings, and a checkpoint for each
// format.
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

bool write(const std::string & path, const std::string & bytes) {
    std::FILE * file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return std::fclose(file) == 0 && written;
}

class Checkpoint {
  public:
    Checkpoint & add(const std::string & name, const std::string & dtype, const std::string & shape,
                     const std::string & bytes) {
        header_ += (header_.empty() ? "\"" : ",\"") + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" +
                   shape + "],\"data_offsets\":[" + std::to_string(data_.size()) + ',' +
                   std::to_string(data_.size() + bytes.size()) + "]}";
        data_ += bytes;
        return *this;
    }
    Checkpoint & add(const std::string & name, const std::string & dtype, const std::string & shape,
                     size_t bytes) {
        return add(name, dtype, shape, std::string(bytes, '\2'));
    }
    Checkpoint & marker(const std::string & module, const std::string & json) {
        return add(module + ".comfy_quant", "U8", std::to_string(json.size()), json);
    }
    std::string bytes(const std::string & metadata = "") const {
        const std::string json = "{" + metadata + header_ + "}";
        std::string out;
        for (int i = 0; i < 8; ++i) out += char(uint64_t(json.size()) >> (8 * i));
        return out + json + data_;
    }

  private:
    std::string header_, data_;
};

constexpr const char * kSettings[] = {
    R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":16})",
    R"({"format":"int8_tensorwise","params":{"convrot":true,"convrot_groupsize":64.0}})",
    R"({"format":"convrot_w4a4","convrot_groupsize":64,"linear_dtype":"int8"})",
    R"({"format":"asym_w4a8_int8","group_size":16,"convrot_groupsize":64})",
    R"({"format":"float8_e4m3fn","full_precision_matrix_mult":true,"orig_shape":[2,16]})",
    R"({"format":"nvfp4"})",
    R"({"convrot":false,"per_row":true,"num_experts":null})",
    R"({"format_version":"1.0","layers":{"a":{"format":"int8_tensorwise"},"b":"float8_e5m2"}})",
};

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: comfy_quant_seeds FOLDER\n");
        return 1;
    }
    const std::string start = std::string(argv[1]) + "/";
    bool good = true;
    int number = 0;
    for (const char * settings : kSettings)
        good = write(start + "settings" + std::to_string(number++), settings) && good;
    Checkpoint int8, w4, conv, old, header;
    int8.add("l.weight", "I8", "2,16", 32).add("l.weight_scale", "BF16", "2,1", 4).marker("l", kSettings[0]);
    int8.add("l.bias", "F16", "2", 4).add("m.weight", "F32", "2", 8).marker("m", " ");
    w4.add("l.weight", "U8", "2,32", 64)
        .add("l.weight_s_rel", "U8", "2,4", 8)
        .add("l.weight_s_channel", "F32", "2", 8);
    w4.add("l.weight_codebook", "F32", "16", 64).marker("l", kSettings[3]);
    w4.add("k.weight", "I8", "2,32", 64).add("k.weight_scale", "F32", "2", 8).marker("k", kSettings[2]);
    conv.add("embed_tokens.weight", "I8", "2,16", 32)
        .add("embed_tokens.weight_scale", "F32", "", 4)
        .marker("embed_tokens", kSettings[0]);
    conv.add("c.weight", "I8", "1,16,2,1", 32)
        .add("c.weight_scale", "F64", "1,1,1,1", 8)
        .marker("c", kSettings[0]);
    old.add("scaled_fp8", "F8_E4M3", "2", 2)
        .add("l.weight", "F8_E4M3", "2,4", 8)
        .add("l.scale_weight", "F32", "", 4);
    old.add("l.scale_input", "F32", "", 4)
        .add("k.weight", "I8", "2,16", 32)
        .add("k.weight_scale", "F32", "2", 8);
    header.add("model.a.weight", "I8", "2,16", 32)
        .add("model.a.weight_scale", "F32", "2", 8)
        .add("b.weight", "F8_E5M2", "2,4", 8);
    const std::string metadata =
        R"("__metadata__":{"_quantization_metadata":"{\"layers\":{\"a\":{\"format\":\"int8_tensorwise\",)"
        R"(\"convrot\":true,\"convrot_groupsize\":4},\"b\":\"float8_e5m2\"}}"},)";
    good = write(start + "int8", int8.bytes()) && write(start + "w4", w4.bytes()) &&
           write(start + "conv", conv.bytes()) && good;
    good = write(start + "old", old.bytes()) && write(start + "header", header.bytes(metadata)) && good;
    return good ? 0 : 1;
}
