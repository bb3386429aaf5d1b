// safetensors_seeds FOLDER: writes small valid files with every type, metadata and shapes of all ranks, and
// indices of shards.
#include "engine/base/error.h"
#include "engine/checkpoint/safetensors/writer.h"

#include <cstdio>

namespace {

std::vector<sd::TensorDeclaration> every_type() {
    std::vector<sd::TensorDeclaration> tensors;
    for (const sd::StoredType type :
         {sd::StoredType::f64, sd::StoredType::i64, sd::StoredType::u64, sd::StoredType::f32,
          sd::StoredType::i32, sd::StoredType::u32, sd::StoredType::f16, sd::StoredType::bf16,
          sd::StoredType::i16, sd::StoredType::u16, sd::StoredType::i8, sd::StoredType::u8,
          sd::StoredType::boolean, sd::StoredType::f8_e4m3, sd::StoredType::f8_e5m2,
          sd::StoredType::f8_e8m0}) {
        tensors.push_back({std::string("blocks.0.") + sd::type_name(type), type, {2, 3}});
    }
    return tensors;
}

void write(const std::string & path, const std::vector<sd::TensorDeclaration> & tensors,
           const std::map<std::string, std::string> & metadata) {
    sd::SafetensorsWriter writer(path, tensors, metadata);
    const std::string data(size_t(writer.data_bytes()), '\1');
    writer.write(data.data(), data.size());
    writer.finish();
}

void write_text(const std::string & path, const std::string & text) {
    sd::OutputFile out(path);
    out.write(text.data(), text.size());
    out.finish();
}

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: safetensors_seeds FOLDER\n");
        return 1;
    }
    const std::string folder = std::string(argv[1]) + "/";
    try {
        write(folder + "empty", {}, {});
        write(folder + "types", every_type(), {{"format", "pt"}});
        write(folder + "shapes",
              {{"scalar", sd::StoredType::f32, {}},
               {"none", sd::StoredType::f32, {4, 0}},
               {"deep", sd::StoredType::u8, {1, 2, 1, 2, 1, 2, 1, 1}}},
              {{"_quantization_metadata", R"({"layers": {"a": {"format": "int8_tensorwise"}}})"}});
        write_text(folder + "header", R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,3],)"
                                      R"("data_offsets":[8,32]},"y":{"dtype":"U8","shape":[],)"
                                      R"("data_offsets":[1,2]},"z":{"dtype":"I64","shape":[0],"more":[{}],)"
                                      R"("data_offsets":[64,64]}})");
        write_text(folder + "index", R"({"metadata": {"total_size": 12}, )"
                                     R"("weight_map": {"a": "m-1-of-2", "b": "m-2-of-2", "c": "m-1-of-2"}})");
    } catch (const sd::Error & error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
