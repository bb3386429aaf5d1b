#include "checkpoint/safetensors/layout.h"

#include "base/error.h"

#include <algorithm>

namespace sd {
namespace {

[[noreturn]] void fail(const std::string & tensor, std::string cause, std::string advice) {
    throw Error({"E_CONTAINER", {}, tensor, std::move(cause), std::move(advice)});
}

std::string range_text(const TensorInfo & t) {
    return std::to_string(t.offset) + " to " + std::to_string(t.offset + t.bytes);
}

// Those that have bytes, by place.
std::vector<const TensorInfo *> by_offset(const std::vector<TensorInfo> & tensors) {
    std::vector<const TensorInfo *> order;
    order.reserve(tensors.size());
    for (const TensorInfo & t : tensors) {
        if (t.bytes > 0) order.push_back(&t);
    }
    std::sort(order.begin(), order.end(), [](const TensorInfo * a, const TensorInfo * b) {
        return a->offset != b->offset ? a->offset < b->offset : a->name < b->name;
    });
    return order;
}

// A dense file that ends early was cut; any other file says nonsense about one tensor.
[[noreturn]] void refuse_end(const TensorInfo & last, bool dense, uint64_t data_begin, uint64_t file_bytes) {
    const uint64_t end = last.offset + last.bytes;
    if (dense && end <= UINT64_MAX - data_begin) {
        fail({},
             "is shorter than its header says: " + std::to_string(file_bytes) + " of " +
                 std::to_string(data_begin + end) + " bytes",
             "the download is incomplete: fetch it again");
    }
    fail(last.name,
         "its bytes " + range_text(last) + " lie beyond the end of the data, which has " +
             std::to_string(file_bytes - data_begin),
         "the file is damaged: fetch it again");
}

} // namespace

void place_tensors(std::vector<TensorInfo> & tensors, uint64_t data_begin, uint64_t file_bytes,
                   std::vector<std::string> & warnings) {
    const std::vector<const TensorInfo *> order = by_offset(tensors);
    uint64_t end = 0, gaps = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        const TensorInfo & t = *order[i];
        if (t.offset < end) {
            fail(t.name,
                 "its bytes " + range_text(t) + " overlap those of tensor " + printable(order[i - 1]->name) +
                     ", " + range_text(*order[i - 1]),
                 "the file is damaged, or made to mislead");
        }
        gaps += t.offset - end;
        end = t.offset + t.bytes;
    }
    const uint64_t data = file_bytes - data_begin;
    if (end > data) refuse_end(*order.back(), gaps == 0, data_begin, file_bytes);
    // Tensors without elements have no bytes, but are to point into the data all the same.
    for (const TensorInfo & t : tensors) {
        if (t.bytes == 0 && t.offset > data) refuse_end(t, false, data_begin, file_bytes);
    }
    if (gaps > 0) warnings.push_back(std::to_string(gaps) + " bytes between tensors belong to none");
    if (end < data) {
        warnings.push_back(std::to_string(data - end) + " bytes after the last tensor belong to none");
    }
    for (TensorInfo & t : tensors) t.offset += data_begin;
}

} // namespace sd
