#include "tests/runtime/ext/replay/fixture.h"

#include "runtime/ext/registry/registry.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ggml::ext::test {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr size_t kTensorBytes = 1 << 10; // room for each

ggml_status prepare_kernel(const ggml_ext_prepare_params *, ggml_ext_prepared * prepared, void * user_data) {
    auto & kernel = *static_cast<TestKernel *>(user_data);
    ++kernel.prepared;
    prepared->workspace_bytes = kernel.workspace_bytes;
    return GGML_STATUS_SUCCESS;
}

void destroy_kernel(void *, void * user_data) { --static_cast<TestKernel *>(user_data)->prepared; }

ggml_status execute_kernel(const ggml_ext_execute_params * params, void *, void * user_data) {
    auto & kernel = *static_cast<TestKernel *>(user_data);
    ++kernel.executions;
    const ggml_tensor * node = params->step.nodes[0];
    const int64_t n = ggml_nelements(node);
    const bool squares = node->op == GGML_OP_SQR;
    const float sign = kernel.sign;
    const auto * from = static_cast<const float *>(real_address(node->src[0]));
    auto * to = static_cast<float *>(real_address(node));
    auto * scratch = static_cast<float *>(real_address(params->workspace));
    enqueue(params->backend, [=] {
        for (int64_t i = 0; i < n; ++i) {
            float value = squares ? from[i] * from[i] : -from[i];
            // Through the workspace where there is one, so that one that is gone is missed.
            if (scratch != nullptr) scratch[i] = value;
            if (scratch != nullptr) value = scratch[i];
            to[i] = sign * value;
        }
    });
    return kernel.in_execute ? kernel.in_execute(params->backend) : GGML_STATUS_SUCCESS;
}

void register_kernel(TestDevice & device, ggml_op op, const char * name, TestKernel & kernel) {
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = name;
    desc.op = op;
    desc.flags = kernel.flags;
    desc.supports = [](ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; };
    desc.prepare = prepare_kernel;
    desc.execute = execute_kernel;
    desc.destroy = destroy_kernel;
    desc.user_data = &kernel;
    EXPECT_EQ(ggml_ext_register_kernel_ex(device.device(), &desc), GGML_EXT_SUCCESS)
        << ggml_ext_last_message();
}

PlanRequest request_for(Lab & lab, Graph & graph) {
    PlanRequest request;
    request.backend = lab.backend.get();
    request.buft = lab.device.buffer_type();
    request.graph = graph.graph;
    request.policy = &lab.policy;
    request.placed = true;
    return request;
}

} // namespace

TestDeviceOptions recording_device() {
    TestDeviceOptions options;
    options.replay = true;
    options.fill_memory = false;
    return options;
}

Lab::Lab(uint32_t flags, TestDeviceOptions options)
    : device(std::move(options)), backend(device.new_backend()),
      buffer(ggml_backend_buft_alloc_buffer(device.buffer_type(), kBufferBytes)) {
    square.flags = negate.flags = flags;
    register_kernel(device, GGML_OP_SQR, "test.square", square);
    register_kernel(device, GGML_OP_UNARY, "test.negate", negate);
}

Lab::~Lab() {
    backend.reset();
    EXPECT_EQ(device.counters.recordings, 0);
    EXPECT_EQ(device.counters.failures, 0);
    EXPECT_EQ(square.prepared, 0);
    EXPECT_EQ(negate.prepared, 0);
    forget_device(device.device());
}

Graph::Graph(Lab & lab, const GraphSpec & spec)
    : scale(spec.scale), arena_(16 * ggml_tensor_overhead() + ggml_graph_overhead()),
      context_(ggml_init({arena_.size(), arena_.data(), /*no_alloc=*/true})),
      buffer_(spec.buffer != nullptr ? spec.buffer : lab.buffer.get()) {
    ggml_context * ctx = context_.get();
    a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, spec.n);
    b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, spec.n);
    squared = ggml_sqr(ctx, a);
    sum = spec.swapped ? ggml_add(ctx, b, squared) : ggml_add(ctx, squared, b);
    out = ggml_neg(ctx, sum);
    if (scale != 1) out = ggml_scale(ctx, out, scale);
    ggml_set_name(a, "a");
    ggml_set_name(b, "b");
    ggml_set_name(squared, "squared");
    ggml_set_name(sum, "sum");
    ggml_set_name(out, "out");
    graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, out);
    place_tensors(spec.place);
}

Graph::~Graph() {
    context_.reset();
    std::memset(arena_.data(), 0xdd, arena_.size());
}

void Graph::place_tensors(size_t place) {
    auto * base = static_cast<char *>(ggml_backend_buffer_get_base(buffer_));
    for (ggml_tensor * t = ggml_get_first_tensor(context_.get()); t != nullptr;
         t = ggml_get_next_tensor(context_.get(), t)) {
        EXPECT_EQ(ggml_backend_tensor_alloc(buffer_, t, base + place), GGML_STATUS_SUCCESS);
        place += kTensorBytes;
    }
}

void Graph::move(size_t place) {
    for (ggml_tensor * t = ggml_get_first_tensor(context_.get()); t != nullptr;
         t = ggml_get_next_tensor(context_.get(), t)) {
        t->data = nullptr;
        t->buffer = nullptr;
    }
    place_tensors(place);
}

void Graph::write(float a_value, float b_value) {
    for (const auto & [tensor, value] : {std::pair{a, a_value}, {b, b_value}}) {
        const std::vector<float> values(size_t(ggml_nelements(tensor)), value);
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    }
}

std::vector<float> Graph::read_out() const {
    std::vector<float> values(size_t(ggml_nelements(out)));
    ggml_backend_tensor_get(out, values.data(), 0, ggml_nbytes(out));
    return values;
}

std::vector<float> expected(const Graph & graph, float a, float b) {
    return std::vector<float>(size_t(ggml_nelements(graph.out)), -(a * a + b) * graph.scale);
}

Planned::Planned(Lab & l, Graph & g, std::shared_ptr<Workspace> shared)
    : lab(l), graph(g), plan(request_for(l, g)), workspace(std::move(shared)) {
    const PlanRequest request = request_for(l, g);
    select(plan, request);
    Verdict why;
    EXPECT_EQ(prepare(plan, request, &why), GGML_STATUS_SUCCESS) << why.message();
    if (workspace != nullptr || plan.workspace_bytes == 0) return;
    workspace = Workspace::allocate(request.buft, plan.workspace_bytes, &why);
    EXPECT_NE(workspace, nullptr) << why.message();
}

ggml_status Planned::execute(Verdict * why) { return replay.run(plan, workspace, enabled, why); }

ggml_ext_reason Planned::run(float a, float b) {
    graph.write(a, b);
    Verdict why;
    EXPECT_EQ(execute(&why), GGML_STATUS_SUCCESS) << why.message();
    ggml_backend_synchronize(lab.backend.get());
    return replay.last_miss().reason;
}

void Planned::run_until_captured() {
    run(1, 1);
    EXPECT_EQ(run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(run(1, 1), GGML_EXT_REASON_NONE);
}

} // namespace ggml::ext::test
