#include "api/context_files.h"

#include "base/error.h"

#include <filesystem>

namespace sd {
namespace {

namespace fs = std::filesystem;

fs::path path_of(const std::string & utf8) { return fs::path(std::u8string(utf8.begin(), utf8.end())); }

std::string text_of_path(const fs::path & path) {
    const std::u8string utf8 = path.u8string();
    return std::string(utf8.begin(), utf8.end());
}

} // namespace

std::vector<std::string> vocabulary_files(const std::vector<std::string> & models,
                                          const std::string & given) {
    std::vector<fs::path> folders;
    std::vector<std::string> out;
    std::error_code ignored;
    if (given.empty()) {
        for (const std::string & model : models) folders.push_back(path_of(model).parent_path());
    } else if (fs::is_directory(path_of(given), ignored)) {
        folders.push_back(path_of(given));
    } else {
        out.push_back(given);
        std::string merges = text_of_path(path_of(given).filename());
        if (const size_t at = merges.find("vocab"); at != std::string::npos) {
            merges.replace(at, 5, "merges");
            out.push_back(
                text_of_path((path_of(given).parent_path() / path_of(merges)).replace_extension(".txt")));
        }
    }
    for (const fs::path & folder : folders) {
        for (const char * name :
             {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer-vocab.json", "tokenizer-merges.txt"})
            out.push_back(text_of_path(folder / name));
    }
    return out;
}

void check_outputs(const ReadFiles & files, const Request & request) {
    ReadFiles own;
    for (const AdapterUse & adapter : request.adapters) own.add(adapter.path);
    for (const std::string & output : {request.dump, request.explain}) {
        files.refuse(output);
        own.refuse(output);
    }
    if (request.dump.empty() || request.explain.empty() || !same_output(request.dump, request.explain))
        return;
    throw Error({"E_ARGUMENT",
                 request.explain,
                 {},
                 "is to hold the tensors and the explanation",
                 "choose another output"});
}

} // namespace sd
