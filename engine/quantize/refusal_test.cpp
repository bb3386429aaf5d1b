// What is not quantized, in the words people read; and that nothing is left behind then.
#include "quantize/test_quantize.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

namespace sd {
namespace {

using test::bytes_of;
using test::TestModel;

class QuantizeRefusal : public test::QuantizeTest {
  protected:
    // A refusal leaves the folder as it was.
    std::string refused(const std::string & input, const QuantizeRequest & request) const {
        const size_t before = files();
        const std::string line = refusal_line(input, request);
        EXPECT_EQ(files(), before) << line;
        return line;
    }
    QuantizeRequest usual(const std::string & output = "out.safetensors") const {
        return request(output, "int8-convrot");
    }
};

TEST_F(QuantizeRefusal, outputs_that_cannot_be) {
    put_weights("in.safetensors", {{"l.weight", 2, 64}});
    const std::string before = bytes("in.safetensors");
    std::filesystem::create_symlink("in.safetensors", folder_ / "link.safetensors");
    std::filesystem::create_directory(folder_ / "folder.safetensors");
    put("old.safetensors", "old");
    put("taken.safetensors.part", "of somebody");
    ASSERT_EQ(::mkfifo(path("pipe.safetensors").c_str(), 0600), 0);
    for (const char * output : {"in.safetensors", "link.safetensors"}) {
        QuantizeRequest r = usual(output);
        r.replace = true;
        EXPECT_EQ(refused("in.safetensors", r),
                  std::string(output) + ": is the file that is read (choose another output)");
    }
    EXPECT_EQ(refused("in.safetensors", usual("out.gguf")),
              "out.gguf: layers in INT8 and INT4 formats are written to safetensors files (name the output "
              "*.safetensors)");
    EXPECT_EQ(refused("in.safetensors", usual("old.safetensors")),
              "old.safetensors: exists already (--force replaces it)");
    EXPECT_EQ(refused("in.safetensors", usual("folder.safetensors")),
              "folder.safetensors: is a folder (name a file in it)");
    EXPECT_EQ(refused("in.safetensors", usual("pipe.safetensors")),
              "pipe.safetensors: is no ordinary file (choose another output)");
    EXPECT_EQ(refused("in.safetensors", usual("taken.safetensors")),
              "taken.safetensors.part: exists already (is it of use? remove it or choose another output)");
    EXPECT_EQ(refused("in.safetensors", usual("none/out.safetensors")),
              "none/out.safetensors: cannot be written: No such file or directory");
    EXPECT_EQ(bytes("in.safetensors"), before);
    EXPECT_EQ(bytes("old.safetensors"), "old");
}

TEST_F(QuantizeRefusal, force_replaces_the_file_a_link_points_to_and_keeps_its_permissions) {
    put_weights("in.safetensors", {{"l.weight", 2, 64}});
    put("old.safetensors", "old");
    ::chmod(path("old.safetensors").c_str(), 0640);
    std::filesystem::create_symlink("old.safetensors", folder_ / "link.safetensors");
    QuantizeRequest r = usual("link.safetensors");
    r.replace = true;
    EXPECT_EQ(refusal_line("in.safetensors", r), "");
    EXPECT_TRUE(std::filesystem::is_symlink(path("link.safetensors")));
    EXPECT_NE(bytes("old.safetensors"), "old");
    struct stat info = {};
    ::stat(path("old.safetensors").c_str(), &info);
    EXPECT_EQ(info.st_mode & 0777, 0640u);
    EXPECT_EQ(files(), 3u);
}

TEST_F(QuantizeRefusal, weights_that_are_not_finite_are_named_the_first_of_them_whatever_the_threads) {
    std::vector<float> w(6000 * 512, 0.01f);
    w[4100 * 512 + 7] = NAN;
    w[5900 * 512 + 1] = INFINITY;
    w[4100 * 512 + 9] = -INFINITY;
    put_model("in.safetensors", TestModel()
                                    .floats("good.weight", {4, 16}, std::vector<float>(64, 1.0f))
                                    .floats("l.weight", {6000, 512}, w)
                                    .floats("bad.weight", {1, 16}, std::vector<float>(16, NAN)));
    for (const int threads : {1, 2, 8}) {
        QuantizeRequest r = usual();
        r.threads = threads;
        EXPECT_EQ(refused("in.safetensors", r),
                  "in.safetensors: tensor l.weight: is NaN in row 4100, column 7 "
                  "(--allow-nonfinite takes such values for 0)");
    }
    QuantizeRequest r = usual();
    r.allow_nonfinite = r.verify = true;
    const QuantizeReport report = quantized("in.safetensors", r);
    EXPECT_EQ(report.layers.at(0).nonfinite, 0);
    EXPECT_EQ(report.layers.at(1).nonfinite, 3);
    EXPECT_EQ(report.layers.at(2).nonfinite, 16);
    EXPECT_EQ(report.warnings.at(0), "l: 3 values that are not finite count as 0");
    const Checkpoint out = open(r.output);
    std::vector<float> v(w.size());
    read_dequantized(out, module_of(find_quant_modules(out), "l"), GGML_TYPE_F32, v.data());
    EXPECT_NEAR(v[4100 * 512 + 7], 0, 1e-3);
    EXPECT_NEAR(v[4100 * 512 + 8], 0.01, 1e-3);
}

TEST_F(QuantizeRefusal, values_whose_rotation_overflows) {
    std::vector<float> w(32, 3e38f);
    w[31] = -3e38f;
    put_model("in.safetensors", TestModel().floats("l.weight", {2, 16}, w));
    QuantizeRequest r = usual();
    for (const bool allow : {false, true}) {
        r.allow_nonfinite = allow;
        EXPECT_EQ(refused("in.safetensors", r), "in.safetensors: tensor l.weight: has values in row 1 that "
                                                "are too large to be rotated (leave the "
                                                "layer as it is with --exclude)");
    }
}

TEST_F(QuantizeRefusal, files_without_a_layer_to_quantize) {
    put_weights("in.safetensors", {{"first.weight", 2, 64}}, {{"n.weight", StoredType::f32, {4}}});
    EXPECT_EQ(
        refused("in.safetensors", usual()),
        "in.safetensors: no layer of it is to be quantized (see --preset, --include, --exclude and --rules)");
}

TEST_F(QuantizeRefusal, inputs_that_are_cut_short) {
    put_weights("in.safetensors", {{"l.weight", 2000, 512}});
    const Checkpoint checkpoint = open(path("in.safetensors"));
    std::filesystem::resize_file(path("in.safetensors"), 1000000);
    const size_t before = files();
    const std::string line = short_line(test::refusal_of([&] { quantize(checkpoint, usual()); }));
    EXPECT_EQ(line.substr(0, 16), "in.safetensors: ") << line;
    EXPECT_EQ(files(), before);
}

TEST_F(QuantizeRefusal, a_disk_without_room) {
    put_weights("in.safetensors", {{"l.weight", 256, 512}});
    struct rlimit before = {}, little = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 10000;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const std::string line = refused("in.safetensors", usual());
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(line, "out.safetensors: cannot be written: File too large");
}

TEST_F(QuantizeRefusal, progress_can_stop_it_and_there_is_no_output_then) {
    put_weights("in.safetensors", {{"l.weight", 4096, 512}, {"m.weight", 64, 64}});
    for (const std::string phase : {"quantizing", "verifying", "saving"}) {
        QuantizeRequest r = usual();
        r.verify = true;
        int calls = 0;
        uint64_t last = 0;
        r.progress = [&](const char * what, uint64_t done, uint64_t total) {
            if (what != phase) return true;
            EXPECT_GE(done, last);
            EXPECT_LE(done, total);
            last = done;
            return ++calls < 2 && phase != "saving";
        };
        const std::string line = refusal_line("in.safetensors", r);
        EXPECT_TRUE(line.starts_with("out.safetensors: cancelled; ")) << line;
        EXPECT_FALSE(std::filesystem::exists(r.output));
        std::filesystem::remove(r.output + ".part");
        std::filesystem::remove(r.output + ".part.journal");
        EXPECT_GE(calls, 1);
    }
}

TEST_F(QuantizeRefusal, errors_above_the_limit_fail_with_the_file_and_the_report) {
    put_weights("in.safetensors", {{"a.weight", 16, 256}, {"b.weight", 16, 256}});
    QuantizeRequest r = request("out.safetensors", "w4a4");
    r.selection.exclude = "none";
    r.fail_above = 0.5;
    EXPECT_FALSE(quantized("in.safetensors", r).problem);
    r.fail_above = 0.01;
    r.replace = true;
    const QuantizeReport report = quantized("in.safetensors", r);
    ASSERT_TRUE(report.problem);
    EXPECT_EQ(report.problem->parts().code, "E_QUALITY");
    EXPECT_NE(std::string(report.problem->what()).find(" is above --fail-above 0.01, as that of 1 other"),
              std::string::npos)
        << report.problem->what();
    EXPECT_TRUE(std::filesystem::exists(r.output));
    r.fail_above = NAN;
    EXPECT_EQ(refusal_line("in.safetensors", r), "--fail-above: is below 0 or no number");
}

} // namespace
} // namespace sd
