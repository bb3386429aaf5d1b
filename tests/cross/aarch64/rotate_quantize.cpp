// Rotation and quantization of activation rows on NEON: the codes and scales of the plain C++ code, bit for
// bit.
#include "engine/kernels/cpu/rotate_quantize.h"
#include "tests/cross/aarch64/check.h"

#include <cmath>
#include <cstring>

namespace ggml::cross {
namespace {

void check_row(std::vector<float> x, int group, const char * kind) {
    const int64_t k = int64_t(x.size());
    std::vector<float> scratch(x.size());
    std::vector<int8_t> codes(x.size(), 1), want_codes(x.size(), 2);
    float scale = 1, want_scale = 2;
    sd::rotate_quantize_scalar({x.data(), k, group, want_codes.data(), &want_scale, scratch.data()});
    sd::rotate_quantize_simd({x.data(), k, group, codes.data(), &scale, scratch.data()});
    require(std::memcmp(&scale, &want_scale, sizeof(scale)) == 0,
            "%s row of %lld, group %d: scale %a, expected %a", kind, (long long)k, group, scale, want_scale);
    require(codes == want_codes, "%s row of %lld, group %d: other codes", kind, (long long)k, group);
}

} // namespace

void check_rotate_quantize() {
    Random random(3);
    for (const int group : {1, 4, 16, 64, 256, 1024, 4096}) {
        for (const int64_t groups : {1, 2, 3, 5, 7, 13}) {
            std::vector<float> x = random.floats(group * groups, -50, 50);
            check_row(x, group, "plain");
            x.back() = NAN;
            check_row(x, group, "not finite");
            for (float & v : x) v = 0x1p-140f;
            check_row(x, group, "subnormal");
        }
        passed("rotation in groups of %d", group);
    }
}

} // namespace ggml::cross
