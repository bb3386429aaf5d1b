#include "apps/cli/file_key.h"

#include <filesystem>
#include <sys/stat.h>

namespace cli {
namespace {

namespace fs = std::filesystem;

// Follows links that lead to nothing, too, and folders that do not exist yet and back out of them.
fs::path real_place(const std::string & path) {
    constexpr int kMostLinks = 40;
    std::error_code problem;
    fs::path place = fs::absolute(fs::path(std::u8string(path.begin(), path.end())), problem);
    for (int i = 0; i < kMostLinks; ++i) {
        fs::path next = fs::weakly_canonical(place, problem);
        if (problem) return place.lexically_normal();
        if (fs::is_symlink(next, problem)) next = next.parent_path() / fs::read_symlink(next, problem);
        if (next == place) break;
        place = std::move(next);
    }
    return place;
}

} // namespace

std::string file_key(const std::string & path) {
    const std::string place = real_place(path).string();
    struct stat info = {};
    for (const std::string & name : {path, place}) {
        if (::stat(name.c_str(), &info) != 0) continue;
        return S_ISREG(info.st_mode) ? std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) : "";
    }
    return place;
}

bool same_file(const std::string & a, const std::string & b) {
    const std::string key = file_key(a);
    return !key.empty() && key == file_key(b);
}

} // namespace cli
