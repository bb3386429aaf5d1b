#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

ggml_tensor * interpolate(ggml_context * ctx, const char * name, ggml_tensor * a, const Extents & ne,
                          uint32_t mode) {
    const uint32_t kernel = mode & 0xff;
    const uint32_t flags = GGML_SCALE_FLAG_ALIGN_CORNERS | GGML_SCALE_FLAG_ANTIALIAS;
    GGML_SHAPE_CHECK(kernel < GGML_SCALE_MODE_COUNT && (mode & ~(0xffu | flags)) == 0, name,
                     "there is no such mode", a);
    GGML_SHAPE_CHECK(!(mode & GGML_SCALE_FLAG_ANTIALIAS) || kernel == GGML_SCALE_MODE_BILINEAR, name,
                     "only bilinear has an antialiasing kernel", a);
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32, name, "a is not f32", a);
    GGML_SHAPE_CHECK(!ggml_is_empty(a) || count_of(ne) == 0, name, "there is nothing to interpolate", a);
    ggml_tensor * result = new_result(ctx, name, a->type, ne, {a});
    set_params(result, UpscaleParams{int32_t(mode)});
    return as_node(result, GGML_OP_UPSCALE, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_upscale(ggml_context * ctx, ggml_tensor * a, int scale_factor, ggml_scale_mode mode) {
    GGML_SHAPE_CHECK(scale_factor > 1, "ggml_upscale", "the factor is below 2", a);
    const ggml::Extents ne = {ggml::Extent(a->ne[0]) * scale_factor, ggml::Extent(a->ne[1]) * scale_factor,
                              a->ne[2], a->ne[3]};
    return ggml::interpolate(ctx, "ggml_upscale", a, ne, mode);
}

ggml_tensor * ggml_upscale_ext(ggml_context * ctx, ggml_tensor * a, int ne0, int ne1, int ne2, int ne3,
                               ggml_scale_mode mode) {
    return ggml::interpolate(ctx, "ggml_upscale_ext", a, {ne0, ne1, ne2, ne3}, mode);
}

ggml_tensor * ggml_interpolate(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                               int64_t ne3, uint32_t mode) {
    return ggml::interpolate(ctx, "ggml_interpolate", a, {ne0, ne1, ne2, ne3}, mode);
}
