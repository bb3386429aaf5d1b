#include "ops/common/test_graph.h"

#include "ggml-cpu.h"
#include "ggml-sched.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sd::test {
namespace {

// A graph allocated in a scheduler on the CPU, for one run.
struct Session {
    ggml_context_ptr ctx;
    ggml_backend_ptr backend;
    ggml_backend_sched_ptr sched;
    ggml_cgraph * graph = nullptr;
    ggml_tensor * result = nullptr;
    bool allocated = false;

    Session(const Build & build, const RunOptions & options) {
        ctx.reset(ggml_init({8u << 20, nullptr, true}));
        backend.reset(ggml_backend_dev_init(cpu_device(), nullptr));
        ggml_backend_cpu_set_n_threads(backend.get(), options.n_threads);
        ggml_backend_cpu_set_abort_callback(backend.get(), options.abort, nullptr);
        ggml_backend_t backends[] = {backend.get()};
        sched.reset(ggml_backend_sched_new(backends, nullptr, 1, 64, false, true));
        set_policy(options);
        result = build(ctx.get());
        if (result == nullptr) return;
        if (options.result_in != nullptr) place_result(options);
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, result);
        if (options.edit) options.edit(graph);
        allocated = ggml_backend_sched_alloc_graph(sched.get(), graph);
    }

    void set_policy(const RunOptions & options) {
        std::vector<const char *> disabled;
        for (const std::string & name : options.disabled) disabled.push_back(name.c_str());
        ggml_ext_policy policy = ggml_ext_policy_default();
        policy.kernels = true;
        policy.fusion = options.fusion;
        policy.disabled = disabled.data();
        policy.n_disabled = disabled.size();
        EXPECT_EQ(ggml_ext_sched_set_policy(sched.get(), &policy), GGML_EXT_SUCCESS);
    }

    void place_result(const RunOptions & options) {
        void * address = static_cast<char *>(options.result_in->data) + options.result_offset;
        EXPECT_EQ(ggml_backend_tensor_alloc(options.result_in->buffer, result, address), GGML_STATUS_SUCCESS);
    }
};

// Puts the bytes of a tensor's buffer back when it ends.
class Restore {
  public:
    explicit Restore(const ggml_tensor * t) {
        if (t == nullptr) return;
        base_ = static_cast<char *>(ggml_backend_buffer_get_base(t->buffer));
        bytes_.assign(base_, base_ + ggml_backend_buffer_get_size(t->buffer));
    }
    ~Restore() { std::copy(bytes_.begin(), bytes_.end(), base_); }
    Restore(const Restore &) = delete;
    Restore & operator=(const Restore &) = delete;

  private:
    char * base_ = nullptr;
    std::vector<char> bytes_;
};

Outcome read(ggml_status status, const ggml_tensor * result, const void * data) {
    Outcome outcome{status, {}, {}};
    std::copy(result->ne, result->ne + GGML_MAX_DIMS, outcome.ne.begin());
    const auto * bytes = static_cast<const uint8_t *>(data);
    if (ggml_nbytes(result) > 0) outcome.bytes.assign(bytes, bytes + ggml_nbytes(result));
    return outcome;
}

// Views made inside `build` have no address before a scheduler gives one.
void give_addresses(ggml_tensor * t) {
    if (t == nullptr || t->data != nullptr || t->view_src == nullptr) return;
    give_addresses(t->view_src);
    if (t->view_src->data != nullptr) t->data = static_cast<char *>(t->view_src->data) + t->view_offs;
}

using Same = std::function<bool(float actual, float expected)>;

bool expect_floats(const Outcome & actual, const Outcome & expected, const std::string & what,
                   const Same & same) {
    const std::vector<float> a = actual.floats(), b = expected.floats();
    if (actual.status != GGML_STATUS_SUCCESS || expected.status != GGML_STATUS_SUCCESS ||
        actual.ne != expected.ne || a.size() != b.size()) {
        ADD_FAILURE() << what << ": status " << actual.status << ", " << a.size() << " elements; expected "
                      << expected.status << ", " << b.size() << "; " << ggml_ext_last_message();
        return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
        if (same(a[i], b[i]) || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
        ADD_FAILURE() << what << ": element " << i << " of " << a.size() << ", row "
                      << i / size_t(std::max<int64_t>(actual.ne[0], 1)) << ", is " << a[i] << " and not "
                      << b[i];
        return false;
    }
    return true;
}

} // namespace

ggml_backend_dev_t cpu_device() {
    static const ggml_backend_dev_t device = [] {
        ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
        EXPECT_EQ(sd_ggml_register_extensions(cpu), GGML_EXT_SUCCESS) << ggml_ext_last_message();
        return cpu;
    }();
    return device;
}

Inputs::Inputs(uint32_t seed) : ctx_(ggml_init({1u << 20, nullptr, true})), random_(seed) { cpu_device(); }

ggml_tensor * Inputs::tensor(ggml_type type, Sizes ne, Rows rows) {
    Sizes owner = ne;
    if (rows == Rows::padded) owner[0] += 8;
    if (rows == Rows::sparse) owner[0] *= 2;
    if (rows == Rows::permuted) std::swap(owner[1], owner[2]);
    ggml_tensor * t = ggml_new_tensor(ctx_.get(), type, GGML_MAX_DIMS, owner.data());
    const size_t bytes = ggml_nbytes(t) + 1; // an empty tensor has an address too
    buffers_.emplace_back(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), bytes));
    ggml_backend_buffer_t buffer = buffers_.back().get();
    ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer));
    ggml_backend_buffer_clear(buffer, 0);
    switch (rows) {
    case Rows::contiguous: return t;
    case Rows::permuted: return ggml_permute(ctx_.get(), t, 0, 2, 1, 3);
    case Rows::padded:
        return ggml_view_4d(ctx_.get(), t, ne[0], ne[1], ne[2], ne[3], t->nb[1], t->nb[2], t->nb[3],
                            3 * t->nb[0]);
    case Rows::sparse:
        ggml_tensor * view =
            ggml_view_4d(ctx_.get(), t, ne[0], ne[1], ne[2], ne[3], t->nb[1], t->nb[2], t->nb[3], 0);
        view->nb[0] *= 2;
        return view;
    }
    return nullptr;
}

ggml_tensor * Inputs::floats(Sizes ne, Rows rows, float lo, float hi) {
    ggml_tensor * t = tensor(GGML_TYPE_F32, ne, rows);
    ggml_tensor * owner = t->view_src != nullptr ? t->view_src : t;
    std::uniform_real_distribution<float> values(lo, hi);
    auto * p = static_cast<float *>(owner->data);
    std::generate(p, p + ggml_nelements(owner), [&] { return values(random_); });
    return t;
}

ggml_tensor * Inputs::bytes(Sizes ne) {
    ggml_tensor * t = tensor(GGML_TYPE_I8, ne);
    auto * p = static_cast<int8_t *>(t->data);
    std::generate(p, p + ggml_nelements(t), [&] { return int8_t(random_() >> 24); });
    return t;
}

float & at(ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    char * p = static_cast<char *>(t->data) + size_t(i0) * t->nb[0] + size_t(i1) * t->nb[1] +
               size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
    return *reinterpret_cast<float *>(p);
}

std::vector<float> Outcome::floats() const {
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

std::vector<std::string> all_but(const std::vector<std::string> & names, const std::string & name) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    std::vector<std::string> others;
    std::copy_if(names.begin(), names.end(), std::back_inserter(others),
                 [&](const std::string & other) { return other != name; });
    return others;
}

Outcome run(const Build & build, const RunOptions & options) {
    const Restore restore(options.result_in);
    const Session session(build, options);
    if (!session.allocated) return {};
    const ggml_status status = ggml_backend_sched_graph_compute(session.sched.get(), session.graph);
    return read(status, session.result, session.result->data);
}

int fused_away(const Build & build, const RunOptions & options) {
    const Session session(build, options);
    if (!session.allocated) return -1;
    ggml_tensor ** nodes = ggml_graph_nodes(session.graph);
    return int(std::count_if(nodes, nodes + ggml_graph_n_nodes(session.graph), [](const ggml_tensor * t) {
        return t->data == nullptr && ggml_nelements(t) > 0;
    }));
}

Outcome reference(const Build & build, ggml_ext_reference_t compute) {
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor * result = build(ctx.get());
    if (result == nullptr) return {};
    for (ggml_tensor * src : result->src) give_addresses(src);
    std::vector<float> storage(ggml_nbytes(result) / sizeof(float) + 1);
    result->data = storage.data();
    const ggml_status status = compute(result, nullptr);
    return read(status, result, storage.data());
}

bool expect_same_floats(const Outcome & actual, const Outcome & expected, const std::string & what) {
    return expect_floats(actual, expected, what, [](float a, float b) {
        return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    });
}

bool expect_close_floats(const Outcome & actual, const Outcome & expected, double max_abs, double max_rel,
                         const std::string & what) {
    return expect_floats(actual, expected, what, [&](float a, float b) {
        if (std::isinf(a) || std::isinf(b)) return a == b;
        return std::fabs(double(a) - double(b)) <= max_abs + max_rel * std::fabs(double(b));
    });
}

} // namespace sd::test
