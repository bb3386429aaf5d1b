#include "base/read_files.h"

#include "base/error.h"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>

namespace sd {
namespace {

thread_local ReadFiles * recorded = nullptr;

bool identity_of(const std::string & path, std::pair<unsigned long long, unsigned long long> & identity) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    identity = {info.st_dev, info.st_ino};
    return true;
}

} // namespace

ReadFiles::Recording::Recording(ReadFiles & files) { recorded = &files; }
ReadFiles::Recording::~Recording() { recorded = nullptr; }

void ReadFiles::add(const std::string & path) {
    std::pair<unsigned long long, unsigned long long> identity;
    if (!identity_of(path, identity)) return;
    if (std::find(paths_.begin(), paths_.end(), path) != paths_.end()) return;
    paths_.push_back(path);
    identities_.push_back(identity);
}

bool ReadFiles::has(const std::string & path) const {
    std::pair<unsigned long long, unsigned long long> identity;
    return identity_of(path, identity) &&
           std::find(identities_.begin(), identities_.end(), identity) != identities_.end();
}

void ReadFiles::refuse(const std::string & output) const {
    if (!has(output)) return;
    throw Error({"E_ARGUMENT", output, {}, "is the file that is read", "choose another output"});
}

void note_opened(const std::string & path) {
    if (recorded != nullptr) recorded->add(path);
}

bool same_output(const std::string & a, const std::string & b) {
    namespace fs = std::filesystem;
    std::error_code problem;
    if (fs::exists(a, problem) && !fs::is_regular_file(a, problem)) return false;
    if (fs::equivalent(a, b, problem) && !problem) return true;
    const auto place = [](const std::string & path) {
        std::error_code unknown;
        // Of a relative path nothing of which exists, weakly_canonical makes no absolute one.
        const fs::path whole = fs::absolute(path, unknown);
        const fs::path real = fs::weakly_canonical(whole, unknown);
        return unknown ? whole.lexically_normal() : real;
    };
    return place(a) == place(b);
}

} // namespace sd
