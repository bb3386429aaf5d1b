// Adapters that become part of the weights before these are quantized: W + strength * difference, float32,
// rounded to nothing before the layer's own format. What is not quantized is rounded once to the type it has.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "quantize/plan.h"
#include "quantize/selection.h"

#include <map>
#include <vector>

namespace sd {

class MergedAdapters {
  public:
    // None where `uses` is empty. Throws Error: what read_adapters does; files without a model whose names
    // adapters are known to use; a tensor that is quantized already, whether or not it would be quantized
    // here; a difference of a bias that is not there.
    MergedAdapters(const Checkpoint & checkpoint, const QuantModules & quants,
                   const std::vector<AdapterUse> & uses);
    // Layers and plans point into it.
    MergedAdapters(const MergedAdapters &) = delete;
    MergedAdapters & operator=(const MergedAdapters &) = delete;

    // Tells layers their changes. What cannot hold a sum is no longer among the candidates of one.
    void attach(Selection & selection) const;
    // The same for copies; an Error for one whose type cannot hold a sum.
    void attach(const Checkpoint & checkpoint, QuantizePlan & plan) const;

    const std::vector<AdapterNote> & notes() const { return notes_; }

  private:
    void take(const ModelTable & table, AdapterPart part);
    const std::vector<Change> * of(const TensorInfo * tensor) const;

    std::array<ModelChanges, kAdapterParts> changes_;
    std::map<const TensorInfo *, const std::vector<Change> *> by_tensor_;
    std::vector<AdapterNote> notes_;
};

} // namespace sd
