#include "kernels/cpu/book_matmul.h"

#include "ops/common/cpu.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

namespace sd {
namespace {

constexpr size_t kAlign = 64;

// Up to here looking levels up for every four rows wins over making panels.
constexpr int64_t kFewRows = 12;

// A panel, which every tile reads, and the part of a tile's activations it meets stay in the second and the
// first level of the cache.
constexpr int64_t kPanelK = 512;

// As in INT8 products: activations that stay in the last-level cache while the weights pass by, and enough of
// them to make up for making panels again for the next block.
constexpr int64_t kBlockBytes = int64_t(16) << 20, kBlockRows = 256;

// Multiplications, and activations to prepare, that are worth waking a thread.
constexpr int64_t kTaskProducts = int64_t(1) << 16, kTaskActivations = int64_t(1) << 17;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Multiplication {
  public:
    Multiplication(const BookPlan & plan, const BookOperands & operands, void * workspace)
        : plan_(plan), gemm_(*plan.gemm), in_(operands) {
        size_t space = plan.workspace_bytes;
        base_ = static_cast<std::byte *>(std::align(kAlign, 1, workspace, space));
        rows_ = reinterpret_cast<float *>(base_);
    }

    ggml_status run(ggml_backend_t backend) {
        for (first_ = 0; first_ < plan_.m; first_ += plan_.block_rows) {
            count_ = std::min(plan_.block_rows, plan_.m - first_);
            const int64_t group = plan_.tiles ? gemm_.rows : 1;
            const ggml_status prepared =
                phase(backend, ceil_div(count_, group), count_ * plan_.k / kTaskActivations,
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
    using Work = void (Multiplication::*)(int64_t item, float * room) const;

    // Items are taken one by one, so that a thread that is held up does less.
    ggml_status phase(ggml_backend_t backend, int64_t items, int64_t worth, Work work) {
        const int tasks = int(std::clamp<int64_t>(std::min(items, worth), 1, plan_.n_threads));
        std::atomic<int64_t> next = 0;
        return cpu_run(backend, tasks, [&](int ith, int) {
            auto * room = reinterpret_cast<float *>(base_ + plan_.threads + size_t(ith) * plan_.thread_bytes);
            for (int64_t i = next++; i < items; i = next++) (this->*work)(i, room);
        });
    }

    float * prepared(int64_t row) const { return rows_ + row * plan_.row_floats; }

    // Rows of a tile side by side, or one row.
    void prepare_group(int64_t item, float *) const {
        if (plan_.tiles) {
            const int64_t row = item * gemm_.rows, m = std::min<int64_t>(gemm_.rows, count_ - row);
            float * const out = prepared(row);
            for (int64_t r = 0; r < m; ++r) {
                const int8_t * codes = in_.codes + (first_ + row + r) * plan_.k;
                for (int64_t i = 0; i < plan_.k; ++i) out[i * m + r] = float(codes[i]);
            }
            return;
        }
        gemm_.prepare_row(prepared(item), in_.codes + (first_ + item) * plan_.k, plan_.k);
    }

    void split() {
        if (plan_.tiles) {
            panels_ = ceil_div(plan_.n, gemm_.columns);
            // Few panels: rows are divided too. A chunk must be worth making the panel once more for it.
            const int64_t tiles = ceil_div(count_, gemm_.rows), worth = ceil_div(64, gemm_.rows);
            const int64_t chunks =
                std::clamp<int64_t>(4 * plan_.n_threads / panels_, 1, std::max<int64_t>(1, tiles / worth));
            chunk_tiles_ = ceil_div(tiles, chunks);
            items_ = panels_ * ceil_div(tiles, chunk_tiles_);
            return;
        }
        constexpr int64_t kItemBytes = 1 << 17;
        item_columns_ = std::clamp<int64_t>(kItemBytes / plan_.k / kColumns * kColumns, kColumns, 4096);
        items_ = ceil_div(plan_.n, item_columns_);
    }

    void multiply_tiles(int64_t item, float * panel) const {
        const int64_t column = item % panels_ * gemm_.columns;
        const int n = int(std::min<int64_t>(gemm_.columns, plan_.n - column));
        const int64_t begin = item / panels_ * chunk_tiles_ * gemm_.rows;
        const int64_t end = std::min(count_, begin + chunk_tiles_ * gemm_.rows);
        for (int64_t k0 = 0; k0 < plan_.k; k0 += kPanelK) {
            const int64_t k = std::min(kPanelK, plan_.k - k0);
            gemm_.pack_panel(panel, in_.weights, column, n, k0, k);
            for (int64_t row = begin; row < end; row += gemm_.rows) {
                const int m = int(std::min<int64_t>(gemm_.rows, end - row));
                alignas(kAlign) float sums[kBookMaxTileRows * kBookMaxColumns];
                gemm_.tile(sums, panel, prepared(row) + k0 * m, m, k);
                for (int r = 0; r < m; ++r) {
                    float * y = y_at(row + r, column);
                    if (k0 == 0)
                        std::memcpy(y, sums + r * gemm_.columns, size_t(n) * sizeof(float));
                    else
                        gemm_.add_row(y, sums + r * gemm_.columns, n);
                    if (k0 + k == plan_.k) scale(row + r, column, n);
                }
            }
        }
    }

    void multiply_few(int64_t item, float *) const {
        const int64_t begin = item * item_columns_, end = std::min(plan_.n, begin + item_columns_);
        for (int64_t column = begin; column < end; column += kColumns) {
            const int n = int(std::min<int64_t>(kColumns, end - column));
            for (int64_t row = 0; row < count_; row += kBookDotRows) {
                const int m = int(std::min<int64_t>(kBookDotRows, count_ - row));
                gemm_.dots(y_at(row, column), plan_.n, in_.weights, column, n, prepared(row),
                           plan_.row_floats, m);
                for (int r = 0; r < m; ++r) scale(row + r, column, n);
            }
        }
    }

    float * y_at(int64_t row, int64_t column) const { return in_.y + (first_ + row) * plan_.n + column; }

    void scale(int64_t row, int64_t column, int n) const {
        gemm_.scale_row(y_at(row, column), n, in_.x_scale[first_ + row], in_.w_scale + column,
                        in_.bias != nullptr ? in_.bias + column : nullptr);
    }

    // Weight rows that all groups of activation rows visit before the next ones.
    static constexpr int64_t kColumns = 16;

    const BookPlan & plan_;
    const BookGemm & gemm_;
    const BookOperands & in_;
    std::byte * base_;
    float * rows_;
    int64_t first_ = 0, count_ = 0; // the block of activation rows
    int64_t items_ = 0, panels_ = 0, chunk_tiles_ = 0, item_columns_ = 0;
};

} // namespace

BookPlan book_plan(const BookGemm & gemm, int64_t m, int64_t n, int64_t k, int n_threads) {
    BookPlan plan = {&gemm, m, n, k, std::max(1, n_threads)};
    plan.tiles = m > kFewRows;
    if (plan.tiles) {
        plan.row_floats = k;
        const int64_t most = std::max(kBlockRows, kBlockBytes / (k * int64_t(sizeof(float))));
        plan.block_rows = ceil_div(ceil_div(m, ceil_div(m, most)), gemm.rows) * gemm.rows;
        plan.thread_bytes = aligned(size_t(gemm.columns) * size_t(std::min(k, kPanelK)) * sizeof(float));
    } else {
        // Rows a multiple of a page apart would fall into one set of the first-level cache.
        plan.row_floats = ceil_div(k, gemm.row_pad) * gemm.row_pad + int64_t(kAlign / sizeof(float));
        plan.block_rows = std::max<int64_t>(1, m);
    }
    plan.threads = aligned(size_t(plan.block_rows) * size_t(plan.row_floats) * sizeof(float));
    plan.workspace_bytes = plan.threads + size_t(plan.n_threads) * plan.thread_bytes + kAlign;
    return plan;
}

ggml_status book_multiply(const BookPlan & plan, const BookOperands & operands, ggml_backend_t backend,
                          void * workspace) {
    return Multiplication(plan, operands, workspace).run(backend);
}

} // namespace sd
