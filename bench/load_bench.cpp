// Loading weights: bytes that reach the memory of a device per second, against plain reads of the same file
// by as many threads; and how long opening takes, by the number of tensors. The file is the argument, or one
// of about 1 GB that is made and removed. With a second argument, "cold", or when it does not fit memory
// twice, it is read from the disk: the system is told to forget it before each run.
//
// All read into the same memory, which was used before: what the system does when memory is touched for the
// first time costs every program alike, and more than reading on some machines.
#include "bench/support/measure.h"
#include "engine/base/parallel.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/comfy_quant/quant_module.h"
#include "engine/checkpoint/safetensors/writer.h"
#include "engine/models/families.h"
#include "engine/nn/weights.h"
#include "ggml-cpu.h"
#include "runtime/backend/interface.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kRounds = 5;

int cores() {
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? int(n) : 1;
}

uint64_t memory_bytes() { return uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE)); }

// In the folder for temporary files; gone afterwards.
class MadeFile {
  public:
    explicit MadeFile(const std::string & name)
        : path_((std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))).string() +
                ".safetensors") {}
    ~MadeFile() { std::filesystem::remove(path_); }
    MadeFile(const MadeFile &) = delete;
    MadeFile & operator=(const MadeFile &) = delete;
    const std::string & path() const { return path_; }

    // Layers as of a large diffusion model: INT8, 4-bit with relative scales, some in BF16. Every byte of
    // data is 1, which is a finite number in each type.
    void write_layers(int count, int64_t width) {
        using enum sd::StoredType;
        std::vector<sd::TensorDeclaration> tensors;
        std::map<std::string, std::string> texts; // by the tensor's name
        for (int i = 0; i < count; ++i) {
            const std::string m = "blocks." + std::to_string(i) + ".wq";
            std::string & settings = texts[m + ".comfy_quant"];
            if (i % 8 == 0) {
                tensors.push_back({m + ".weight", bf16, {width, width}});
            } else if (i % 3 == 0) {
                settings = R"({"format":"asym_w4a8_int8","group_size":16,"convrot_groupsize":256})";
                tensors.push_back({m + ".weight", i8, {width, width / 2}});
                tensors.push_back({m + ".weight_s_rel", f8_e4m3, {width, width / 16}});
                tensors.push_back({m + ".weight_s_channel", f32, {width}});
                tensors.push_back({m + ".weight_codebook", f32, {16}});
            } else {
                settings = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":256})";
                tensors.push_back({m + ".weight", i8, {width, width}});
                tensors.push_back({m + ".weight_scale", f32, {width, 1}});
            }
            if (!settings.empty()) tensors.push_back({m + ".comfy_quant", u8, {int64_t(settings.size())}});
        }
        // As other writers do, so that each is aligned to its elements.
        std::stable_sort(tensors.begin(), tensors.end(), [](const auto & a, const auto & b) {
            const auto bytes = [](const auto & t) { return *sd::tensor_bytes(t.type, {1}); };
            return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a.type < b.type;
        });
        sd::SafetensorsWriter writer(path_, tensors);
        for (const sd::TensorDeclaration & t : tensors) {
            std::string data = texts[t.name];
            if (data.empty()) data.assign(size_t(*sd::tensor_bytes(t.type, t.shape)), '\1');
            writer.write(data.data(), data.size());
        }
        writer.finish();
    }

    // A header of many tensors, and a hole in place of the data.
    void write_header(int count) {
        std::vector<sd::TensorDeclaration> tensors;
        for (int i = 0; i < count; ++i) {
            tensors.push_back({"model.diffusion_model.blocks." + std::to_string(i) + ".attn.wq.weight",
                               sd::StoredType::bf16,
                               {4096, 4096}});
        }
        uint64_t data = 0;
        const std::string start = sd::safetensors_start(tensors, {}, data);
        std::FILE * out = std::fopen(path_.c_str(), "wb");
        if (out == nullptr || std::fwrite(start.data(), 1, start.size(), out) != start.size()) std::abort();
        std::fclose(out);
        std::filesystem::resize_file(path_, start.size() + data);
    }

  private:
    std::string path_;
};

void forget(const std::string & path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
}

// Memory that stays, as that of the host or of a device that only takes copies. One buffer at a time has it.
class Memory {
  public:
    explicit Memory(uint64_t bytes) : bytes_(bytes / kAlignment * kAlignment + kAlignment) {
        data = static_cast<char *>(std::aligned_alloc(kAlignment, bytes_));
        if (data == nullptr) std::abort();
        std::memset(data, 1, bytes_);
    }
    ~Memory() { std::free(data); }
    Memory(const Memory &) = delete;
    Memory & operator=(const Memory &) = delete;

    ggml_backend_buffer_type type(bool host) {
        const ggml_backend_buffer_type_i iface = {
            .get_name = [](ggml_backend_buffer_type_t) { return "bench"; },
            .alloc_buffer = [](ggml_backend_buffer_type_t t, size_t size) -> ggml_backend_buffer_t {
                auto & self = *static_cast<Memory *>(t->context);
                return size <= self.bytes_ ? ggml::make_buffer(t, kBuffer, self.data, size) : nullptr;
            },
            .get_alignment = [](ggml_backend_buffer_type_t) { return kAlignment; },
            .get_max_size = nullptr,
            .get_alloc_size = nullptr,
            .is_host = host ? +[](ggml_backend_buffer_type_t) { return true; } : nullptr,
        };
        return {iface, ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), this};
    }

    char * data;

  private:
    static constexpr size_t kAlignment = 64;
    static constexpr ggml_backend_buffer_i kBuffer = {
        .free_buffer = nullptr,
        .get_base = [](ggml_backend_buffer_t b) { return b->context; },
        .init_tensor = nullptr,
        .memset_tensor = nullptr,
        .set_tensor = [](ggml_backend_buffer_t, ggml_tensor * t, const void * from, size_t offset,
                         size_t size) { std::memcpy(static_cast<char *>(t->data) + offset, from, size); },
        .get_tensor = nullptr,
        .cpy_tensor = nullptr,
        .clear = nullptr,
        .reset = nullptr,
    };
    uint64_t bytes_;
};

// All of the file by threads that take the next part, as a program would that wants nothing but the bytes.
// copied: by way of memory of each thread's own, for a device that does not share memory.
void plain_read(const std::string & path, uint64_t bytes, int threads, char * memory, bool copied) {
    constexpr uint64_t kPart = 1 << 20;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) std::abort();
    std::atomic<uint64_t> next{0};
    const auto work = [&] {
        std::vector<char> own(copied ? kPart : 0);
        for (uint64_t at = next.fetch_add(kPart); at < bytes; at = next.fetch_add(kPart)) {
            const uint64_t part = std::min(kPart, bytes - at);
            char * to = copied ? own.data() : memory + at;
            for (uint64_t done = 0; done < part;) {
                const ssize_t got = ::pread(fd, to + done, part - done, off_t(at + done));
                if (got <= 0) std::abort();
                done += uint64_t(got);
            }
            if (copied) std::memcpy(memory + at, to, part);
        }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread & t : others) t.join();
    ::close(fd);
}

std::string as_stored(std::string_view name) { return std::string(name); }

// An opened file, with all of its matrices and vectors as weights.
class Model {
  public:
    explicit Model(const std::string & path) {
        checkpoint_.add(path);
        quants_ = sd::find_quant_modules(checkpoint_);
        table_ = std::make_unique<sd::ModelTable>(checkpoint_, quants_, "", as_stored);
    }

    // Bytes all weights take.
    uint64_t bytes() const {
        return described({.memory = {{ggml_backend_cpu_buffer_type()}}})->bytes_allocated(0);
    }

    void load(ggml_backend_buffer_type_t memory, int threads) const {
        uint64_t told = 0;
        const auto weights =
            described({.memory = {{memory}}, .progress = [&](uint64_t done, uint64_t) { told = done; }});
        weights->load({.threads = threads});
        if (told != weights->bytes_allocated(0)) std::abort();
    }

  private:
    std::unique_ptr<sd::Weights> described(sd::Weights::Options options) const {
        options.map = false;
        auto weights = std::make_unique<sd::Weights>(*table_, options);
        for (const auto & [name, tensor] : table_->tensors()) {
            if (tensor.shape.size() == 2 && name.ends_with(".weight"))
                weights->linear(name.substr(0, name.size() - 7));
            else if (tensor.quant == nullptr && !name.ends_with(".bias"))
                weights->vector(name);
        }
        return weights;
    }

    sd::Checkpoint checkpoint_;
    sd::QuantModules quants_;
    std::unique_ptr<sd::ModelTable> table_;
};

void measure_loading(bench::Report & report, const std::string & path, bool cold) {
    const uint64_t bytes = std::filesystem::file_size(path);
    cold = cold || 2 * bytes > memory_bytes() / 10 * 9;
    const Model model(path);
    Memory memory(std::max(bytes, model.bytes()) + (1 << 20)); // and what aligning the tensors takes
    ggml_backend_buffer_type host = memory.type(true), device = memory.type(false);
    const auto before = [&] {
        if (cold) forget(path);
    };
    const auto read = [&](bool copied) { before(), plain_read(path, bytes, cores(), memory.data, copied); };
    const bench::Candidate candidates[] = {
        {"read", double(bytes), [&] { read(false); }},
        {"host", double(bytes), [&] { before(), model.load(&host, cores()); }},
        {"read and copied", double(bytes), [&] { read(true); }},
        {"device", double(bytes), [&] { before(), model.load(&device, cores()); }},
    };
    const bench::Timings t = bench::interleave(candidates, cold ? 2 : kRounds);
    std::printf("%s of %.2f GB in the %s:", path.c_str(), double(bytes) / 1e9, cold ? "disk" : "page cache");
    for (size_t i = 0; i < std::size(candidates); ++i)
        std::printf(" %s %.2f GB/s", candidates[i].name.c_str(), t.rate(i) / 1e9);
    std::printf("\n");
    report.ratio("load_host", t.rate_ratio(1, 0), 0.9);
    report.ratio("load_device", t.rate_ratio(3, 2), 0.9);
}

double opening_seconds(const std::string & path) {
    bench::Samples samples;
    for (int i = 0; i < kRounds; ++i) {
        samples.add(bench::seconds([&] {
            sd::Checkpoint checkpoint;
            checkpoint.add(path);
            sd::find_models(checkpoint, sd::find_quant_modules(checkpoint));
        }));
    }
    return samples.median();
}

// The aim is to open any model within a second, and headers in time proportional to their length but for a
// sort.
void measure_opening(bench::Report & report, const std::string & path) {
    const double file = opening_seconds(path);
    std::printf("open: %.1f ms for %s\n", file * 1e3, path.c_str());
    report.ratio("open_in_a_second", 1.0 / file, 1.0);
    const int few = 1000, many = 64000;
    MadeFile small("load_bench-few-"), large("load_bench-many-");
    small.write_header(few);
    large.write_header(many);
    const double small_s = opening_seconds(small.path()), large_s = opening_seconds(large.path());
    std::printf("open: %.1f ms for %d tensors, %.1f ms for %d\n", small_s * 1e3, few, large_s * 1e3, many);
    report.ratio("open_per_tensor", (small_s / few) / (large_s / many), 0.5);
}

} // namespace

int main(int argc, char ** argv) {
    bench::Report report;
    MadeFile made("load_bench-");
    if (argc < 2) made.write_layers(32, 6144);
    const std::string path = argc < 2 ? made.path() : argv[1];
    measure_loading(report, path, argc > 2 && std::string(argv[2]) == "cold");
    measure_opening(report, path);
    return 0;
}
