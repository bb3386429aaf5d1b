#include "base/rotation.h"

#include <bit>

namespace sd {
namespace {

// One radix-4 stage over runs of 4 * stride floats: each four that lie `stride` apart times
//   1  1  1 -1
//   1  1 -1  1
//   1 -1  1  1
//  -1  1  1  1
// The sums are shared in this order by every kernel, so that all round alike. The largest of the four results
// is not smaller than any value on the way: nothing overflows that the rotation itself does not.
void radix4_stage(float * y, int64_t k, int64_t stride) {
    for (int64_t run = 0; run < k; run += 4 * stride) {
        for (int64_t i = run; i < run + stride; ++i) {
            float * const p = y + i;
            const float sum01 = p[0] + p[stride], diff01 = p[0] - p[stride];
            const float sum23 = p[2 * stride] + p[3 * stride], diff23 = p[2 * stride] - p[3 * stride];
            p[0] = sum01 + diff23;
            p[stride] = sum01 - diff23;
            p[2 * stride] = sum23 + diff01;
            p[3 * stride] = sum23 - diff01;
        }
    }
}

} // namespace

bool is_rotation_group(int64_t group) {
    if (group < 1 || group > kMaxRotationGroup) return false;
    return std::has_single_bit(uint64_t(group)) && std::countr_zero(uint64_t(group)) % 2 == 0;
}

void rotate_scalar(const float * x, int64_t k, int group, float * y) {
    const float factor = rotation_factor(group);
    for (int64_t i = 0; i < k; ++i) y[i] = x[i] * factor;
    for (int64_t stride = 1; stride < group; stride *= 4) radix4_stage(y, k, stride);
}

} // namespace sd
