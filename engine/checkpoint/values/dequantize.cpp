#include "checkpoint/values/dequantize.h"

#include "base/rotation.h"
#include "checkpoint/values/codecs.h"
#include "checkpoint/values/floats.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

constexpr int64_t kRelativeRun = 16; // inputs that share a relative scale
constexpr int64_t kPart = int64_t(1) << 18;

bool is_packed(QuantFormat format) {
    return format == QuantFormat::convrot_w4a4 || format == QuantFormat::asym_w4a8_int8;
}

void check_finite(const Checkpoint & checkpoint, const TensorInfo & tensor, const std::vector<float> & values,
                  int64_t first = 0) {
    for (size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) continue;
        throw checkpoint.error(tensor, "E_SCALE_VALUE",
                               "element " + std::to_string(first + int64_t(i)) + " is " +
                                   (std::isnan(values[i]) ? "NaN" : "infinite") +
                                   "; layers need finite scales",
                               "the file is damaged or was written by a faulty converter: get it again");
    }
}

std::vector<float> finite_floats(const Checkpoint & checkpoint, const TensorInfo & tensor) {
    std::vector<float> values = read_floats(checkpoint, tensor);
    check_finite(checkpoint, tensor, values);
    return values;
}

// Relative scales may be labelled U8 and hold E4M3 all the same.
std::vector<float> relative_scales(const Checkpoint & checkpoint, const TensorInfo & tensor, RowRange rows) {
    std::vector<float> values(size_t(rows.count * row_length(tensor)));
    if (tensor.type != StoredType::u8) {
        read_values(checkpoint, tensor, GGML_TYPE_F32, rows, values.data(), {.threads = 1});
    } else {
        std::vector<std::byte> codes(values.size());
        read_stored(checkpoint, tensor, rows, codes.data(), {.threads = 1});
        to_floats(StoredType::f8_e4m3, codes.data(), int64_t(codes.size()), values.data());
    }
    check_finite(checkpoint, tensor, values, rows.begin * row_length(tensor));
    return values;
}

// Whether codes of E4M3 have its one value that is not finite. The loop has no way out, so that it becomes
// vector code.
bool has_nan_code(const std::vector<std::byte> & codes) {
    bool any = false;
    for (const std::byte code : codes) any |= (code & std::byte(0x7f)) == std::byte(0x7f);
    return any;
}

// Relative scales are a ninth of a layer's bytes, so they are not decoded unless one of them is wrong.
void check_relative(const Checkpoint & checkpoint, const TensorInfo & tensor) {
    const bool codes = tensor.type == StoredType::u8 || tensor.type == StoredType::f8_e4m3;
    // Small enough for a core's own cache, and for memory the allocator has at hand.
    constexpr int64_t kBytes = int64_t(64) << 10;
    const int64_t rows = row_count(tensor), step = std::max<int64_t>(1, kBytes / row_length(tensor));
    std::vector<std::byte> part;
    for (RowRange range = {0, 0}; range.begin < rows; range.begin += step) {
        range.count = std::min(step, rows - range.begin);
        if (codes) {
            part.resize(size_t(range.count * row_length(tensor)));
            read_stored(checkpoint, tensor, range, part.data(), {.threads = 1});
        }
        if (!codes || has_nan_code(part)) relative_scales(checkpoint, tensor, range);
    }
}

// Nibbles, low first; a level for each.
void unpack_nibbles(const std::vector<std::byte> & packed, const std::array<float, 16> & levels,
                    float * out) {
    for (size_t i = 0; i < packed.size(); ++i) {
        out[2 * i] = levels[size_t(packed[i]) & 15];
        out[2 * i + 1] = levels[size_t(packed[i]) >> 4];
    }
}

} // namespace

std::array<float, 16> codebook_values(const Checkpoint & checkpoint, const QuantModule & module) {
    std::array<float, 16> levels;
    for (int i = 0; i < 16; ++i) levels[size_t(i)] = float(i - 8);
    if (module.codebook == nullptr) return levels;
    const std::vector<float> stored = finite_floats(checkpoint, *module.codebook);
    std::copy_n(stored.begin(), 16, levels.begin());
    return levels;
}

void check_scale_values(const Checkpoint & checkpoint, const QuantModule & module) {
    for (const TensorInfo * tensor : {module.scale, module.channel, module.codebook}) {
        if (tensor != nullptr) finite_floats(checkpoint, *tensor);
    }
    if (module.relative != nullptr) check_relative(checkpoint, *module.relative);
}

Dequantizer::Dequantizer(const Checkpoint & checkpoint, const QuantModule & module)
    : checkpoint_(checkpoint), module_(module),
      row_length_(is_packed(module.format) ? module.k : module.weight->elements() / module.n) {
    const TensorInfo * scale = module.channel != nullptr ? module.channel : module.scale;
    row_scale_ = scale != nullptr ? finite_floats(checkpoint, *scale) : std::vector<float>{1.0f};
    if (module.format == QuantFormat::asym_w4a8_int8) {
        levels_ = codebook_values(checkpoint, module);
    } else {
        for (int i = 0; i < 16; ++i) levels_[size_t(i)] = float(i < 8 ? i : i - 16); // two's complement
    }
}

// Codes or levels as floats, without scales.
void Dequantizer::unpack(int64_t first, int64_t count, float * out) const {
    // Rows of the container are those of the innermost dimension.
    const int64_t factor = row_count(*module_.weight) / module_.n;
    std::vector<std::byte> stored(run_bytes(module_.codes, count * factor * sd::row_length(*module_.weight)));
    read_stored(checkpoint_, *module_.weight, {first * factor, count * factor}, stored.data(),
                {.threads = 1});
    if (is_packed(module_.format)) return unpack_nibbles(stored, levels_, out);
    to_floats(module_.codes, stored.data(), count * row_length_, out);
}

void Dequantizer::apply_relative(int64_t first, int64_t count, float * out) const {
    const std::vector<float> relative = relative_scales(checkpoint_, *module_.relative, {first, count});
    for (size_t i = 0; i < relative.size(); ++i) {
        for (int64_t j = 0; j < kRelativeRun; ++j) out[int64_t(i) * kRelativeRun + j] *= relative[i];
    }
}

void Dequantizer::rotate(float * row) const {
    const int64_t positions = row_length_ / module_.k;
    if (positions == 1) return rotate_scalar(row, row_length_, module_.group, row);
    // A convolution: along the input channels at each place of the kernel.
    std::vector<float> channels(size_t(module_.k));
    for (int64_t p = 0; p < positions; ++p) {
        for (int64_t i = 0; i < module_.k; ++i) channels[size_t(i)] = row[i * positions + p];
        rotate_scalar(channels.data(), module_.k, module_.group, channels.data());
        for (int64_t i = 0; i < module_.k; ++i) row[i * positions + p] = channels[size_t(i)];
    }
}

void Dequantizer::read(int64_t first, int64_t count, float * out) const {
    if (first < 0 || count < 0 || first > rows() || count > rows() - first)
        throw checkpoint_.error(*module_.weight, "E_RANGE",
                                "row " + std::to_string(first) + " is asked for, but it has " +
                                    std::to_string(rows()));
    unpack(first, count, out);
    if (module_.relative != nullptr) apply_relative(first, count, out);
    for (int64_t r = 0; r < count; ++r) {
        float * const row = out + r * row_length_;
        const float scale = row_scale_[row_scale_.size() == 1 ? 0 : size_t(first + r)];
        for (int64_t i = 0; i < row_length_; ++i) row[i] *= scale;
        if (module_.group > 1) rotate(row);
    }
}

void read_dequantized(const Checkpoint & checkpoint, const QuantModule & module, ggml_type target, void * out,
                      const ParallelOptions & options) {
    const Dequantizer source(checkpoint, module);
    const int64_t length = source.row_length(),
                  inner = is_packed(module.format) ? module.k : row_length(*module.weight);
    const StoredType wanted = stored_type(target);
    if (!is_float_target(target) || inner % block_elements(wanted) != 0)
        throw checkpoint.error(*module.weight, "E_TYPE",
                               "rows of " + std::to_string(inner) + " values are not converted to " +
                                   ggml_type_name(target));
    const int64_t step = std::max<int64_t>(1, kPart / length);
    parallel_parts((source.rows() + step - 1) / step, options, [&](int64_t part) {
        const int64_t first = part * step, count = std::min(step, source.rows() - first);
        std::vector<float> floats(size_t(count * length));
        source.read(first, count, floats.data());
        const std::string reason =
            from_floats(floats.data(), count * length, target,
                        static_cast<std::byte *>(out) + run_bytes(wanted, first * length));
        if (!reason.empty()) throw checkpoint.error(*module.weight, "E_VALUE", reason);
        return uint64_t(run_bytes(wanted, count * length));
    });
}

} // namespace sd
