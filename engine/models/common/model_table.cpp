#include "models/common/model_table.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace sd {
namespace {

// A checkpoint has a few hundred blocks at most; beyond, names are made up.
constexpr int kMostBlocks = 4096;

std::vector<int64_t> without_ones(const std::vector<int64_t> & shape) {
    std::vector<int64_t> rest;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest), [](int64_t d) { return d != 1; });
    return rest;
}

int64_t product(const std::vector<int64_t> & shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
}

bool fits(const ExpectedTensor & e, const std::vector<int64_t> & found) {
    std::vector<int64_t> expected = e.shape;
    const std::vector<int64_t> rest = without_ones(found);
    if (without_ones(expected) == rest || (e.flat && product(expected) == product(found))) return true;
    if (expected.size() < 5) return false;
    expected[1] *= expected[0];
    expected.erase(expected.begin());
    return without_ones(expected) == rest;
}

} // namespace

ModelTable::ModelTable(const Checkpoint & checkpoint, const QuantModules & quants, std::string_view prefix,
                       CanonicalName canonical)
    : checkpoint_(&checkpoint) {
    const std::set<const TensorInfo *> companions(quants.consumed.begin(), quants.consumed.end());
    std::map<const TensorInfo *, const QuantModule *> quantized;
    for (const QuantModule & module : quants.modules) quantized[module.weight] = &module;

    for (const TensorInfo & info : checkpoint.tensors()) {
        if (!info.name.starts_with(prefix) || companions.count(&info) != 0) continue;
        // Without a prefix, what was given as another part is not meant.
        const Component given = checkpoint.files()[size_t(info.file)].component;
        if (prefix.empty() && given != Component::model) continue;
        ModelTensor tensor = {&info, nullptr, info.shape};
        if (const auto found = quantized.find(&info); found != quantized.end()) {
            tensor.quant = found->second;
            if (tensor.quant->use != QuantUse::convolution) tensor.shape = {tensor.quant->n, tensor.quant->k};
        }
        const std::string name = canonical(std::string_view(info.name).substr(prefix.size()));
        const auto [at, added] = tensors_.emplace(name, tensor);
        if (added) continue;
        throw error(tensor, "is the same part of the model as tensor " +
                                printable(checkpoint.stored_name(*at->second.info)));
    }
}

const std::string & ModelTable::path() const {
    std::map<int, size_t> counts;
    for (const auto & [name, tensor] : tensors_) ++counts[tensor.info->file];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto & a, const auto & b) { return a.second < b.second; });
    return checkpoint_->files()[most != counts.end() ? size_t(most->first) : 0].file.path();
}

const ModelTensor * ModelTable::find(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found != tensors_.end() ? &found->second : nullptr;
}

const ModelTensor & ModelTable::get(std::string_view name) const {
    if (const ModelTensor * tensor = find(name)) return *tensor;
    throw Error({"E_TENSOR_MISSING", path(), std::string(name), "is missing", {}});
}

int64_t ModelTable::size(std::string_view name, int rank, int dimension) const {
    const ModelTensor & tensor = get(name);
    std::vector<int64_t> shape = tensor.shape;
    while (int(shape.size()) > rank && shape.front() == 1) shape.erase(shape.begin());
    while (int(shape.size()) < rank) shape.insert(shape.begin(), 1);
    if (int(shape.size()) == rank && shape[size_t(dimension)] > 0) return shape[size_t(dimension)];
    throw error(tensor, "has the shape " + shape_text(tensor.shape) + ", but " + std::to_string(rank) +
                            " dimensions are expected, none of them 0");
}

int64_t ModelTable::elements(std::string_view name) const { return product(get(name).shape); }

int ModelTable::count_blocks(std::string_view before) const {
    std::set<int> numbers;
    for (auto at = tensors_.lower_bound(before); at != tensors_.end() && at->first.starts_with(before);
         ++at) {
        const std::string_view rest = std::string_view(at->first).substr(before.size());
        int number = -1;
        const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        const bool whole = problem == std::errc() && end != rest.data() + rest.size() && *end == '.';
        if (whole && number >= 0 && number < kMostBlocks) numbers.insert(number);
    }
    if (numbers.empty()) return 0;
    const int count = *numbers.rbegin() + 1;
    for (int i = 0; i < count; ++i) {
        if (numbers.count(i) != 0) continue;
        throw Error({"E_TENSOR_MISSING",
                     path(),
                     {},
                     "block " + std::string(before) + std::to_string(i) + " of " + std::to_string(count) +
                         " is missing",
                     {}});
    }
    return count;
}

Error ModelTable::error(const ModelTensor & tensor, std::string cause, std::string advice) const {
    return checkpoint_->error(*tensor.info, "E_TENSOR_SHAPE", std::move(cause), std::move(advice));
}

TableCheck check_table(const ModelTable & table, const std::vector<ExpectedTensor> & expected) {
    TableCheck check;
    std::set<std::string_view> used;
    for (const ExpectedTensor & e : expected) {
        const ModelTensor * tensor = table.find(e.name);
        if (tensor == nullptr) {
            if (!e.optional) check.missing.push_back(e.name);
            continue;
        }
        used.insert(e.name);
        if (!fits(e, tensor->shape)) {
            throw table.error(*tensor, "has the shape " + shape_text(tensor->shape) + ", but " +
                                           shape_text(e.shape) + " is expected");
        }
    }
    for (const auto & [name, tensor] : table.tensors()) {
        if (used.count(name) == 0) check.unused.push_back(name);
    }
    return check;
}

void require_complete(const ModelTable & table, const TableCheck & check, std::string_view model) {
    if (check.missing.empty()) return;
    constexpr size_t kNamed = 3;
    std::string names;
    for (size_t i = 0; i < std::min(kNamed, check.missing.size()); ++i) {
        names += (i > 0 ? ", " : "") + check.missing[i];
    }
    if (check.missing.size() > kNamed) names += ", ...";
    throw Error({"E_TENSOR_MISSING",
                 table.path(),
                 {},
                 std::to_string(check.missing.size()) + " tensors of a " + std::string(model) +
                     " are missing: " + names,
                 "the file is incomplete or holds another model"});
}

} // namespace sd
