#include "backends/cpu/kernels/rows/row_codec.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

// A whole number of blocks of every type.
constexpr int64_t kPiece = 1024;

bool rows_have_blocks(const ggml_tensor * t) {
    const TypeInfo & info = type_info(t->type);
    return info.block > 0 && t->ne[0] % info.block == 0 && (info.block == 1 || t->nb[0] == info.bytes);
}

} // namespace

bool RowCodec::find(const ggml_tensor * src, const ggml_tensor * dst, RowCodec & codec) {
    if (!rows_have_blocks(src) || !rows_have_blocks(dst)) return false;
    codec.src_ = &type_info(src->type);
    codec.dst_ = &type_info(dst->type);
    codec.src_stride_ = src->nb[0];
    codec.dst_stride_ = dst->nb[0];
    const bool from_blocks = codec.src_->quantized, to_blocks = codec.dst_->quantized;
    if (src->type == dst->type || (!from_blocks && !to_blocks))
        return find_mover(src->type, dst->type, codec.mover_);
    if (from_blocks && to_blocks) return false;
    const ggml_tensor * plain = from_blocks ? dst : src;
    codec.floats_direct_ = plain->type == GGML_TYPE_F32 && plain->nb[0] == sizeof(float);
    if (from_blocks) return codec.src_->to_float && find_mover(GGML_TYPE_F32, dst->type, codec.mover_);
    return codec.dst_->from_float && find_mover(src->type, GGML_TYPE_F32, codec.mover_);
}

void RowCodec::quantize(const char * src, char * dst, int64_t n) const {
    if (floats_direct_) return dst_->from_float(reinterpret_cast<const float *>(src), dst, n);
    float piece[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
        const int64_t m = std::min(kPiece, n - i);
        mover_.move(src + size_t(i) * src_stride_, src_stride_, reinterpret_cast<char *>(piece),
                    sizeof(float), m);
        dst_->from_float(piece, dst + size_t(i / dst_->block) * dst_->bytes, m);
    }
}

void RowCodec::dequantize(const char * src, char * dst, int64_t n) const {
    if (floats_direct_) return src_->to_float(src, reinterpret_cast<float *>(dst), n);
    float piece[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
        const int64_t m = std::min(kPiece, n - i);
        src_->to_float(src + size_t(i / src_->block) * src_->bytes, piece, m);
        mover_.move(reinterpret_cast<const char *>(piece), sizeof(float), dst + size_t(i) * dst_stride_,
                    dst_stride_, m);
    }
}

void RowCodec::convert(const char * src, char * dst, int64_t n) const {
    if (src_ == dst_) {
        mover_.move(src, src_stride_, dst, dst_stride_, n / src_->block);
    } else if (dst_->quantized) {
        quantize(src, dst, n);
    } else if (src_->quantized) {
        dequantize(src, dst, n);
    } else {
        mover_.move(src, src_stride_, dst, dst_stride_, n);
    }
}

} // namespace ggml::cpu
