#include "runtime/base/trace.h"

#include "runtime/base/json.h"

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace ggml {
namespace {

constexpr size_t kChunk = size_t(64) << 10; // written to the file in pieces of about this size

int64_t now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

struct Sink {
    std::mutex mutex;
    std::string name, partial; // partial: its name until it ends
    std::string chunk;
    FILE * file = nullptr; // null: no trace runs
    uint32_t number = 0;   // of the last trace
    int64_t began = 0;
    bool complete = true; // nothing was lost so far
    bool nameless = false;

    void flush() noexcept {
        complete = complete && std::fwrite(chunk.data(), 1, chunk.size(), file) == chunk.size();
        chunk.clear();
    }
};

// Never destroyed: threads may end scopes while the process ends.
Sink & sink() {
    static Sink & only = *new Sink;
    return only;
}

std::filesystem::path path_of(const std::string & utf8) {
    return std::filesystem::path(std::u8string(utf8.begin(), utf8.end()));
}

// Small numbers, as viewers show them.
int thread_number() {
    static std::atomic<int> n_threads = 0;
    thread_local const int number = ++n_threads;
    return number;
}

// A file without a name is gone when the program is, however it ends. NULL: the file system has none, or
// there is no /proc to give it a name later.
FILE * open_nameless(const std::filesystem::path & folder) {
#ifdef O_TMPFILE
    if (::access("/proc/self/fd", X_OK) != 0) return nullptr;
    const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0) return nullptr;
    FILE * file = ::fdopen(fd, "wb");
    if (file == nullptr) ::close(fd);
    return file;
#else
    (void)folder;
    return nullptr;
#endif
}

// A name that is taken may be anybody's: it gets longer until it is free.
bool give_name(FILE * file, std::string & name) {
    const std::string self = "/proc/self/fd/" + std::to_string(::fileno(file));
    while (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        if (errno != EEXIST) return false;
        name += '_';
    }
    return true;
}

void append_time(std::string & out, const char * key, int64_t ns) {
    char text[64];
    std::snprintf(text, sizeof(text), ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, int(ns % 1000));
    out += text;
}

void append_arguments(std::string & out, const TraceWords & words) {
    JsonWriter json;
    json.begin('{');
    if (words.backend != nullptr) json.field("backend", std::string_view(words.backend));
    if (words.detail != nullptr) json.field("detail", std::string_view(words.detail));
    if (words.n_nodes >= 0) json.field("nodes", words.n_nodes);
    json.end('}');
    out.append(",\"args\":").append(json.take());
}

} // namespace

Status begin_trace(const char * file_name) {
    Sink & s = sink();
    std::lock_guard lock(s.mutex);
    if (s.file != nullptr) return failure("trace.running", "a trace is being written to %s", s.name.c_str());
    std::string name = file_name;
    if (name.empty()) return failure("trace.file", "the file has no name");
    s.chunk.reserve(kChunk + 4096);
    std::error_code ignored;
    const std::filesystem::path path = path_of(name);
    if (std::filesystem::is_directory(path, ignored))
        return failure("trace.file", "%s is a folder", file_name);
    // A device or a pipe takes the text as it comes and is not to be replaced by a file; nor is a link.
    const bool in_place =
        (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) ||
        std::filesystem::is_symlink(path, ignored);
    std::string partial = in_place ? name : name + ".part";
    errno = 0;
    s.file = in_place ? nullptr : open_nameless(path.parent_path());
    s.nameless = s.file != nullptr;
    if (s.file == nullptr) s.file = ggml_fopen(partial.c_str(), "wb");
    if (s.file == nullptr)
        return failure("trace.file", "%s cannot be created: %s", partial.c_str(), std::strerror(errno));
    s.name.swap(name);
    s.partial.swap(partial);
    s.chunk = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
              "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"ggml\"}}";
    s.complete = true;
    s.began = now_ns();
    running_trace.store(++s.number, std::memory_order_relaxed);
    return {};
}

Status end_trace() {
    Sink & s = sink();
    std::lock_guard lock(s.mutex);
    if (s.file == nullptr) return failure("trace.not_running", "no trace has begun");
    running_trace.store(0, std::memory_order_relaxed);
    s.chunk += "\n]}\n";
    s.flush();
    s.complete = std::fflush(s.file) == 0 && s.complete;
    const bool named = !s.nameless || (s.complete && give_name(s.file, s.partial));
    s.complete = std::fclose(s.file) == 0 && s.complete && named;
    s.file = nullptr;
    std::error_code error;
    const bool in_place = s.partial == s.name;
    if (s.complete && !in_place) std::filesystem::rename(path_of(s.partial), path_of(s.name), error);
    if (s.complete && !error) return {};
    std::error_code ignored;
    if (!in_place && named) std::filesystem::remove(path_of(s.partial), ignored);
    return failure("trace.file", "%s could not be written%s%s", s.name.c_str(), error ? ": " : "",
                   error ? error.message().c_str() : "");
}

void TraceScope::begin(const char * category, const TraceWords & words) noexcept {
    trace_ = running_trace.load(std::memory_order_relaxed);
    category_ = category;
    name_ = words.name;
    backend_ = words.backend;
    detail_ = words.detail;
    n_nodes_ = words.n_nodes;
    began_ = now_ns();
}

void TraceScope::end() noexcept {
    const int64_t ended = now_ns();
    Sink & s = sink();
    std::lock_guard lock(s.mutex);
    // The trace it began in may be over, and another one may have begun.
    if (s.file == nullptr || s.number != trace_) return;
    try {
        std::string & out = s.chunk;
        out += ",\n{\"name\":";
        append_json_string(out, name_);
        out.append(",\"cat\":\"").append(category_).append("\",\"ph\":\"X\",\"pid\":1,\"tid\":");
        out += std::to_string(thread_number());
        append_time(out, "ts", began_ > s.began ? began_ - s.began : 0);
        append_time(out, "dur", ended - began_);
        append_arguments(out, {name_, backend_, detail_, n_nodes_});
        out += '}';
        if (out.size() >= kChunk) s.flush();
    } catch (...) {
        s.complete = false; // an event in pieces, so the file would not be readable
    }
}

} // namespace ggml
