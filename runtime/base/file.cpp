#include "ggml.h"

#include <cstdio>

#ifdef _WIN32
#    include <string>
#    define WIN32_LEAN_AND_MEAN
#    include <windows.h>

static std::wstring widen(const char * utf8) {
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, nullptr, 0);
    std::wstring wide(size_t(length > 0 ? length : 0), L'\0');
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, wide.data(), length);
    return wide;
}

// Windows' fopen takes the active code page; paths here are UTF-8 everywhere.
FILE * ggml_fopen(const char * fname, const char * mode) {
    const std::wstring wide_name = widen(fname);
    const std::wstring wide_mode = widen(mode);
    if (wide_name.empty() || wide_mode.empty()) return nullptr;
    return _wfopen(wide_name.c_str(), wide_mode.c_str());
}
#else
FILE * ggml_fopen(const char * fname, const char * mode) { return std::fopen(fname, mode); }
#endif
