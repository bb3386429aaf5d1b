// The two layouts of torch.save: where each has its pickle and its storages.
#pragma once

#include "base/file.h"
#include "checkpoint/pytorch/heap.h"
#include "checkpoint/pytorch/tensors.h"

namespace sd::pytorch {

struct Contents {
    Heap heap;
    Value root;       // what was saved
    FindStorage find; // valid on its own
};

// Since torch 1.6: a zip archive with FOLDER/data.pkl and one entry FOLDER/data/KEY per storage.
Contents read_zip(const File & file);

// Before: five pickles (a magic number, the format's version, facts about the machine, what was saved, the
// keys of the storages), then each storage as a count of elements and the elements.
Contents read_legacy(const File & file);

} // namespace sd::pytorch
