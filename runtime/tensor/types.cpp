#include "runtime/tensor/types.h"

#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "runtime/tensor/blocks.h"
#include "runtime/tensor/codecs.h"

#include <array>

namespace ggml {
namespace {

template <class T>
constexpr TypeInfo plain(const char * name, ToFloat to_float, FromFloat from_float) {
    return {name, 1, sizeof(T), false, to_float, from_float};
}

template <class Block>
constexpr TypeInfo block(const char * name, int64_t elements, ToFloat to_float, FromFloat from_float) {
    return {name, elements, sizeof(Block), true, to_float, from_float};
}

// Recognised in files so that a refusal can name the type and sizes can be checked.
constexpr TypeInfo named_only(const char * name, int64_t elements, size_t bytes) {
    return {name, elements, bytes, true, nullptr, nullptr};
}

constexpr TypeInfo kNoType = {"none", 0, 0, false, nullptr, nullptr};

constexpr std::array<TypeInfo, GGML_TYPE_COUNT> make_table() {
    std::array<TypeInfo, GGML_TYPE_COUNT> t{};
    t.fill(kNoType);

    t[GGML_TYPE_F32] = plain<float>("f32", f32_to_float, float_to_f32);
    t[GGML_TYPE_F16] = plain<uint16_t>("f16", f16_to_float, float_to_f16);
    t[GGML_TYPE_BF16] = plain<uint16_t>("bf16", bf16_row_to_float, float_to_bf16_row);
    t[GGML_TYPE_F64] = plain<double>("f64", f64_to_float, float_to_f64);
    t[GGML_TYPE_I8] = plain<int8_t>("i8", i8_to_float, float_to_i8);
    t[GGML_TYPE_I16] = plain<int16_t>("i16", i16_to_float, float_to_i16);
    t[GGML_TYPE_I32] = plain<int32_t>("i32", i32_to_float, float_to_i32);
    t[GGML_TYPE_I64] = plain<int64_t>("i64", i64_to_float, float_to_i64);

    t[GGML_TYPE_Q4_0] = block<BlockQ4_0>("q4_0", kBlock, q4_0_to_float, float_to_q4_0);
    t[GGML_TYPE_Q4_1] = block<BlockQ4_1>("q4_1", kBlock, q4_1_to_float, float_to_q4_1);
    t[GGML_TYPE_Q5_0] = block<BlockQ5_0>("q5_0", kBlock, q5_0_to_float, float_to_q5_0);
    t[GGML_TYPE_Q5_1] = block<BlockQ5_1>("q5_1", kBlock, q5_1_to_float, float_to_q5_1);
    t[GGML_TYPE_Q8_0] = block<BlockQ8_0>("q8_0", kBlock, q8_0_to_float, float_to_q8_0);
    t[GGML_TYPE_Q8_1] = block<BlockQ8_1>("q8_1", kBlock, q8_1_to_float, float_to_q8_1);
    t[GGML_TYPE_Q2_K] = block<BlockQ2_K>("q2_K", kSuperBlock, q2_k_to_float, float_to_q2_k);
    t[GGML_TYPE_Q3_K] = block<BlockQ3_K>("q3_K", kSuperBlock, q3_k_to_float, float_to_q3_k);
    t[GGML_TYPE_Q4_K] = block<BlockQ4_K>("q4_K", kSuperBlock, q4_k_to_float, float_to_q4_k);
    t[GGML_TYPE_Q5_K] = block<BlockQ5_K>("q5_K", kSuperBlock, q5_k_to_float, float_to_q5_k);
    t[GGML_TYPE_Q6_K] = block<BlockQ6_K>("q6_K", kSuperBlock, q6_k_to_float, float_to_q6_k);
    t[GGML_TYPE_Q8_K] = block<BlockQ8_K>("q8_K", kSuperBlock, q8_k_to_float, float_to_q8_k);

    t[GGML_TYPE_IQ2_XXS] = named_only("iq2_xxs", 256, 66);
    t[GGML_TYPE_IQ2_XS] = named_only("iq2_xs", 256, 74);
    t[GGML_TYPE_IQ3_XXS] = named_only("iq3_xxs", 256, 98);
    t[GGML_TYPE_IQ1_S] = named_only("iq1_s", 256, 50);
    t[GGML_TYPE_IQ4_NL] = named_only("iq4_nl", 32, 18);
    t[GGML_TYPE_IQ3_S] = named_only("iq3_s", 256, 110);
    t[GGML_TYPE_IQ2_S] = named_only("iq2_s", 256, 82);
    t[GGML_TYPE_IQ4_XS] = named_only("iq4_xs", 256, 136);
    t[GGML_TYPE_IQ1_M] = named_only("iq1_m", 256, 56);
    t[GGML_TYPE_TQ1_0] = named_only("tq1_0", 256, 54);
    t[GGML_TYPE_TQ2_0] = named_only("tq2_0", 256, 66);
    t[GGML_TYPE_MXFP4] = named_only("mxfp4", 32, 17);
    t[GGML_TYPE_NVFP4] = named_only("nvfp4", 64, 36);
    t[GGML_TYPE_Q1_0] = named_only("q1_0", 128, 18);
    t[GGML_TYPE_Q2_0] = named_only("q2_0", 64, 18);
    return t;
}

constexpr std::array<TypeInfo, GGML_TYPE_COUNT> kTypes = make_table();

bool is_known_id(ggml_type type) { return int(type) >= 0 && int(type) < GGML_TYPE_COUNT; }

// Through ggml's API, plain numbers other than the 16-bit floats have no conversions: its clients read them
// directly and take a null pointer as "nothing to convert".
ggml_type_traits public_traits(ggml_type type) {
    const TypeInfo & info = kTypes[type];
    const bool converts = info.quantized || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
    return {info.name,
            info.block,
            0,
            info.bytes,
            info.quantized,
            converts ? info.to_float : nullptr,
            converts ? info.from_float : nullptr};
}

std::array<ggml_type_traits, GGML_TYPE_COUNT> make_traits() {
    std::array<ggml_type_traits, GGML_TYPE_COUNT> traits;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) traits[i] = public_traits(ggml_type(i));
    return traits;
}

} // namespace

const TypeInfo & type_info(ggml_type type) { return is_known_id(type) ? kTypes[type] : kNoType; }

} // namespace ggml

using ggml::type_info;

const ggml_type_traits * ggml_get_type_traits(ggml_type type) {
    static const std::array<ggml_type_traits, GGML_TYPE_COUNT> traits = ggml::make_traits();
    return ggml::is_known_id(type) ? &traits[type] : nullptr;
}

int64_t ggml_blck_size(ggml_type type) { return type_info(type).block; }

size_t ggml_type_size(ggml_type type) { return type_info(type).bytes; }

double ggml_type_sizef(ggml_type type) {
    const ggml::TypeInfo & info = type_info(type);
    return info.block ? double(info.bytes) / double(info.block) : 0.0;
}

const char * ggml_type_name(ggml_type type) { return type_info(type).name; }

bool ggml_is_quantized(ggml_type type) { return type_info(type).quantized; }

size_t ggml_row_size(ggml_type type, int64_t ne) {
    const ggml::TypeInfo & info = type_info(type);
    size_t bytes = 0;
    if (info.block == 0 || ne < 0 || ne % info.block != 0 ||
        !ggml::checked_mul(size_t(ne / info.block), info.bytes, bytes)) {
        GGML_ABORT("ggml_row_size: a row of %lld elements of type %s (id %d, %lld to a block) has no size",
                   (long long)ne, info.name, int(type), (long long)info.block);
    }
    return bytes;
}
