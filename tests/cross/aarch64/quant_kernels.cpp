// The steps of the integer product that must be identical bit for bit on every level: quantizing activations
// and opening weights.
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "runtime/tensor/types.h"
#include "tests/cross/aarch64/check.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace ggml::cross {
namespace {

using namespace cpu::matmul;

// Magnitudes from subnormal to the largest, ties of rounding, and blocks with one special value.
std::vector<float> awkward_values() {
    Random random(7);
    std::vector<float> x;
    for (int block = 0; block < 64; ++block) {
        const float scale = std::ldexp(1.0f, block * 4 - 130);
        for (int i = 0; i < kBlock; ++i) {
            x.push_back(block % 3 == 0 ? scale * float(int(random.bits() >> 16) - 128) / 2
                                       : scale * random.uniform(-1, 1));
        }
    }
    x[5] = NAN, x[40] = HUGE_VALF, x[75] = -HUGE_VALF, x[100] = -0.0f;
    for (int i = 0; i < kBlock; ++i) x[size_t(20 * kBlock + i)] = 0.0f;
    x[21 * kBlock] = std::numeric_limits<float>::max();
    return x;
}

void check_quantize() {
    const std::vector<float> x = awkward_values();
    const int64_t blocks = int64_t(x.size()) / kBlock;
    for (int shared : {1, 8}) {
        for (int64_t stride : {1, kTileRows}) {
            std::vector<ActBlock> out(size_t(blocks * stride)), expected(size_t(blocks * stride));
            quant_kernels().quantize(x.data(), blocks, shared, out.data(), stride);
            for (int64_t b = 0; b < blocks; b += shared)
                quantize_act_blocks(x.data() + kBlock * b, shared, &expected[size_t(b * stride)], stride);
            for (size_t b = 0; b < out.size(); b += size_t(stride)) {
                require(std::memcmp(&expected[b], &out[b], sizeof expected[b]) == 0,
                        "%s quantizes at %d with stride %d, %d sharing a scale, differently",
                        quant_kernels().name, int(b), int(stride), shared);
            }
        }
    }
    passed("%s quantizes %d awkward blocks bit-identically", quant_kernels().name, int(blocks));
}

void check_pack(ggml_type type) {
    const TypeInfo & info = type_info(type);
    const QuantInfo quant = quant_info(type);
    Random random(uint32_t(type) + 1);
    for (int64_t stored : {1, 3, 8}) {
        const int64_t k = stored * info.block, blocks = k / kBlock;
        std::vector<std::vector<uint8_t>> data(kPanelRows);
        const void * rows[kPanelRows];
        for (int r = 0; r < kPanelRows; ++r) {
            data[size_t(r)].resize(size_t(stored) * info.bytes);
            info.from_float(random.floats(k).data(), data[size_t(r)].data(), k);
            rows[r] = data[size_t(r)].data();
        }
        const size_t bytes = size_t(blocks) * panel_block_bytes(quant.groups, quant.minimum);
        struct alignas(64) Line {
            uint8_t bytes[64];
        };
        std::vector<Line> expected(bytes / 64), actual(bytes / 64);
        std::memset(static_cast<void *>(actual.data()), 0xee, bytes);
        quant_kernels_portable().pack[quant.index](rows, 0, blocks, expected[0].bytes);
        quant_kernels().pack[quant.index](rows, 0, blocks, actual[0].bytes);
        require(std::memcmp(expected.data(), actual.data(), bytes) == 0, "%s opens panels of %s differently",
                quant_kernels().name, info.name);
    }
    passed("%s opens panels of %s bit-identically", quant_kernels().name, info.name);
}

} // namespace

void check_quant_kernels() {
    for (cpu::Isa isa : levels()) {
        require(cpu::set_isa_cap(isa), "cannot use level %s", cpu::isa_name(isa));
        check_quantize();
#define GGML_CHECK_PACK(name) check_pack(GGML_TYPE_##name);
        GGML_FOR_EACH_QUANT(GGML_CHECK_PACK)
#undef GGML_CHECK_PACK
    }
    cpu::set_isa_cap(cpu::Isa::all);
}

} // namespace ggml::cross
