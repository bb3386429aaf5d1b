#include "checkpoint/comfy_quant/formats.h"

#include "base/rotation.h"

#include <algorithm>

namespace sd {
namespace {

constexpr int64_t kDefaultGroup = 256;
constexpr int64_t kRelativeRun = 16; // inputs that share a relative scale of asym_w4a8_int8
constexpr int64_t kLevels = 16;

struct FormatRow {
    QuantFormat format;
    StoredType codes; // what a weight's bytes are
    const char * name;
};

constexpr FormatRow kFormats[] = {
    {QuantFormat::int8_tensorwise, StoredType::i8, "int8_tensorwise"},
    {QuantFormat::convrot_w4a4, StoredType::i8, "convrot_w4a4"},
    {QuantFormat::asym_w4a8_int8, StoredType::i8, "asym_w4a8_int8"},
    {QuantFormat::float8_e4m3fn, StoredType::f8_e4m3, "float8_e4m3fn"},
    {QuantFormat::float8_e5m2, StoredType::f8_e5m2, "float8_e5m2"},
};

const FormatRow & row_of(QuantFormat format) {
    return *std::find_if(std::begin(kFormats), std::end(kFormats),
                         [=](const FormatRow & row) { return row.format == format; });
}

// Names of modules that are tables of rows, not layers. An output head is a layer, tied to its table or not.
constexpr std::string_view kTables[] = {
    "embed_tokens",    "token_embd",         "token_embedding",     "tok_embeddings",
    "word_embeddings", "position_embedding", "position_embeddings", "wte",
    "shared"};

bool is_table(const std::string & module) {
    const std::string last = module.substr(module.rfind('.') + 1); // npos + 1 is 0
    return std::find(std::begin(kTables), std::end(kTables), last) != std::end(kTables);
}

// Float types of scales and biases; 8-bit floats are none.
bool is_wide_float(StoredType type) {
    return is_float(type) && type != StoredType::f8_e4m3 && type != StoredType::f8_e5m2;
}

std::string kind_text(const TensorInfo & tensor) {
    return std::string(type_name(tensor.type)) + " " + shape_text(tensor.shape);
}

// [n] or [n, 1, ...] with at most `rank` axes.
bool is_per_row(const TensorInfo & scale, int64_t n, size_t rank) {
    if (scale.shape.empty() || scale.shape.size() > rank || scale.shape[0] != n) return false;
    return std::all_of(scale.shape.begin() + 1, scale.shape.end(), [](int64_t d) { return d == 1; });
}

// One module while it is checked.
class Check {
  public:
    Check(const Checkpoint & checkpoint, const std::string & name, const SettingsEntry & entry,
          QuantFormat format)
        : checkpoint_(checkpoint), settings_(entry.settings) {
        module_.name = name;
        module_.format = format;
        module_.codes = row_of(format).codes;
        module_.use = is_table(name) ? QuantUse::embedding : QuantUse::linear;
        module_.group = 1;
        module_.full_precision = settings_.full_precision.value_or(false);
        module_.weight = entry.weight;
        module_.settings_from = entry.from;
    }

    QuantModule int8_tensorwise() {
        weight_type({StoredType::i8});
        weight_rank();
        if (settings_.convrot.value_or(false)) rotation();
        row_scale(".weight_scale", true, true);
        return finish();
    }

    QuantModule convrot_w4a4() {
        packed_weight();
        const std::string activation = settings_.linear_dtype.value_or("int4");
        if (activation != "int4" && activation != "int8")
            fail(weight(), "E_CONFIG_VALUE",
                 "its setting \"linear_dtype\" is " + in_quotes(activation, 60) +
                     ", not \"int4\" or \"int8\"");
        row_scale(".weight_scale", true, false);
        return finish();
    }

    QuantModule asym_w4a8_int8() {
        packed_weight();
        relative_run();
        if (const TensorInfo * t = part(".weight_correction"))
            fail(*t, "E_CORRECTION", "corrections of asymmetric layers are not supported");
        module_.relative = &needed(".weight_s_rel");
        const std::vector<int64_t> relative_shape = {module_.n, module_.k / kRelativeRun};
        if (const StoredType t = module_.relative->type;
            t != StoredType::f8_e4m3 && t != StoredType::u8 && t != StoredType::f32)
            fail(*module_.relative, "E_SCALE_DTYPE",
                 std::string("is ") + type_name(t) + ", not F8_E4M3, U8 or F32");
        if (module_.relative->shape != relative_shape)
            wrong_scale_shape(*module_.relative, shape_text(relative_shape));
        module_.channel = &needed(".weight_s_channel");
        wide(*module_.channel, "E_SCALE_DTYPE");
        if (!is_per_row(*module_.channel, module_.n, 2)) wrong_scale_shape(*module_.channel, rows_text());
        codebook();
        return finish();
    }

    QuantModule float8(std::string_view scale) {
        weight_type({module_.codes, StoredType::u8});
        weight_rank();
        row_scale(scale, false, true);
        return finish();
    }

  private:
    [[noreturn]] void fail(const TensorInfo & tensor, const char * code, std::string cause,
                           std::string advice = {}) const {
        throw checkpoint_.error(tensor, code, std::move(cause), std::move(advice));
    }

    const TensorInfo & weight() const { return *module_.weight; }
    std::string format() const { return quant_format_name(module_.format); }
    std::string rows_text() const { return shape_text({module_.n}) + " or " + shape_text({module_.n, 1}); }

    const TensorInfo * part(std::string_view suffix) const {
        return part_of(checkpoint_, module_.name, suffix);
    }

    const TensorInfo & needed(std::string_view suffix) const {
        if (const TensorInfo * tensor = part(suffix)) return *tensor;
        fail(weight(), "E_SCALE_MISSING",
             format() + " needs a tensor " + std::string(suffix.substr(1)) + " beside it",
             "the file is not complete: get it again");
    }

    void weight_type(std::initializer_list<StoredType> allowed) const {
        if (std::find(allowed.begin(), allowed.end(), weight().type) == allowed.end())
            fail(weight(), "E_WEIGHT_DTYPE",
                 "is " + std::string(type_name(weight().type)) + "; its settings say " + format() +
                     ", which is " + type_name(*allowed.begin()));
    }

    void not_empty() const {
        if (weight().elements() == 0)
            fail(weight(), "E_WEIGHT_RANK", "has no elements: shape " + shape_text(weight().shape));
    }

    // A matrix, or a convolution's [output, input, kernel ...].
    void weight_rank() {
        const std::vector<int64_t> & shape = weight().shape;
        if (shape.size() < 2)
            fail(weight(), "E_WEIGHT_RANK",
                 "has shape " + shape_text(shape) + "; " + format() + " needs two axes or more");
        not_empty();
        module_.n = shape[0];
        module_.k = shape[1];
        if (shape.size() == 2) return;
        module_.use = QuantUse::convolution;
        // [experts, N, K] looks like a convolution of one axis; its scales or settings tell.
        const TensorInfo * scale = part(".weight_scale");
        const std::vector<int64_t> bank = {shape[0], shape[1], 1};
        if (settings_.experts ||
            (shape.size() == 3 && shape[1] > 1 && scale != nullptr && scale->shape == bank))
            fail(weight(), "E_WEIGHT_RANK",
                 "is a bank of experts, shape " + shape_text(shape) + ", which is not supported");
    }

    // Two codes in each byte.
    void packed_weight() {
        weight_type({StoredType::i8, StoredType::u8});
        if (weight().shape.size() != 2)
            fail(weight(), "E_WEIGHT_RANK",
                 "has shape " + shape_text(weight().shape) + "; " + format() + " needs two axes");
        not_empty();
        module_.n = weight().shape[0];
        module_.k = weight().shape[1] * 2;
        rotation();
    }

    void rotation() {
        const int64_t group = settings_.convrot_group.value_or(kDefaultGroup);
        const std::string setting = "its convrot_groupsize " + std::to_string(group);
        if (!is_rotation_group(group))
            fail(weight(), "E_GROUP_SIZE",
                 setting + " is no power of four from 1 to " + std::to_string(kMaxRotationGroup));
        if (module_.k % group != 0)
            fail(weight(), "E_GROUP_DIVIDES",
                 setting + " does not divide its " + std::to_string(module_.k) + " input features");
        module_.group = int(group);
    }

    void relative_run() const {
        if (!settings_.scale_group)
            fail(weight(), "E_QUANT_GROUP", "its settings have no \"group_size\"; asym_w4a8_int8 needs 16");
        if (*settings_.scale_group != kRelativeRun)
            fail(weight(), "E_QUANT_GROUP",
                 "its group_size is " + std::to_string(*settings_.scale_group) + "; asym_w4a8_int8 needs 16");
        if (module_.k % kRelativeRun != 0)
            fail(weight(), "E_QUANT_GROUP",
                 "its " + std::to_string(module_.k) + " input features are no multiple of 16");
    }

    void wide(const TensorInfo & tensor, const char * code) const {
        if (!is_wide_float(tensor.type))
            fail(tensor, code, std::string("is ") + type_name(tensor.type) + ", not F32, F16, BF16 or F64");
    }

    [[noreturn]] void wrong_scale_shape(const TensorInfo & scale, const std::string & wanted) const {
        fail(scale, "E_SCALE_SHAPE",
             "has shape " + shape_text(scale.shape) + "; the weight " + shape_text(weight().shape) +
                 " needs " + wanted);
    }

    void row_scale(std::string_view suffix, bool required, bool one_will_do) {
        module_.scale = required ? &needed(suffix) : part(suffix);
        if (module_.scale == nullptr) return;
        wide(*module_.scale, "E_SCALE_DTYPE");
        const size_t rank = std::max<size_t>(2, weight().shape.size());
        if (is_per_row(*module_.scale, module_.n, rank) || (one_will_do && module_.scale->elements() == 1))
            return;
        wrong_scale_shape(*module_.scale, one_will_do ? rows_text() + " or one element" : rows_text());
    }

    void codebook() {
        module_.codebook = part(".weight_codebook");
        if (module_.codebook == nullptr) return;
        wide(*module_.codebook, "E_CODEBOOK_DTYPE");
        if (module_.codebook->shape != std::vector<int64_t>{kLevels})
            fail(*module_.codebook, "E_CODEBOOK_SHAPE",
                 "has shape " + shape_text(module_.codebook->shape) + ", not [16]");
    }

    QuantModule finish() {
        module_.bias = part(".bias");
        if (module_.bias == nullptr) return module_;
        // Files of 8-bit floats have biases of the same type.
        const bool float8 = is_float8(module_.format);
        const bool legal = float8 ? is_float(module_.bias->type) : is_wide_float(module_.bias->type);
        if (!legal || module_.bias->elements() != module_.n)
            fail(*module_.bias, "E_BIAS",
                 "is " + kind_text(*module_.bias) + ", not " + std::to_string(module_.n) + " floats");
        return module_;
    }

    const Checkpoint & checkpoint_;
    const QuantSettings & settings_;
    QuantModule module_ = {};
};

} // namespace

const char * quant_format_name(QuantFormat format) { return row_of(format).name; }

bool is_float8(QuantFormat format) {
    return format == QuantFormat::float8_e4m3fn || format == QuantFormat::float8_e5m2;
}

std::optional<QuantFormat> quant_format(const std::string & name) {
    for (const FormatRow & row : kFormats) {
        if (name == row.name) return row.format;
    }
    return std::nullopt;
}

std::string supported_formats(bool has_operators) {
    std::string names;
    for (const FormatRow & row : kFormats) {
        if (!is_float8(row.format) && !has_operators) continue;
        if (!names.empty()) names += ", ";
        names += row.name;
    }
    return names;
}

QuantModule check_module(const Checkpoint & checkpoint, const std::string & name, const SettingsEntry & entry,
                         QuantFormat format, std::string_view scale) {
    Check check(checkpoint, name, entry, format);
    switch (format) {
    case QuantFormat::int8_tensorwise: return check.int8_tensorwise();
    case QuantFormat::convrot_w4a4: return check.convrot_w4a4();
    case QuantFormat::asym_w4a8_int8: return check.asym_w4a8_int8();
    default: return check.float8(scale);
    }
}

} // namespace sd
