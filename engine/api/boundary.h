// Where exceptions end: runs a piece of the engine for a C function and keeps what went wrong for
// sd_last_error.
#pragma once

#include "base/error.h"

#include <new>
#include <string>
#include <utility>

namespace sd {

// This thread's last error. Both are "" when the last call went well.
void set_last_error(const std::string & code, const std::string & line);
void set_last_error(const Error & error);
void clear_last_error();

// The result of `work`, or `failed` with the reason kept.
template <class T, class Work>
T at_boundary(T failed, Work && work) {
    clear_last_error();
    try {
        return std::forward<Work>(work)();
    } catch (const Error & error) {
        set_last_error(error);
    } catch (const std::bad_alloc &) {
        set_last_error("E_MEMORY", "not enough memory");
    } catch (const std::exception & error) {
        set_last_error("E_INTERNAL", std::string("internal error: ") + error.what());
    }
    return failed;
}

// A copy for the caller, who frees it with sd_free_text.
char * new_text(const std::string & text);

inline std::string text_of(const char * text) { return text != nullptr ? text : ""; }

} // namespace sd
