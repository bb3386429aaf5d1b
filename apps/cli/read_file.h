// Whole files, of bounded length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// False with "FILE: cause" in `error`, also when there are more than `most` bytes.
bool read_file(const std::string & path, size_t most, std::vector<uint8_t> & bytes, std::string & error);

// A prompt: at most 4 MiB of valid UTF-8 without zero bytes, nothing taken off.
bool read_prompt(const std::string & path, std::string & prompt, std::string & error);

// The same test for a prompt that came otherwise; `where` begins the error.
bool check_prompt(const std::string & where, const std::string & prompt, std::string & error);

} // namespace cli
