// Writing containers. A file appears under its name only when it is complete.
#include "ggml-backend.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/gguf/context.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace ggml::gguf {
namespace {

// Where bytes go: a file, memory, or nowhere (to count them).
class Sink {
  public:
    Sink() = default;
    explicit Sink(FILE * file) : file_(file) {}
    explicit Sink(char * memory) : memory_(memory) {}

    void write(const void * data, size_t n) {
        if (n == 0) return;
        if (file_ != nullptr && ok_) ok_ = std::fwrite(data, 1, n, file_) == n;
        if (memory_ != nullptr) std::memcpy(memory_ + count_, data, n);
        count_ += n;
    }

    template <class T>
    void value(T v) {
        write(&v, sizeof v);
    }

    void text(const char * data, size_t n) {
        value(uint64_t(n));
        write(data, n);
    }

    // Zeros up to this many bytes in all. False when more are there already.
    bool pad_until(size_t end) {
        static constexpr char kZeros[4096] = {};
        if (count_ > end) return false;
        while (count_ < end) write(kZeros, std::min(end - count_, sizeof kZeros));
        return true;
    }
    void pad_to(size_t unit) { pad_until(align_up(count_, unit)); }

    size_t count() const { return count_; }
    bool ok() const { return ok_; }

  private:
    FILE * file_ = nullptr;
    char * memory_ = nullptr;
    size_t count_ = 0;
    bool ok_ = true;
};

void write_pair(Sink & sink, const Pair & pair) {
    sink.text(pair.key.data(), pair.key.size());
    if (pair.is_array) sink.value(int32_t(GGUF_TYPE_ARRAY));
    sink.value(int32_t(pair.type));
    if (pair.is_array) sink.value(uint64_t(pair.count()));
    for (size_t i = 0; i < pair.strings.size(); ++i) sink.text(pair.strings.at(i), pair.strings.length(i));
    sink.write(pair.bytes.data(), pair.bytes.size());
}

void write_record(Sink & sink, const TensorRecord & record) {
    sink.text(record.name.data(), record.name.size());
    sink.value(record.n_dims);
    for (uint32_t i = 0; i < record.n_dims; ++i) sink.value(record.ne[i]);
    sink.value(int32_t(record.type));
    sink.value(record.offset);
}

void write_metadata(Sink & sink, const gguf_context & gguf) {
    sink.write(GGUF_MAGIC, 4);
    sink.value(uint32_t(GGUF_VERSION));
    sink.value(int64_t(gguf.tensors.size()));
    sink.value(int64_t(gguf.pairs.size()));
    for (const Pair & pair : gguf.pairs) write_pair(sink, pair);
    for (const TensorRecord & record : gguf.tensors) write_record(sink, record);
    sink.pad_to(gguf.alignment);
}

bool write_tensor(Sink & sink, const TensorRecord & record) {
    if (record.bytes == 0) return true;
    if (record.data != nullptr) {
        sink.write(record.data, record.bytes);
        return true;
    }
    const ggml_tensor * t = record.tensor;
    if (t == nullptr || t->data == nullptr || ggml_nbytes(t) != record.bytes) {
        GGML_LOG_ERROR("GGUF: tensor '%s' has no data of its type to write\n", record.name.c_str());
        return false;
    }
    if (t->buffer == nullptr) {
        sink.write(t->data, record.bytes);
        return true;
    }
    // Device memory comes over in pieces, so that a large tensor needs no second copy of itself.
    std::vector<char> piece(std::min<size_t>(record.bytes, 4u << 20));
    for (size_t done = 0; done < record.bytes; done += piece.size()) {
        piece.resize(std::min(piece.size(), record.bytes - done));
        ggml_backend_tensor_get(t, piece.data(), done, piece.size());
        sink.write(piece.data(), piece.size());
    }
    return true;
}

bool write_container(Sink & sink, const gguf_context & gguf, bool only_meta) {
    write_metadata(sink, gguf);
    if (only_meta) return sink.ok();
    const size_t start = sink.count();
    for (const TensorRecord & record : gguf.tensors) {
        if (!sink.pad_until(start + record.offset)) {
            GGML_LOG_ERROR("GGUF: tensor '%s' would lie before the tensor listed before it\n",
                           record.name.c_str());
            return false;
        }
        if (!write_tensor(sink, record)) return false;
        sink.pad_to(gguf.alignment);
    }
    return sink.ok();
}

} // namespace
} // namespace ggml::gguf

extern "C" {

bool gguf_write_to_file_ptr(const gguf_context * ctx, FILE * file, bool only_meta) {
    ggml::gguf::Sink sink(file);
    return ggml::gguf::write_container(sink, *ctx, only_meta) && std::fflush(file) == 0;
}

bool gguf_write_to_file(const gguf_context * ctx, const char * fname, bool only_meta) {
    const std::string temporary = std::string(fname) + ".part" + std::to_string(getpid());
    FILE * file = ggml_fopen(temporary.c_str(), "wb");
    if (file == nullptr) {
        GGML_LOG_ERROR("%s: the file cannot be created: %s\n", temporary.c_str(), std::strerror(errno));
        return false;
    }
    bool ok = gguf_write_to_file_ptr(ctx, file, only_meta);
    ok = std::fclose(file) == 0 && ok;
    ok = ok && std::rename(temporary.c_str(), fname) == 0;
    if (!ok) {
        GGML_LOG_ERROR("%s: the file could not be written: %s\n", fname, std::strerror(errno));
        std::remove(temporary.c_str());
    }
    return ok;
}

size_t gguf_get_meta_size(const gguf_context * ctx) {
    ggml::gguf::Sink sink;
    ggml::gguf::write_metadata(sink, *ctx);
    return sink.count();
}

void gguf_get_meta_data(const gguf_context * ctx, void * data) {
    ggml::gguf::Sink sink(static_cast<char *>(data));
    ggml::gguf::write_metadata(sink, *ctx);
}

} // extern "C"
