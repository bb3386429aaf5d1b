// Which of several formats each layer gets, so that the file is small and its weights are near the original.
#pragma once

#include "quantize/selection.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sd {

// One of them is above 0.
struct Budget {
    uint64_t target_size = 0; // bytes the file may have
    double max_error = 0;     // see Choice::error
};

// What was chosen, for the report.
struct Choice {
    Budget budget;
    uint64_t smallest = 0; // bytes of the file with the smallest candidates everywhere
    // Root of the mean of squared relative errors of layers with a choice, weighed by their numbers of
    // weights.
    double error = 0;
    // Of these layers, those that stay too.
    struct Layer {
        std::string name;
        std::vector<Candidate> candidates;
        size_t chosen;
    };
    std::vector<Layer> layers;
};

// Sizes of the candidates, which are there before they are measured.
void set_candidate_bytes(std::vector<ChosenLayer> & layers);

// Gives layers with measured candidates one of them; those that stay move to selection.kept. Every layer
// begins with its smallest candidate; then, again and again, the step to a larger one that takes away most
// error for its bytes is made, as long as the budget lasts or until the error is small enough. Steps that
// took away least are taken back where the error allows it. size_of tells the bytes of the file for a
// selection. Throws Error for a size that cannot be reached, and a budget that asks for no quantizing at all.
Choice choose_formats(Selection & selection, const Budget & budget,
                      const std::function<uint64_t(const Selection &)> & size_of);

} // namespace sd
