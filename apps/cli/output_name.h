// Names for the pictures of a batch.
#pragma once

#include <string>

namespace cli {

// pattern: a path; %d or %03d in it stands for the picture's number, %% for a percent sign. Without one, a
// single picture has the path itself and several have "_<number>" before the ending. Names that do not end as
// a picture's get ".png". begin: the first number; below 0: 0.
std::string output_name(const std::string & pattern, int index, int count, int begin);

} // namespace cli
