// For tests: files of random weights, and what quantizing makes of them.
#pragma once

#include "checkpoint/values/dequantize.h"
#include "convert/test_convert.h"
#include "quantize/quantize.h"
#include "quantize/test_reference.h"

namespace sd::test {

class QuantizeTest : public ConvertTest {
  protected:
    struct Weight {
        std::string name;
        int64_t n, k;
        StoredType type = StoredType::bf16;
    };

    // Matrices and what else is given, in this order. Values are kept in `values_` as the file has them.
    std::string put_weights(const std::string & file, const std::vector<Weight> & weights,
                            const std::vector<TensorDeclaration> & others = {},
                            const std::map<std::string, std::string> & metadata = {}) {
        std::vector<TensorDeclaration> tensors;
        for (const Weight & w : weights) tensors.push_back({w.name, w.type, {w.n, w.k}});
        tensors.insert(tensors.end(), others.begin(), others.end());
        SafetensorsWriter writer(path(file), tensors, metadata);
        Numbers numbers(7);
        for (const TensorDeclaration & t : tensors) {
            int64_t elements = 1;
            for (const int64_t d : t.shape) elements *= d;
            std::string bytes(run_bytes(t.type, elements), '\5');
            if (t.shape.size() == 2 && is_float(t.type)) {
                std::vector<float> & row = values_[t.name];
                row = numbers.row(elements, 0.03f);
                from_floats(row.data(), elements, *ggml_type_of(t.type), bytes.data());
                to_floats(t.type, reinterpret_cast<const std::byte *>(bytes.data()), elements, row.data());
            }
            writer.write(bytes.data(), bytes.size());
        }
        writer.finish();
        return path(file);
    }

    QuantizeRequest request(const std::string & output, const std::string & format) const {
        QuantizeRequest r;
        r.output = path(output);
        r.selection.format = format;
        r.threads = 2;
        return r;
    }

    QuantizeReport quantized(const std::string & input, const QuantizeRequest & request) const {
        return quantize(open(path(input)), request);
    }

    // "" or the line of the refusal, with the folder's name left out.
    std::string refusal_line(const std::string & input, const QuantizeRequest & request) const {
        return short_line(refusal_of([&] { quantized(input, request); }));
    }

    std::vector<float> row_of(const std::string & weight, int64_t row, int64_t k) const {
        const std::vector<float> & all = values_.at(weight);
        return {all.begin() + row * k, all.begin() + (row + 1) * k};
    }

    static const QuantModule & module_of(const QuantModules & found, const std::string & name) {
        for (const QuantModule & m : found.modules) {
            if (m.name == name) return m;
        }
        throw Error("no module " + name);
    }

    // Bytes of a tensor of type I8 or U8 as numbers.
    static std::vector<int8_t> codes(const Checkpoint & file, const std::string & tensor) {
        const std::string text = stored(file, tensor);
        return {text.begin(), text.end()};
    }

    std::map<std::string, std::vector<float>> values_;
};

} // namespace sd::test
