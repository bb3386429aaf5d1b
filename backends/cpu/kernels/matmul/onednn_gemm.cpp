#include "backends/cpu/kernels/matmul/onednn_gemm.h"

#include "backends/cpu/room.h"
#include "runtime/base/log.h"

#include <dnnl.h>
#include <dnnl.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <unordered_map>

namespace ggml::cpu::matmul {
namespace {

ggml_status to_status(dnnl_status_t status) {
    if (status == dnnl_success) return GGML_STATUS_SUCCESS;
    GGML_LOG_ERROR("CPU: oneDNN sgemm failed with status %d\n", int(status));
    return status == dnnl_out_of_memory ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

// m, n, k, ldx, ldw, ldy and the thread count, which a primitive keeps from its creation.
using Key = std::array<int64_t, 7>;

struct Prepared {
    Key key;
    dnnl::matmul primitive;
    dnnl::memory x, w, y; // handles are set before each run
    size_t scratch_bytes;
};

struct AlignedDelete {
    void operator()(std::byte * p) const { ::operator delete (p, std::align_val_t{64}); }
};

// Prepared products of one driving thread, most recent first. Per thread, because a primitive's memory
// objects are not shared; creating one again is cheap, since oneDNN keeps generated code for the whole
// process.
class Cache {
  public:
    const Prepared & get(const Gemm & g, int n_threads) {
        const Key key{g.m, g.n, g.k, g.ldx, g.ldw, g.ldy, n_threads};
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->key != key) continue;
            entries_.splice(entries_.begin(), entries_, it);
            return entries_.front();
        }
        entries_.push_front(create(g, key));
        if (entries_.size() > kMaxEntries) entries_.pop_back();
        return entries_.front();
    }

    // Scratch of the primitives: they run one after the other, so one buffer serves all.
    void * scratch(size_t bytes) {
        if (bytes > capacity_) {
            memory_.reset();
            capacity_ = 0;
            memory_.reset(static_cast<std::byte *>(::operator new (bytes, std::align_val_t{64})));
            capacity_ = bytes;
        }
        return memory_.get();
    }

    dnnl::engine & engine() { return engine_; }
    dnnl::stream & stream() { return stream_; }

  private:
    // A model has a few dozen shapes; a list this long is still searched in well under a microsecond.
    static constexpr size_t kMaxEntries = 64;

    Prepared create(const Gemm & g, const Key & key) {
        using memory = dnnl::memory;
        const auto f32 = memory::data_type::f32;
        const memory::desc x({g.m, g.k}, f32, memory::dims{g.ldx, 1});
        const memory::desc w({g.k, g.n}, f32, memory::dims{1, g.ldw});
        const memory::desc y({g.m, g.n}, f32, memory::dims{g.ldy, 1});
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, w, y), attr, engine_);
        return {key,
                dnnl::matmul(pd),
                memory(x, engine_, DNNL_MEMORY_NONE),
                memory(w, engine_, DNNL_MEMORY_NONE),
                memory(y, engine_, DNNL_MEMORY_NONE),
                pd.scratchpad_desc().get_size()};
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    std::list<Prepared> entries_;
    std::unique_ptr<std::byte, AlignedDelete> memory_;
    size_t capacity_ = 0;
};

void run_prepared(Cache & cache, const Prepared & prepared, const Gemm & g) {
    using memory = dnnl::memory;
    prepared.x.set_data_handle(const_cast<float *>(g.x));
    prepared.w.set_data_handle(const_cast<float *>(g.w));
    prepared.y.set_data_handle(g.y);
    const memory::desc bytes({int64_t(prepared.scratch_bytes)}, memory::data_type::u8, memory::format_tag::a);
    void * scratch = prepared.scratch_bytes > 0 ? cache.scratch(prepared.scratch_bytes) : nullptr;
    const memory scratchpad = scratch != nullptr ? memory(bytes, cache.engine(), scratch) : memory();
    std::unordered_map<int, memory> args{
        {DNNL_ARG_SRC, prepared.x}, {DNNL_ARG_WEIGHTS, prepared.w}, {DNNL_ARG_DST, prepared.y}};
    if (scratch != nullptr) args[DNNL_ARG_SCRATCHPAD] = scratchpad;
    prepared.primitive.execute(cache.stream(), args);
    cache.stream().wait();
}

} // namespace

ggml_status gemm_here(const Gemm & g) {
    if (!has_room()) return report_no_room("a matrix product");
    return to_status(dnnl_sgemm('N', 'T', g.m, g.n, g.k, 1.0f, g.x, g.ldx, g.w, g.ldw, 0.0f, g.y, g.ldy));
}

ggml_status gemm_outer_here(const Gemm & g, bool accumulate) {
    if (!has_room()) return report_no_room("a matrix product");
    const float beta = accumulate ? 1.0f : 0.0f;
    return to_status(dnnl_sgemm('T', 'N', g.m, g.n, g.k, 1.0f, g.x, g.ldx, g.w, g.ldw, beta, g.y, g.ldy));
}

ggml_status gemm_team(const Gemm & g, int n_threads) {
    try {
        if (!has_room()) return report_no_room("a matrix product");
        thread_local Cache cache;
        run_prepared(cache, cache.get(g, n_threads), g);
        return GGML_STATUS_SUCCESS;
    } catch (const std::bad_alloc &) {
        GGML_LOG_ERROR("CPU: out of memory in a matrix product of %lld x %lld x %lld\n", (long long)g.m,
                       (long long)g.n, (long long)g.k);
        return GGML_STATUS_ALLOC_FAILED;
    } catch (const std::exception & e) {
        GGML_LOG_ERROR("CPU: oneDNN refused a matrix product of %lld x %lld x %lld: %s\n", (long long)g.m,
                       (long long)g.n, (long long)g.k, e.what());
        return GGML_STATUS_FAILED;
    }
}

} // namespace ggml::cpu::matmul
