// For tests: converts files of a folder and compares what is in them.
#pragma once

#include "checkpoint/comfy_quant/test_model.h"
#include "checkpoint/safetensors/writer.h"
#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"
#include "convert/convert.h"

#include <cmath>
#include <cstdint>
#include <map>

namespace sd::test {

class ConvertTest : public QuantTest {
  protected:
    // A safetensors file of tensors with values between -2 and 2; small integers.
    std::string put_model(const std::string & name, const std::vector<TensorDeclaration> & tensors,
                          const std::map<std::string, std::string> & metadata = {}) const {
        SafetensorsWriter writer(path(name), tensors, metadata);
        uint64_t state = 88172645463325252ull; // xorshift: the same file each time
        for (const TensorDeclaration & t : tensors) {
            std::vector<float> floats(size_t(*tensor_bytes(StoredType::u8, t.shape)));
            for (float & f : floats) {
                state ^= state << 13, state ^= state >> 7, state ^= state << 17;
                f = float(int32_t(state >> 32)) * 0x1p-30f;
            }
            std::string bytes(size_t(*tensor_bytes(t.type, t.shape)), '\0');
            const auto target = ggml_type_of(t.type);
            if (target && is_float_target(*target)) {
                EXPECT_EQ(from_floats(floats.data(), int64_t(floats.size()), *target, bytes.data()), "");
            } else {
                fill(t.type, bytes);
            }
            writer.write(bytes.data(), bytes.size());
        }
        writer.finish();
        return path(name);
    }

    // Numbers every type has: none is NaN.
    static void fill(StoredType type, std::string & bytes) {
        const size_t unit = run_bytes(type, 1);
        for (size_t i = 0; i < bytes.size(); i += unit) {
            bytes[i] = char(i / unit * 31 % (type == StoredType::boolean ? 2 : 50));
            const double number = double(i) / 16;
            if (type == StoredType::f64) std::memcpy(&bytes[i], &number, sizeof number);
        }
    }

    std::string put_model(const std::string & name, const TestModel & model) const {
        return put(name, model.bytes());
    }

    static Checkpoint open(const std::string & file) {
        Checkpoint checkpoint;
        checkpoint.add(file);
        return checkpoint;
    }

    // To a file of the folder; "" or the line of the refusal, with the folder's name left out.
    std::string run(const Checkpoint & checkpoint, const std::string & output, const std::string & type = "",
                    const std::string & rules = "", int threads = 2) const {
        ConvertRequest request;
        request.output = path(output);
        request.type = type;
        request.rules = rules;
        request.threads = threads;
        return short_line(refusal_of([&] { convert(checkpoint, request); }));
    }
    std::string run(const std::string & input, const std::string & output, const std::string & type = "",
                    const std::string & rules = "", int threads = 2) const {
        return run(open(path(input)), output, type, rules, threads);
    }

    std::string short_line(std::string line) const {
        const std::string folder = folder_.string() + "/";
        for (size_t at; (at = line.find(folder)) != line.npos;) line.erase(at, folder.size());
        return line;
    }

    std::string bytes(const std::string & file) const {
        std::ifstream in(folder_ / file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    size_t files() const { return size_t(std::distance(std::filesystem::directory_iterator(folder_), {})); }

    static std::string stored(const Checkpoint & checkpoint, const std::string & tensor) {
        const TensorInfo & t = checkpoint.get(tensor);
        std::string out(run_bytes(t.type, t.elements()), '\0');
        read_stored(checkpoint, t, {}, out.data());
        return out;
    }
    static std::string values(const Checkpoint & checkpoint, const std::string & tensor, ggml_type type) {
        const TensorInfo & t = checkpoint.get(tensor);
        std::string out(run_bytes(stored_type(type), t.elements()), '\0');
        read_values(checkpoint, t, type, {}, out.data());
        return out;
    }

    // Tensors "name TYPE [shape]" in the order of the file.
    std::string list(const std::string & file) const {
        std::string text;
        for (const TensorInfo & t : read_container(File::open(path(file))).tensors)
            text += (text.empty() ? "" : ", ") + t.name + " " + type_name(t.type) + " " + shape_text(t.shape);
        return text;
    }
};

} // namespace sd::test
