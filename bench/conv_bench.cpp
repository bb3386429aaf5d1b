// CONV_2D on ggml's layout against oneDNN called directly on the layout it likes best.
#include "bench/support/measure.h"
#include "bench/support/node.h"

#include <dnnl.hpp>

#include <cstdio>
#include <thread>

namespace {

struct Shape {
    const char * name;
    int64_t size, ic, oc, kernel;
    double aim;
};

double operations(const Shape & s) {
    return 2.0 * double(s.size * s.size) * double(s.ic * s.oc) * double(s.kernel * s.kernel);
}

// The bare convolution: no layout change, weights packed beforehand.
class Direct {
  public:
    explicit Direct(const Shape & s) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        using dnnl::memory;
        constexpr auto f32 = memory::data_type::f32;
        constexpr auto any = memory::format_tag::any;
        const memory::dims border{s.kernel / 2, s.kernel / 2};
        const dnnl::convolution_forward::primitive_desc pd(
            {dnnl::prop_kind::forward_inference,
             dnnl::algorithm::convolution_direct,
             memory::desc({1, s.ic, s.size, s.size}, f32, any),
             memory::desc({s.oc, s.ic, s.kernel, s.kernel}, f32, any),
             memory::desc({1, s.oc, s.size, s.size}, f32, any),
             {1, 1},
             border,
             border},
            engine_);
        conv_ = dnnl::convolution_forward(pd);
        const auto filled = [this](const memory::desc & desc) {
            memory m(desc, engine_);
            auto * at = static_cast<float *>(m.get_data_handle());
            for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) at[i] = float(i % 17) - 8;
            return m;
        };
        args_ = {{DNNL_ARG_SRC, filled(pd.src_desc())},
                 {DNNL_ARG_WEIGHTS, filled(pd.weights_desc())},
                 {DNNL_ARG_DST, filled(pd.dst_desc())}};
    }
    void run() {
        conv_.execute(stream_, args_);
        stream_.wait();
    }

  private:
    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::convolution_forward conv_;
    std::unordered_map<int, dnnl::memory> args_;
};

} // namespace

int main() {
    const ggml::cpu::Team team(int(std::thread::hardware_concurrency()));
    bench::Report report;
    constexpr Shape shapes[] = {
        {"conv_2d_3x3_512x512_64_64", 512, 64, 64, 3, 0.9},
        {"conv_2d_3x3_64x64_512_512", 64, 512, 512, 3, 0.9},
        {"conv_2d_3x3_512x512_3_128", 512, 3, 128, 3, 0.5},
        {"conv_2d_1x1_256x256_128_128", 256, 128, 128, 1, 0.5},
    };
    for (const Shape & s : shapes) {
        const auto bytes =
            size_t((s.ic + s.oc) * s.size * s.size + s.ic * s.oc * s.kernel * s.kernel) * sizeof(float);
        bench::Node node(bytes, team, [&](ggml_context * ctx) {
            return ggml_conv_2d_direct(ctx,
                                       ggml_new_tensor_4d(ctx, GGML_TYPE_F32, s.kernel, s.kernel, s.ic, s.oc),
                                       ggml_new_tensor_3d(ctx, GGML_TYPE_F32, s.size, s.size, s.ic), 1, 1,
                                       int(s.kernel / 2), int(s.kernel / 2), 1, 1);
        });
        Direct direct(s);
        const bench::Candidate candidates[] = {node.candidate(s.name, operations(s)),
                                               {"oneDNN", operations(s), [&direct] { direct.run(); }}};
        const bench::Timings t = bench::interleave(candidates, 7);
        std::printf("%s: %.1f GFLOP/s, oneDNN alone %.1f\n", s.name, t.rate(0) * 1e-9, t.rate(1) * 1e-9);
        report.ratio(s.name, t.rate_ratio(0, 1), s.aim);
    }
    return 0;
}
