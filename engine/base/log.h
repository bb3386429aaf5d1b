// Lines for whoever uses the engine. Nothing is printed by the engine itself.
#pragma once

#include <string>

namespace sd {

enum class LogLevel { debug, info, warn, error };

using LogSink = void (*)(LogLevel level, const char * text, void * data);

// NULL: lines are dropped. Takes effect for lines of all threads; a call that is under way is waited for.
void set_log_sink(LogSink sink, void * data);

// One line; newlines in it become blanks. From any thread; sinks are called one at a time.
void log_line(LogLevel level, const std::string & text);

inline void log_debug(const std::string & text) { log_line(LogLevel::debug, text); }
inline void log_info(const std::string & text) { log_line(LogLevel::info, text); }
inline void log_warn(const std::string & text) { log_line(LogLevel::warn, text); }

} // namespace sd
