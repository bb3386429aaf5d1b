// The tensors of one model of a checkpoint under the names its code uses, whatever naming and prefix the file
// has. Quantized modules appear as their weight, with logical sizes; their scales and markers do not appear.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

// From a name of the file, without prefix, to the model's own; unknown names come back as they are.
using CanonicalName = std::string (*)(std::string_view name);

// What a model needs: a name and a shape in PyTorch order.
struct ExpectedTensor {
    std::string name;
    std::vector<int64_t> shape;
    bool optional = false; // parts that not all files have and this program can do without
    bool flat = false;     // any shape of as many elements will do
};

struct ModelTensor {
    const TensorInfo * info;
    const QuantModule * quant;  // NULL: an ordinary tensor
    std::vector<int64_t> shape; // [N, K] of a packed weight; otherwise the stored one
};

class ModelTable {
  public:
    // All tensors whose name starts with `prefix`. Two that get the same name are an Error.
    ModelTable(const Checkpoint & checkpoint, const QuantModules & quants, std::string_view prefix,
               CanonicalName canonical);

    const Checkpoint & checkpoint() const { return *checkpoint_; }
    const std::map<std::string, ModelTensor, std::less<>> & tensors() const { return tensors_; }

    const ModelTensor * find(std::string_view name) const;
    const ModelTensor & get(std::string_view name) const; // an Error for a missing one

    // One size of a tensor that must have `rank` dimensions, when those that are 1 at the front are not
    // counted.
    int64_t size(std::string_view name, int rank, int dimension) const;
    // The product of all.
    int64_t elements(std::string_view name) const;

    // One more than the largest <i> of names `<before><i>.…`; 0 when there are none. Numbers must be without
    // gaps: a missing block is an Error.
    int count_blocks(std::string_view before) const;

    // An Error about a tensor of this model.
    Error error(const ModelTensor & tensor, std::string cause, std::string advice = {}) const;

    // The file most of its tensors are in, for messages about the model as a whole.
    const std::string & path() const;

  private:
    const Checkpoint * checkpoint_;
    std::map<std::string, ModelTensor, std::less<>> tensors_;
};

// What does not fit: missing or misshapen tensors, and those nobody expects.
struct TableCheck {
    std::vector<std::string> missing;
    std::vector<std::string> unused;
};

// Tensors that are there with another shape are an Error. Sizes of one do not count, and the first two may be
// merged (GGUF holds four dimensions).
TableCheck check_table(const ModelTable & table, const std::vector<ExpectedTensor> & expected);

// The Error for missing tensors of a model: how many, and the first few.
void require_complete(const ModelTable & table, const TableCheck & check, std::string_view model);

} // namespace sd
