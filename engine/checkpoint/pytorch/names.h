// Which tensors a pickle holds, under which names: those of the keys that lead to them, joined by dots.
#pragma once

#include "checkpoint/pytorch/heap.h"

#include <string>
#include <vector>

namespace sd::pytorch {

struct NamedTensor {
    std::string name;
    Value tensor; // a call, see tensors.h
};

// Walks dictionaries, lists and tuples from `root` on; list entries are called 0, 1, 2 ... A root that is a
// tensor itself is called "tensor".
//
// Training programs put the weights beside other things. A dictionary that has one of the keys state_dict,
// model_state_dict, params_ema, params, model, module, generator, with more tensors below it than the
// dictionary has directly, stands for the first of these alone, and the key is no part of names. What is left
// out that way is named in `warnings` if it holds tensors. A dictionary that is reached twice is read once.
std::vector<NamedTensor> named_tensors(const Heap & heap, Value root, std::vector<std::string> & warnings);

// "3 objects of class a.b" for the calls that do not rebuild tensors, one warning in all; nothing for none.
void warn_of_objects(const Heap & heap, std::vector<std::string> & warnings);

} // namespace sd::pytorch
