#include "checkpoint/pytorch/heap.h"

#include "base/error.h"
#include "checkpoint/limits.h"

namespace sd::pytorch {
namespace {

// A tensor takes about 32 values and 8 objects, so 100,000 of them have less than half of these.
constexpr uint64_t kMostValues = uint64_t(1) << 23, kMostObjects = uint64_t(1) << 21;

} // namespace

void Heap::charge(uint64_t values, uint64_t bytes) {
    values_ += values;
    if (values_ <= kMostValues && values_ / 2 <= bytes && objects_.size() < kMostObjects) return;
    throw Error({"E_PICKLE_SIZE",
                 {},
                 {},
                 "the pickle builds too much: " + std::to_string(values_) + " values, " +
                     std::to_string(objects_.size()) + " objects from " + std::to_string(bytes) + " bytes",
                 "save only the model's state_dict()"});
}

void Heap::charge_text(uint64_t bytes) {
    text_bytes_ += bytes;
    if (text_bytes_ <= kMostHeaderBytes) return;
    throw Error({"E_PICKLE_SIZE",
                 {},
                 {},
                 "the pickle has more than " + std::to_string(kMostHeaderBytes) + " bytes of text",
                 "save only the model's state_dict()"});
}

Value Heap::make(Kind kind, std::vector<Value> items) {
    objects_.push_back({kind, std::move(items)});
    return {kind, int64_t(objects_.size() - 1)};
}

Value Heap::make_text(Kind kind, std::string_view text) {
    charge_text(text.size());
    ranges_.push_back({texts_.size(), text.size()});
    texts_ += text;
    return {kind, int64_t(ranges_.size() - 1)};
}

Value Heap::make_global(const std::string & name) {
    const auto [found, is_new] = global_numbers_.try_emplace(name, int64_t(globals_.size()));
    if (is_new) {
        charge_text(name.size());
        globals_.push_back(name);
    }
    return {Kind::global, found->second};
}

std::string_view Heap::text(Value v) const {
    const Range range = ranges_[size_t(v.number)];
    return std::string_view(texts_).substr(size_t(range.begin), size_t(range.size));
}

std::string_view Heap::callee(Value call) const {
    const Value function = items(call)[0];
    return function.kind == Kind::global ? std::string_view(name(function)) : std::string_view();
}

const std::vector<Value> & Heap::arguments(Value call) const {
    static const std::vector<Value> none;
    const Value args = items(call)[1];
    return args.kind == Kind::tuple ? items(args) : none;
}

} // namespace sd::pytorch
