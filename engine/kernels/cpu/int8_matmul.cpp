#include "kernels/cpu/int8_matmul.h"

#include "ops/common/cpu.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace sd {
namespace {

constexpr size_t kAlign = 64;

// Up to here reading weights in place wins over packing them: packing costs as much as about eight rows.
constexpr int64_t kFewRows = 16;

// Rows of activations that are packed at once: they stay in the last-level cache while the panels of all
// weights pass by, and are many enough to make up for packing the panels again for the next block.
constexpr int64_t kBlockBytes = int64_t(16) << 20, kBlockRows = 512;

// Longer rows are cut here for exact 32-bit sums; a multiple of every padding.
constexpr int64_t kPieceK = 65536;

// Multiplications, and activations to prepare, that are worth waking a thread.
constexpr int64_t kTaskProducts = int64_t(1) << 18, kTaskActivations = int64_t(1) << 18;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t pieces_of(int64_t k) { return k <= kInt8MaxK ? 1 : ceil_div(k, kPieceK); }

// The workspace of one run, as typed places.
struct Memory {
    std::byte * rows;
    int32_t * starts;
    float * scales;
    std::byte * threads;

    Memory(const Int8Plan & plan, void * workspace) {
        size_t space = plan.workspace_bytes;
        auto * base = static_cast<std::byte *>(std::align(kAlign, 1, workspace, space));
        rows = base;
        starts = reinterpret_cast<int32_t *>(base + plan.starts);
        scales = reinterpret_cast<float *>(base + plan.scales);
        threads = base + plan.threads;
    }
    std::byte * thread(const Int8Plan & plan, int ith) const {
        return threads + size_t(ith) * plan.thread_bytes;
    }
};

class Multiplication {
  public:
    Multiplication(const Int8Plan & plan, const Int8Source & source, const Int8Result & result,
                   const Memory & memory)
        : plan_(plan), gemm_(*plan.gemm), source_(source), result_(result), memory_(memory) {}

    ggml_status run(ggml_backend_t backend) {
        for (first_ = 0; first_ < plan_.m; first_ += plan_.block_rows) {
            count_ = std::min(plan_.block_rows, plan_.m - first_);
            const ggml_status prepared =
                phase(backend, ceil_div(count_, group()), count_ * plan_.k / kTaskActivations,
                      &Multiplication::prepare_group);
            if (prepared != GGML_STATUS_SUCCESS) return prepared;
            split();
            const ggml_status done =
                phase(backend, items_, count_ * plan_.n * plan_.k / kTaskProducts,
                      plan_.tiles ? &Multiplication::multiply_tiles : &Multiplication::multiply_few);
            if (done != GGML_STATUS_SUCCESS) return done;
        }
        return GGML_STATUS_SUCCESS;
    }

  private:
    using Work = void (Multiplication::*)(int64_t item, std::byte * room) const;

    // Items are taken one by one, so that a thread that is held up does less.
    ggml_status phase(ggml_backend_t backend, int64_t items, int64_t worth, Work work) {
        const int64_t useful = std::min(items, worth);
        const int tasks = int(std::clamp<int64_t>(useful, 1, plan_.n_threads));
        std::atomic<int64_t> next = 0;
        return cpu_run(backend, tasks, [&](int ith, int) {
            for (int64_t i = next++; i < items; i = next++) (this->*work)(i, memory_.thread(plan_, ith));
        });
    }

    int group() const { return plan_.tiles ? gemm_.rows : 1; }

    void prepare_group(int64_t item, std::byte * room) const {
        const int64_t row = item * group();
        const int m = int(std::min<int64_t>(group(), count_ - row));
        const int8_t * codes = source_.rows(first_ + row, m, room, memory_.scales + row);
        std::byte * out = memory_.rows + size_t(row) * plan_.row_bytes;
        if (plan_.tiles) return gemm_.pack_rows(out, memory_.starts + row, codes, plan_.k, m, plan_.k);
        const int64_t pieces = pieces_of(plan_.k);
        for (int64_t p = 0; p < pieces; ++p) {
            const int64_t k0 = p * kPieceK, k = pieces == 1 ? plan_.k : std::min(kPieceK, plan_.k - k0);
            gemm_.prepare_row(out + k0 * gemm_.act_bytes, memory_.starts + p * plan_.block_rows + row,
                              codes + k0, k);
        }
    }

    void split() {
        if (plan_.tiles) {
            panels_ = ceil_div(plan_.n, gemm_.columns);
            // Few panels: rows are divided too. A chunk must be worth packing the panel once more for it.
            const int64_t tiles = ceil_div(count_, gemm_.rows), worth = ceil_div(128, gemm_.rows);
            const int64_t chunks =
                std::clamp<int64_t>(4 * plan_.n_threads / panels_, 1, std::max<int64_t>(1, tiles / worth));
            chunk_tiles_ = ceil_div(tiles, chunks);
            items_ = panels_ * ceil_div(tiles, chunk_tiles_);
            return;
        }
        constexpr int64_t kItemBytes = 1 << 18;
        item_columns_ = std::clamp<int64_t>(kItemBytes / plan_.k / kColumns * kColumns, kColumns, 4096);
        items_ = ceil_div(plan_.n, item_columns_);
    }

    void multiply_tiles(int64_t item, std::byte * room) const {
        auto * panel = reinterpret_cast<uint8_t *>(room);
        const int64_t column = item % panels_ * gemm_.columns;
        const int n = int(std::min<int64_t>(gemm_.columns, plan_.n - column));
        source_.pack_panel(panel, column, n);
        const int64_t begin = item / panels_ * chunk_tiles_ * gemm_.rows;
        const int64_t end = std::min(count_, begin + chunk_tiles_ * gemm_.rows);
        alignas(kAlign) int32_t sums[kInt8MaxTileRows * kInt8MaxColumns];
        for (int64_t row = begin; row < end; row += gemm_.rows) {
            const int m = int(std::min<int64_t>(gemm_.rows, end - row));
            gemm_.tile(sums, panel, memory_.rows + size_t(row) * plan_.row_bytes, memory_.starts + row, m,
                       ceil_div(plan_.k, gemm_.step));
            scale(sums, gemm_.columns, row, m, column, n);
        }
    }

    void scale(const int32_t * sums, int64_t stride, int64_t row, int m, int64_t column, int n) const {
        const float * w_scale = result_.w_scale != nullptr ? result_.w_scale + column : nullptr;
        const float * bias = result_.bias != nullptr ? result_.bias + column : nullptr;
        for (int r = 0; r < m; ++r) {
            gemm_.scale_row(result_.y + (first_ + row + r) * plan_.n + column, sums + r * stride, n,
                            memory_.scales[row + r], w_scale, bias);
        }
    }

    void multiply_few(int64_t item, std::byte *) const {
        const int64_t begin = item * item_columns_, end = std::min(plan_.n, begin + item_columns_);
        for (int64_t column = begin; column < end; column += kColumns) {
            const int n = int(std::min<int64_t>(kColumns, end - column));
            for (int64_t row = 0; row < count_; row += kInt8DotRows) {
                const int m = int(std::min<int64_t>(kInt8DotRows, count_ - row));
                if (pieces_of(plan_.k) > 1) {
                    multiply_long(row, m, column, n);
                    continue;
                }
                int32_t sums[kInt8DotRows * kColumns];
                source_.dots(sums, kColumns, column, n, memory_.rows + size_t(row) * plan_.row_bytes,
                             plan_.row_bytes, memory_.starts + row, m, 0, plan_.k);
                scale(sums, kColumns, row, m, column, n);
            }
        }
    }

    void multiply_long(int64_t row, int m, int64_t column, int n) const {
        int64_t total[kInt8DotRows * kColumns] = {};
        for (int64_t p = 0; p < pieces_of(plan_.k); ++p) {
            const int64_t k0 = p * kPieceK;
            int32_t sums[kInt8DotRows * kColumns];
            source_.dots(sums, kColumns, column, n,
                         memory_.rows + size_t(row) * plan_.row_bytes + k0 * gemm_.act_bytes, plan_.row_bytes,
                         memory_.starts + p * plan_.block_rows + row, m, k0, std::min(kPieceK, plan_.k - k0));
            for (int r = 0; r < m; ++r) {
                for (int c = 0; c < n; ++c) total[r * kColumns + c] += sums[r * kColumns + c];
            }
        }
        for (int r = 0; r < m; ++r) {
            float * y = result_.y + (first_ + row + r) * plan_.n + column;
            for (int c = 0; c < n; ++c) {
                y[c] = float(total[r * kColumns + c]) * memory_.scales[row + r];
                if (result_.w_scale != nullptr) y[c] *= result_.w_scale[column + c];
                if (result_.bias != nullptr) y[c] += result_.bias[column + c];
            }
        }
    }

    // Weight rows that all groups of activation rows visit before the next ones.
    static constexpr int64_t kColumns = 16;

    const Int8Plan & plan_;
    const Int8Gemm & gemm_;
    const Int8Source & source_;
    const Int8Result & result_;
    const Memory & memory_;
    int64_t first_ = 0, count_ = 0; // the block of activation rows
    int64_t items_ = 0, panels_ = 0, chunk_tiles_ = 0, item_columns_ = 0;
};

} // namespace

Int8Plan int8_plan(const Int8Gemm & gemm, int64_t m, int64_t n, int64_t k, int n_threads, size_t room_extra) {
    Int8Plan plan = {&gemm, m, n, k, std::max(1, n_threads)};
    plan.tiles = m > kFewRows && k <= kInt8MaxK;
    size_t panel = 0;
    int64_t group = 1;
    if (plan.tiles) {
        plan.row_bytes = size_t(int8_padded(k, gemm.step)) * size_t(gemm.act_bytes);
        const int64_t most = std::max(kBlockRows, kBlockBytes / int64_t(plan.row_bytes));
        plan.block_rows = int8_padded(ceil_div(m, ceil_div(m, most)), gemm.rows);
        panel = int8_panel_bytes(gemm, k);
        group = gemm.rows;
    } else {
        // Rows a multiple of a page apart would fall into one set of the first-level cache.
        plan.row_bytes = aligned(size_t(int8_padded(k, gemm.row_pad)) * size_t(gemm.act_bytes));
        if (plan.row_bytes % 1024 == 0) plan.row_bytes += kAlign;
        plan.block_rows = std::min(m, kFewRows);
    }
    plan.thread_bytes = aligned(std::max(panel, size_t(group * k) + kAlign + room_extra));
    plan.starts = aligned(size_t(plan.block_rows) * plan.row_bytes);
    plan.scales = plan.starts + aligned(size_t(pieces_of(k) * plan.block_rows) * sizeof(int32_t));
    plan.threads = plan.scales + aligned(size_t(plan.block_rows) * sizeof(float));
    plan.workspace_bytes = plan.threads + size_t(plan.n_threads) * plan.thread_bytes + kAlign;
    return plan;
}

ggml_status int8_multiply(const Int8Plan & plan, const Int8Source & source, const Int8Result & result,
                          ggml_backend_t backend, void * workspace) {
    const Memory memory(plan, workspace);
    return Multiplication(plan, source, result, memory).run(backend);
}

} // namespace sd
