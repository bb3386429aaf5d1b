#include "api/boundary.h"

#include "stable-diffusion.h"

#include <cstdlib>
#include <cstring>

namespace sd {
namespace {

struct LastError {
    std::string code, line;
};

LastError & last_error() {
    static thread_local LastError error;
    return error;
}

} // namespace

void set_last_error(const std::string & code, const std::string & line) {
    // Out of memory while telling of it: what fits stays.
    try {
        last_error().code = code;
        last_error().line = line;
    } catch (const std::bad_alloc &) {
    }
}

void set_last_error(const Error & error) { set_last_error(error.parts().code, error.what()); }

void clear_last_error() {
    last_error().code.clear();
    last_error().line.clear();
}

char * new_text(const std::string & text) {
    auto * copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

} // namespace sd

extern "C" const char * sd_last_error(void) { return sd::last_error().line.c_str(); }
extern "C" const char * sd_last_error_code(void) { return sd::last_error().code.c_str(); }
extern "C" void sd_free_text(char * text) { std::free(text); }
extern "C" const char * sd_version(void) { return SD_VERSION; }
