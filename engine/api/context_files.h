// The files a context reads, and what must not be written over them.
#pragma once

#include "base/read_files.h"
#include "pipeline/request.h"

#include <string>
#include <vector>

namespace sd {

// All that find_vocabulary may take for one of the models; it is asked when a text encoder is loaded, and by
// then somebody may have named them as outputs.
std::vector<std::string> vocabulary_files(const std::vector<std::string> & models, const std::string & given);

// Throws Error when the request would write over a file of the context or of its own, or one result over
// another.
void check_outputs(const ReadFiles & files, const Request & request);

} // namespace sd
