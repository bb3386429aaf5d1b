#include "apps/cli/prompt_list.h"

#include "apps/cli/read_file.h"

#include <algorithm>

namespace cli {
namespace {

constexpr size_t kMostPrompts = 1000;

} // namespace

bool read_prompts(const std::string & path, std::vector<std::string> & prompts, std::string & error) {
    std::string text;
    if (!read_prompt(path, text, error)) return false;
    prompts.clear();
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf"; // which some editors write
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        constexpr const char * kBlanks = " \t\r";
        const size_t first = line.find_first_not_of(kBlanks);
        if (first == std::string::npos) continue;
        prompts.push_back(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
    }
    if (prompts.empty()) error = path + ": holds no prompt";
    if (prompts.size() > kMostPrompts)
        error = path + ": has more than " + std::to_string(kMostPrompts) + " prompts";
    return error.empty();
}

} // namespace cli
