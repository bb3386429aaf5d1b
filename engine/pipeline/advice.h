// What a model's file advises for pictures made with it: pairs generation.* of its metadata, which anybody
// can have written. What is no sensible value is not taken, and said.
#pragma once

#include "checkpoint/container.h"

#include <optional>
#include <string>

namespace sd {

struct Advice {
    std::optional<int> width, height, steps;
    std::optional<float> cfg_scale, flow_shift;
    std::string sampler, scheduler; // names there are; empty: no advice
    bool by_name = false;           // steps and cfg_scale are those of a turbo model, by the file's name
};

// path: the file's, for its name and for messages. A model whose file advises neither steps nor guidance and
// says "turbo" in its name or title is taken for one that was distilled to few steps without guidance.
Advice advice_of(const Container & container, const std::string & path);

} // namespace sd
