#include "checkpoint/safetensors/header.h"

#include "base/error.h"
#include "checkpoint/limits.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/json_stream.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sd {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

[[noreturn]] void fail(const std::string & tensor, std::string cause, std::string advice = {}) {
    throw Error({"E_CONTAINER", {}, tensor, std::move(cause), std::move(advice)});
}

// One entry while it is read.
struct Entry {
    std::string dtype;
    std::vector<int64_t> shape;
    std::vector<uint64_t> offsets;
    bool has_dtype = false, has_shape = false, has_offsets = false;
};

TensorInfo tensor_of(const std::string & name, Entry & entry) {
    if (!entry.has_dtype) fail(name, "has no dtype");
    if (!entry.has_shape) fail(name, "has no shape");
    if (!entry.has_offsets) fail(name, "has no data_offsets");
    TensorInfo info = {};
    info.name = name;
    info.type = safetensors_dtype(entry.dtype, name);
    if (entry.offsets.size() != 2) fail(name, "its data_offsets are not two numbers, begin and end");
    const uint64_t begin = entry.offsets[0], end = entry.offsets[1];
    if (begin > end) {
        fail(name, "its data_offsets begin at " + std::to_string(begin) + " and end before, at " +
                       std::to_string(end));
    }
    const std::string what = std::string(type_name(info.type)) + " " + shape_text(entry.shape);
    const std::optional<uint64_t> bytes = tensor_bytes(info.type, entry.shape);
    if (!bytes) fail(name, what + " is larger than any file");
    if (*bytes != end - begin) {
        fail(name, "has " + std::to_string(end - begin) + " bytes, but " + what + " takes " +
                       std::to_string(*bytes));
    }
    info.shape = std::move(entry.shape);
    info.offset = begin;
    info.bytes = *bytes;
    return info;
}

class HeaderHandler : public JsonHandler {
  public:
    explicit HeaderHandler(SafetensorsHeader & header) : header_(header) {}

    void begin_object() override {
        switch (place_) {
        case Place::start: place_ = Place::top; return;
        case Place::top: begin_entry(); return;
        case Place::skipped: ++skipped_; return;
        default: unexpected("an object");
        }
    }

    void end_object() override {
        switch (place_) {
        case Place::tensor: header_.tensors.push_back(tensor_of(name_, entry_)); [[fallthrough]];
        case Place::metadata: place_ = Place::top; return;
        case Place::skipped: end_skipped(); return;
        default: return; // the end
        }
    }

    void begin_array() override {
        if (place_ == Place::skipped) {
            ++skipped_;
        } else if (place_ == Place::tensor && (field_ == "shape" || field_ == "data_offsets")) {
            place_ = field_ == "shape" ? Place::shape : Place::offsets;
        } else {
            unexpected("a list");
        }
    }

    void end_array() override {
        if (place_ == Place::skipped) {
            end_skipped();
        } else {
            place_ = Place::tensor;
        }
    }

    void key(std::string & name) override {
        switch (place_) {
        case Place::top: name_ = std::move(name); return;
        case Place::metadata: field_ = std::move(name); return;
        case Place::tensor: begin_field(name); return;
        default: return; // of a value that is skipped
        }
    }

    void scalar(JsonScalar & value) override {
        switch (place_) {
        case Place::metadata: add_metadata(value); return;
        case Place::shape: add_dimension(value); return;
        case Place::offsets: add_offset(value); return;
        case Place::skipped:
            if (skipped_ == 0) place_ = Place::tensor;
            return;
        case Place::tensor:
            if (field_ != "dtype" || value.kind != JsonScalar::string) unexpected(value.text);
            entry_.dtype = std::move(value.text);
            return;
        default: unexpected(value.text);
        }
    }

  private:
    enum class Place { start, top, metadata, tensor, shape, offsets, skipped };

    [[noreturn]] void unexpected(const std::string & found) const {
        switch (place_) {
        case Place::start: fail({}, "its header is not a JSON object");
        case Place::top:
            if (name_ == kMetadata) fail({}, "__metadata__ is not an object of strings");
            fail(name_, "its entry in the header is not an object");
        case Place::metadata:
            fail({}, "__metadata__: the value of " + in_quotes(field_) + " is not a string");
        case Place::tensor: fail(name_, "its " + field_ + " cannot be " + printable(found, 40));
        default: fail(name_, "its " + field_ + " cannot contain " + printable(found, 40));
        }
    }

    void begin_entry() {
        if (name_ == kMetadata) {
            if (has_metadata_) fail({}, "__metadata__ appears twice in the header");
            has_metadata_ = true;
            place_ = Place::metadata;
            return;
        }
        check_tensor_name(name_);
        if (header_.tensors.size() == kMostEntries) {
            fail({}, "has more than " + std::to_string(kMostEntries) + " tensors");
        }
        entry_ = {};
        place_ = Place::tensor;
    }

    void begin_field(std::string & name) {
        field_ = std::move(name);
        bool * seen = field_ == "dtype"          ? &entry_.has_dtype
                      : field_ == "shape"        ? &entry_.has_shape
                      : field_ == "data_offsets" ? &entry_.has_offsets
                                                 : nullptr;
        if (seen == nullptr) {
            if (unknown_fields_++ == 0) {
                header_.warnings.push_back("tensor " + printable(name_) + ": " + in_quotes(field_) +
                                           " in the header is unknown and has no effect");
            }
            place_ = Place::skipped;
            skipped_ = 0;
            return;
        }
        if (*seen) fail(name_, "its " + field_ + " appears twice");
        *seen = true;
    }

    void end_skipped() {
        if (--skipped_ == 0) place_ = Place::tensor;
    }

    void add_metadata(JsonScalar & value) {
        if (value.kind != JsonScalar::string) unexpected(value.text);
        if (header_.metadata.size() == kMostEntries) {
            fail({}, "__metadata__ has more than " + std::to_string(kMostEntries) + " entries");
        }
        if (!header_.metadata.try_emplace(field_, std::move(value.text)).second) {
            fail({}, "__metadata__: " + in_quotes(field_) + " appears twice");
        }
    }

    void add_dimension(const JsonScalar & value) {
        constexpr uint64_t kMost = uint64_t(std::numeric_limits<int64_t>::max());
        if (value.kind != JsonScalar::whole || value.number > kMost) unexpected(value.text);
        if (entry_.shape.size() == size_t(kMaxRank)) {
            fail(name_, "has more than " + std::to_string(kMaxRank) + " dimensions");
        }
        entry_.shape.push_back(int64_t(value.number));
    }

    void add_offset(const JsonScalar & value) {
        if (value.kind != JsonScalar::whole) unexpected(value.text);
        if (entry_.offsets.size() == 2) fail(name_, "its data_offsets are not two numbers, begin and end");
        entry_.offsets.push_back(value.number);
    }

    SafetensorsHeader & header_;
    Place place_ = Place::start;
    std::string name_;  // key of the entry
    std::string field_; // key inside it
    Entry entry_;
    bool has_metadata_ = false;
    size_t skipped_ = 0; // open brackets of a value that is skipped
    size_t unknown_fields_ = 0;
};

void check_unique(const std::vector<TensorInfo> & tensors) {
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return tensors[a].name < tensors[b].name; });
    const auto same = [&](size_t a, size_t b) { return tensors[a].name == tensors[b].name; };
    const auto twice = std::adjacent_find(order.begin(), order.end(), same);
    if (twice != order.end()) fail(tensors[*twice].name, "appears twice in the header");
}

} // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json) {
    SafetensorsHeader header;
    HeaderHandler handler(header);
    parse_json(json, "its header", handler);
    check_unique(header.tensors);
    return header;
}

} // namespace sd
