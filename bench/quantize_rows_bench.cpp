// Rotation and quantization of activations against what memory allows for the same bytes: rows of floats are
// read, a quarter as many bytes are written. A plain copy of as many bytes is shown beside it: it writes half
// of them, around the caches. One core and two, through the scheduler as models run.
#include "backends/cpu/team.h"
#include "bench/support/measure.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 15;
constexpr int64_t kTokens = 4096; // of a 1024x1024 picture: more bytes than caches hold

class Quantize {
  public:
    Quantize(int64_t k, int group, int n_threads) {
        backend_.reset(
            ggml_backend_dev_init(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), nullptr));
        ggml_backend_cpu_set_n_threads(backend_.get(), n_threads);
        ggml_backend_t backends[] = {backend_.get()};
        sched_.reset(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
        x_ = ggml_new_tensor_2d(inputs_.get(), GGML_TYPE_F32, k, kTokens);
        buffer_.reset(
            ggml_backend_alloc_ctx_tensors_from_buft(inputs_.get(), ggml_backend_cpu_buffer_type()));
        auto * p = static_cast<float *>(x_->data);
        for (int64_t i = 0; i < ggml_nelements(x_); ++i) p[i] = float(int(i * 7919 % 251) - 125) * 0.01f;
        graph_ = ggml_new_graph(ctx_.get());
        ggml_build_forward_expand(graph_, ggml_quantize_i8_convrot(ctx_.get(), x_, group));
        if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) std::abort();
    }
    void run() {
        if (ggml_backend_sched_graph_compute(sched_.get(), graph_) != GGML_STATUS_SUCCESS) std::abort();
    }
    std::span<const char> data() const { return {static_cast<const char *>(x_->data), ggml_nbytes(x_)}; }

  private:
    ggml_context_ptr inputs_{ggml_init({1u << 16, nullptr, true})},
        ctx_{ggml_init({1u << 20, nullptr, true})};
    ggml_backend_buffer_ptr buffer_;
    ggml_backend_ptr backend_;
    ggml_backend_sched_ptr sched_;
    ggml_tensor * x_;
    ggml_cgraph * graph_;
};

// Reads the floats of each row and writes its codes, and nothing else.
void stream_rows(const ggml::cpu::Team & team, std::span<const char> x, int64_t k, std::span<char> codes) {
    team.parallel_for(kTokens, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            uint64_t parts[8] = {}, words[8];
            for (const char * p = x.data() + row * k * 4; p < x.data() + (row + 1) * k * 4;
                 p += sizeof words) {
                std::memcpy(words, p, sizeof words);
                for (int i = 0; i < 8; ++i) parts[i] |= words[i];
            }
            const uint64_t all = std::accumulate(parts, parts + 8, uint64_t(0), std::bit_or<>());
            std::memset(codes.data() + row * k, int(all & 0xff), size_t(k));
        }
    });
}

void measure(bench::Report & report, int64_t k, int group, int n_threads, double aim) {
    const ggml::cpu::Team team(n_threads);
    Quantize quantize(k, group, n_threads);
    const double bytes = 5.0 * double(k * kTokens);
    std::vector<char> to(size_t(bytes / 2), 1), codes(size_t(k * kTokens), 1);
    const bench::Candidate candidates[] = {
        {"copy", bytes,
         [&] {
             team.parallel_for(int64_t(to.size()), 1 << 16, [&](int64_t begin, int64_t end) {
                 std::memcpy(to.data() + begin, quantize.data().data() + begin, size_t(end - begin));
             });
         }},
        {"quantize", bytes, [&] { quantize.run(); }},
        {"the same bytes", bytes, [&] { stream_rows(team, quantize.data(), k, codes); }},
    };
    const bench::Timings t = bench::interleave(candidates, kRounds);
    std::printf(
        "[%lld x %lld] group %4d, %d threads: %6.1f GB/s, copy %6.1f GB/s, the same bytes %6.1f GB/s\n",
        (long long)k, (long long)kTokens, group, n_threads, t.rate(1) / 1e9, t.rate(0) / 1e9,
        t.rate(2) / 1e9);
    const std::string name = "quantize_k" + std::to_string(k) + "_h" + std::to_string(group);
    report.ratio(name + "_vs_same_bytes_t" + std::to_string(n_threads), t.rate_ratio(1, 2), aim);
    report.ratio(name + "_vs_copy_t" + std::to_string(n_threads), t.rate_ratio(1, 0), aim);
}

} // namespace

int main() {
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    if (sd_ggml_register_extensions(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)) !=
        GGML_EXT_SUCCESS) {
        std::fprintf(stderr, "registration: %s\n", ggml_ext_last_message());
        return 1;
    }
    bench::Report report;
    for (int n_threads = 1; n_threads <= std::min(cores, 2); ++n_threads) {
        for (const int64_t k : {6144, 16384}) {
            for (const int group : {1, 64, 256, 1024}) measure(report, k, group, n_threads, 0.6);
        }
    }
    return 0;
}
