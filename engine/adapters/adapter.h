// Adapter files: LoRA, LoHa, LoKr and differences, as changes to the models at hand.
#pragma once

#include "adapters/change.h"
#include "adapters/targets.h"

#include <array>
#include <string>
#include <vector>

namespace sd {

struct Adapter {
    std::array<ModelChanges, kAdapterParts> changes; // without the strength
    size_t keys = 0;                                 // tensors of the file
    std::vector<std::string> unmatched;              // those that change nothing of these models
};

// Throws Error: a file that cannot be read, is of another model (nothing matches), holds a kind of adapter
// that is not run here, or is wrong in any other way (entry.h).
Adapter read_adapter(const std::string & path, const AdapterTargets & targets);

// An adapter file and how strong it is.
struct AdapterUse {
    std::string path;
    float strength;
};

// What became of a file.
struct AdapterNote {
    AdapterUse use;
    size_t changed = 0; // tensors of the models
    size_t keys = 0;    // tensors of the file
    std::vector<std::string> unmatched;
};

// The changes of all; files whose strength is 0 are checked and change nothing. Says for each what became of
// it, and adds that to `notes`, if there are any.
std::array<ModelChanges, kAdapterParts> read_adapters(const std::vector<AdapterUse> & uses,
                                                      const AdapterTargets & targets,
                                                      std::vector<AdapterNote> * notes = nullptr);

// Files that are there twice get the sum of their strengths. Sorted by path.
std::vector<AdapterUse> combined(std::vector<AdapterUse> uses);

// Changes whenever one of the files or strengths does. Throws Error for files that are not there.
std::string fingerprint(const std::vector<AdapterUse> & uses);

} // namespace sd
