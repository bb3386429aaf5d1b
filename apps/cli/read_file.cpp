#include "apps/cli/read_file.h"

#include "apps/cli/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

namespace cli {
namespace {

constexpr size_t kMostPrompt = size_t(4) << 20, kPiece = size_t(1) << 20;

std::string mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

} // namespace

bool read_file(const std::string & path, size_t most, std::vector<uint8_t> & bytes, std::string & error) {
    bytes.clear();
    const auto fail = [&](const std::string & cause) {
        error = path + ": " + cause;
        return false;
    };
    // A pipe nobody writes to would be waited for, and a device need not end.
    std::error_code problem;
    const std::filesystem::path place(std::u8string(path.begin(), path.end()));
    if (std::filesystem::is_directory(place, problem)) return fail("is a folder (name a file in it)");
    if (std::filesystem::exists(place, problem) && !std::filesystem::is_regular_file(place, problem))
        return fail("is not a regular file");
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (file == nullptr) return fail(std::string("cannot be read: ") + std::strerror(errno));
    try {
        // By pieces: pipes have no length, and a length can be a lie.
        for (size_t got = 1; got > 0;) {
            const size_t at = bytes.size();
            bytes.resize(at + kPiece);
            got = std::fread(bytes.data() + at, 1, kPiece, file.get());
            bytes.resize(at + got);
            if (bytes.size() > most) return fail("is larger than " + mebibytes(most));
        }
    } catch (const std::bad_alloc &) {
        return fail("not enough memory");
    }
    if (std::ferror(file.get()) != 0) return fail(std::string("cannot be read: ") + std::strerror(errno));
    return true;
}

bool check_prompt(const std::string & where, const std::string & prompt, std::string & error) {
    if (prompt.find('\0') != std::string::npos) {
        error = where + ": a prompt cannot hold a zero byte";
        return false;
    }
    const size_t bad = invalid_utf8(prompt);
    if (bad == std::string::npos) return true;
    error = where + ": is not valid UTF-8 at byte " + std::to_string(bad);
    return false;
}

bool read_prompt(const std::string & path, std::string & prompt, std::string & error) {
    std::vector<uint8_t> bytes;
    if (!read_file(path, kMostPrompt, bytes, error)) return false;
    prompt.assign(bytes.begin(), bytes.end());
    return check_prompt(path, prompt, error);
}

} // namespace cli
