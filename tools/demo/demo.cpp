// ggml-demo: one self-attention block on the runtime, checked against plain loops written here. It shows that
// graph building, the scheduler, quantized weights and the CPU kernels work together on this machine, and how
// fast.
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kWidth = 512, kHeads = 8, kTokens = 256, kHeadSize = kWidth / kHeads;

using Matrix = std::vector<float>;

// The same pseudo-random numbers everywhere, so that the printed error can be compared between machines.
Matrix random_matrix(int64_t n, float scale, uint32_t seed) {
    Matrix m(static_cast<size_t>(n));
    for (float & v : m) {
        seed = seed * 1664525u + 1013904223u;
        v = scale * (float(seed >> 8) * 0x1p-23f - 1.0f);
    }
    return m;
}

struct Block {
    ggml_tensor *x, *wq, *wk, *wv, *wo, *out;
};

// softmax(Q K^T / sqrt(d)) V per head, with an output projection and a residual.
Block build_block(ggml_context * ctx, ggml_type weight_type) {
    Block b;
    b.x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, kWidth, kTokens);
    for (ggml_tensor ** w : {&b.wq, &b.wk, &b.wv, &b.wo})
        *w = ggml_new_tensor_2d(ctx, weight_type, kWidth, kWidth);
    const auto heads = [&](ggml_tensor * w) {
        ggml_tensor * y = ggml_mul_mat(ctx, w, ggml_rms_norm(ctx, b.x, 1e-6f));
        return ggml_permute(ctx, ggml_reshape_3d(ctx, y, kHeadSize, kHeads, kTokens), 0, 2, 1, 3);
    };
    ggml_tensor * k = ggml_cast(ctx, heads(b.wk), GGML_TYPE_F16);
    ggml_tensor * v = ggml_cast(ctx, heads(b.wv), GGML_TYPE_F16);
    ggml_tensor * attended =
        ggml_flash_attn_ext(ctx, heads(b.wq), k, v, nullptr, 1.0f / std::sqrt(float(kHeadSize)), 0, 0);
    attended = ggml_reshape_2d(ctx, attended, kWidth, kTokens);
    b.out = ggml_add(ctx, b.x, ggml_mul_mat(ctx, b.wo, attended));
    return b;
}

// y[t][o] = sum_i w[o][i] * x[t][i]
Matrix project(const Matrix & w, const Matrix & x) {
    Matrix y(x.size());
    for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t o = 0; o < kWidth; ++o) {
            double sum = 0;
            for (int64_t i = 0; i < kWidth; ++i)
                sum += double(w[size_t(o * kWidth + i)]) * x[size_t(t * kWidth + i)];
            y[size_t(t * kWidth + o)] = float(sum);
        }
    }
    return y;
}

Matrix attend(const Matrix & q, const Matrix & k, const Matrix & v) {
    Matrix out(q.size());
    std::vector<double> p(static_cast<size_t>(kTokens));
    for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t t = 0; t < kTokens; ++t) {
            double most = -INFINITY, total = 0;
            for (int64_t s = 0; s < kTokens; ++s) {
                double dot = 0;
                for (int64_t d = 0; d < kHeadSize; ++d) {
                    dot += double(q[size_t(t * kWidth + h * kHeadSize + d)]) *
                           k[size_t(s * kWidth + h * kHeadSize + d)];
                }
                p[size_t(s)] = dot / std::sqrt(double(kHeadSize));
                most = std::fmax(most, p[size_t(s)]);
            }
            for (double & v_s : p) total += v_s = std::exp(v_s - most);
            for (int64_t d = 0; d < kHeadSize; ++d) {
                double sum = 0;
                for (int64_t s = 0; s < kTokens; ++s)
                    sum += p[size_t(s)] * v[size_t(s * kWidth + h * kHeadSize + d)];
                out[size_t(t * kWidth + h * kHeadSize + d)] = float(sum / total);
            }
        }
    }
    return out;
}

Matrix expected_output(const Matrix & x, const Matrix (&w)[4]) {
    Matrix normed = x;
    for (int64_t t = 0; t < kTokens; ++t) {
        double squares = 0;
        for (int64_t i = 0; i < kWidth; ++i)
            squares += double(x[size_t(t * kWidth + i)]) * x[size_t(t * kWidth + i)];
        const double scale = 1.0 / std::sqrt(squares / double(kWidth) + 1e-6);
        for (int64_t i = 0; i < kWidth; ++i)
            normed[size_t(t * kWidth + i)] = float(x[size_t(t * kWidth + i)] * scale);
    }
    Matrix y = project(w[3], attend(project(w[0], normed), project(w[1], normed), project(w[2], normed)));
    for (size_t i = 0; i < y.size(); ++i) y[i] += x[i];
    return y;
}

double relative_error(const Matrix & a, const Matrix & b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
        size += double(b[i]) * b[i];
    }
    return std::sqrt(difference / size);
}

void upload(ggml_tensor * t, const Matrix & values) {
    std::vector<uint8_t> bytes(ggml_nbytes(t));
    if (t->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(t, values.data(), 0, ggml_nbytes(t));
        return;
    }
    ggml_quantize_chunk(t->type, values.data(), bytes.data(), 0, ggml_nrows(t), t->ne[0], nullptr);
    ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
}

constexpr const char kUsage[] =
    "usage: ggml-demo [--help]\n"
    "Runs a self-attention block with float, 8-bit and 4-bit weights on all processors, and prints for each "
    "the\n"
    "best time of five runs and the error against plain loops with its bound. Exit status: 0 when every "
    "error\n"
    "is within its bound, 1 when one is not or the block cannot run, 2 for unknown arguments.\n";

// Runs the block with one weight type; returns false when it cannot run or its error is above the bound.
bool run(ggml_backend_t cpu, ggml_type type, double bound, const Matrix & x, const Matrix (&w)[4],
         const Matrix & expected) {
    ggml_context_ptr ctx(ggml_init({64 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
    Block b = build_block(ctx.get(), type);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    for (ggml_tensor * input : {b.x, b.wq, b.wk, b.wv, b.wo}) ggml_set_input(input);
    ggml_set_output(b.out);
    ggml_build_forward_expand(graph, b.out);

    ggml_backend_sched_ptr sched(
        ggml_backend_sched_new(&cpu, nullptr, 1, GGML_DEFAULT_GRAPH_SIZE, false, false));
    if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) {
        std::fprintf(stderr, "ggml-demo: not enough memory for the graph\n");
        return false;
    }
    double best = INFINITY;
    for (int i = 0; i < 5; ++i) {
        upload(b.x, x);
        ggml_tensor * tensors[] = {b.wq, b.wk, b.wv, b.wo};
        for (int j = 0; j < 4; ++j) upload(tensors[j], w[j]);
        const auto start = std::chrono::steady_clock::now();
        if (ggml_backend_sched_graph_compute(sched.get(), graph) != GGML_STATUS_SUCCESS) {
            std::fprintf(stderr, "ggml-demo: computing failed\n");
            return false;
        }
        best =
            std::fmin(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    Matrix result(expected.size());
    ggml_backend_tensor_get(b.out, result.data(), 0, ggml_nbytes(b.out));
    const double error = relative_error(result, expected);
    const bool good = error <= bound;
    std::printf("  weights %-5s  %7.2f ms   error against plain loops %.1e (at most %.0e)   %s\n",
                ggml_type_name(type), best * 1e3, error, bound, good ? "ok" : "TOO LARGE");
    return good;
}

} // namespace

int main(int argc, char ** argv) {
    if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
        std::fputs(kUsage, stdout);
        return 0;
    }
    if (argc > 1) {
        std::fprintf(stderr, "ggml-demo: unknown argument '%s'\n%s", argv[1], kUsage);
        return 2;
    }
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    if (cpu == nullptr) {
        std::fprintf(stderr, "ggml-demo: no CPU backend\n");
        return 1;
    }
    const unsigned threads = std::thread::hardware_concurrency();
    ggml_backend_cpu_set_n_threads(cpu.get(), threads > 0 ? int(threads) : 1);
    std::printf("A self-attention block (%lld tokens, width %lld, %lld heads) on %s, %u threads\n",
                (long long)kTokens, (long long)kWidth, (long long)kHeads,
                ggml_backend_dev_description(ggml_backend_get_device(cpu.get())), threads);

    const Matrix x = random_matrix(kWidth * kTokens, 1.0f, 1);
    const float scale = std::sqrt(3.0f / float(kWidth));
    const Matrix w[4] = {random_matrix(kWidth * kWidth, 2 * scale, 2),
                         random_matrix(kWidth * kWidth, 2 * scale, 3),
                         random_matrix(kWidth * kWidth, scale, 4), random_matrix(kWidth * kWidth, scale, 5)};
    const Matrix expected = expected_output(x, w);

    // Bounds: rounding to the weight type, through a softmax that sharpens it.
    bool good = run(cpu.get(), GGML_TYPE_F32, 1e-3, x, w, expected);
    good = run(cpu.get(), GGML_TYPE_Q8_0, 2e-2, x, w, expected) && good;
    good = run(cpu.get(), GGML_TYPE_Q4_K, 2e-1, x, w, expected) && good;
    return good ? 0 : 1;
}
