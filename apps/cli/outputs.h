// Which files a generation writes, and whether it may.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/image/contact_sheet.h"
#include "apps/cli/inputs.h"

#include <functional>
#include <string>

namespace cli {

// Whether a path is one of the files that the model is read from, which only the engine knows.
using IsModelFile = std::function<bool(const std::string &)>;

// Of one picture that shows many.
inline constexpr uint64_t kMostSheetBytes = uint64_t(2) << 30;

// Of all prompts; below 2^31, as neither options nor lists are long enough for more.
int picture_count(const Arguments & a, const Inputs & in);
SheetPlan sheet_plan(const Arguments & a, const Inputs & in); // of --grid

// Nothing is written over what is read, and nothing over another result: all pictures, the grid, previews,
// tensors, explanation and trace. Links are followed. False with one line in `error`.
bool check_distinct(const Arguments & a, const Inputs & in, const IsModelFile & is_model_file,
                    std::string & error);

// Before hours of work, whether its results can be kept.
bool check_outputs(const Arguments & a, const Inputs & in, const IsModelFile & is_model_file,
                   std::string & error);

} // namespace cli
