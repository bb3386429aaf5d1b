// Opening containers: sources for files, memory and callbacks, and creating ggml tensors for the records.
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/gguf/read.h"

#include <cerrno>
#include <memory>
#include <new>
#include <sys/stat.h>

namespace ggml::gguf {
namespace {

struct FileReader {
    FILE * file;
    uint64_t start;    // the container's place in the file
    uint64_t position; // where the next byte comes from, to avoid needless seeks

    static size_t read(void * self, void * out, uint64_t offset, size_t n) {
        auto & r = *static_cast<FileReader *>(self);
        if (offset != r.position && fseeko(r.file, off_t(r.start + offset), SEEK_SET) != 0) return 0;
        const size_t got = std::fread(out, 1, n, r.file);
        r.position = offset + got;
        return got;
    }
};

struct MemoryReader {
    const char * data;
    size_t size;

    static size_t read(void * self, void * out, uint64_t offset, size_t n) {
        const auto & r = *static_cast<MemoryReader *>(self);
        if (offset >= r.size) return 0;
        const size_t count = n < r.size - offset ? n : r.size - size_t(offset);
        std::memcpy(out, r.data + offset, count);
        return count;
    }
};

// Whole data section in one tensor's storage; the named tensors point into it.
Status load_data(Source & source, const gguf_context & gguf, ggml_context * ctx, char *& base) {
    ggml_tensor * blob = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, int64_t(gguf.data_bytes));
    ggml_set_name(blob, "GGUF tensor data binary blob");
    if (!source.seek(gguf.data_offset) || !source.read(blob->data, gguf.data_bytes)) {
        return cut_short(source, "the tensor data");
    }
    base = static_cast<char *>(blob->data);
    return {};
}

Status create_tensors(Source & source, const gguf_context & gguf, const gguf_init_params & params) {
    for (const TensorRecord & record : gguf.tensors) {
        if (record.name.size() >= GGML_MAX_NAME) {
            return failure("gguf.name_length", "tensor name '%s' has %zu bytes; at most %d are possible",
                           record.name.c_str(), record.name.size(), GGML_MAX_NAME - 1);
        }
    }
    const bool load = !params.no_alloc && gguf.data_bytes > 0;
    size_t bytes = (gguf.tensors.size() + 1) * ggml_tensor_overhead();
    if (load && !checked_add(bytes, gguf.data_bytes + GGML_MEM_ALIGN, bytes))
        return out_of_memory("tensors", SIZE_MAX);
    std::unique_ptr<ggml_context, decltype(&ggml_free)> ctx(ggml_init({bytes, nullptr, false}), ggml_free);
    if (ctx == nullptr) return out_of_memory("tensors", bytes);
    char * base = nullptr;
    if (load) {
        if (Status s = load_data(source, gguf, ctx.get(), base); !s.ok()) return s;
    }
    ggml_set_no_alloc(ctx.get(), true);
    for (const TensorRecord & record : gguf.tensors) {
        ggml_tensor * t = ggml_new_tensor(ctx.get(), record.type, int(record.n_dims), record.ne);
        ggml_set_name(t, record.name.c_str());
        if (load) t->data = base + record.offset;
    }
    ggml_set_no_alloc(ctx.get(), params.no_alloc);
    *params.ctx = ctx.release();
    return {};
}

// Names come from strangers' files: control characters would reach the terminal.
std::string printable(std::string text) {
    for (char & c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
}

// The container, or NULL and why in `reason`.
gguf_context * open(Source & source, const gguf_init_params & params, std::string & reason) {
    if (params.ctx != nullptr) *params.ctx = nullptr;
    Status status;
    std::unique_ptr<gguf_context> out;
    try {
        out = std::make_unique<gguf_context>();
        status = read_container(source, params.ctx != nullptr && !params.no_alloc, *out);
        if (status.ok() && params.ctx != nullptr) status = create_tensors(source, *out, params);
        if (status.ok()) return out.release();
    } catch (const std::bad_alloc &) {
        status = out_of_memory("metadata", size_t(source.position()));
    }
    reason = printable(status.message());
    return nullptr;
}

gguf_context * open(Source & source, const char * name, const gguf_init_params & params) {
    std::string reason;
    gguf_context * gguf = open(source, params, reason);
    if (gguf == nullptr) GGML_LOG_ERROR("%s: %s\n", name, reason.c_str());
    return gguf;
}

// A folder can be opened, and only reading it fails.
bool is_folder(FILE * file) {
    struct stat about;
    return fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode);
}

gguf_context * open_file(FILE * file, const char * name, const gguf_init_params & params) {
    const off_t start = ftello(file);
    if (start < 0 || fseeko(file, 0, SEEK_END) != 0) {
        GGML_LOG_ERROR("%s: gguf.not_seekable: the size of the file cannot be found\n", name);
        return nullptr;
    }
    const off_t end = ftello(file);
    if (end < start || fseeko(file, start, SEEK_SET) != 0) {
        GGML_LOG_ERROR("%s: gguf.not_seekable: the size of the file cannot be found\n", name);
        return nullptr;
    }
    FileReader reader{file, uint64_t(start), 0};
    Source source(FileReader::read, &reader, 0, uint64_t(end - start));
    gguf_context * gguf = open(source, name, params);
    // Reading ahead must not show: the caller finds the file at the data section.
    if (gguf != nullptr) fseeko(file, start + off_t(gguf->data_offset), SEEK_SET);
    return gguf;
}

} // namespace
} // namespace ggml::gguf

extern "C" {

gguf_context * gguf_init_from_file_ptr(FILE * file, gguf_init_params params) {
    if (file == nullptr) return nullptr;
    return ggml::gguf::open_file(file, "GGUF file", params);
}

gguf_context * gguf_init_from_file(const char * fname, gguf_init_params params) {
    FILE * file = ggml_fopen(fname, "rb");
    if (file == nullptr) {
        GGML_LOG_ERROR("%s: the file cannot be opened: %s\n", fname, std::strerror(errno));
        return nullptr;
    }
    gguf_context * gguf = nullptr;
    if (ggml::gguf::is_folder(file))
        GGML_LOG_ERROR("%s is a folder, not a GGUF file\n", fname);
    else
        gguf = ggml::gguf::open_file(file, fname, params);
    std::fclose(file);
    return gguf;
}

gguf_context * gguf_init_from_buffer(const void * data, size_t size, gguf_init_params params) {
    if (data == nullptr && size > 0) return nullptr;
    ggml::gguf::MemoryReader reader{static_cast<const char *>(data), size};
    ggml::gguf::Source source(ggml::gguf::MemoryReader::read, &reader, 0, size);
    return ggml::gguf::open(source, "GGUF in memory", params);
}

gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata,
                                       size_t max_chunk_read, uint64_t max_expected_size,
                                       gguf_init_params params) {
    if (callback == nullptr) return nullptr;
    ggml::gguf::Source source(callback, userdata, max_chunk_read, max_expected_size);
    return ggml::gguf::open(source, "GGUF from a callback", params);
}

gguf_context * gguf_init_from_callback_or_reason(gguf_reader_callback_t callback, void * userdata,
                                                 size_t max_chunk_read, uint64_t max_expected_size,
                                                 gguf_init_params params, char * reason, size_t reason_size) {
    std::string why = "gguf.no_callback: there is nothing to read with";
    gguf_context * gguf = nullptr;
    if (callback != nullptr) {
        ggml::gguf::Source source(callback, userdata, max_chunk_read, max_expected_size);
        gguf = ggml::gguf::open(source, params, why);
    }
    if (gguf != nullptr) why.clear();
    if (reason != nullptr && reason_size > 0) std::snprintf(reason, reason_size, "%s", why.c_str());
    return gguf;
}

} // extern "C"
