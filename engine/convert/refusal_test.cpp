// What cannot be written, in the words people read; and that nothing is left behind then.
#include "convert/test_convert.h"

#include <csignal>
#include <sys/resource.h>

namespace sd {
namespace {

using test::TestModel;

class ConvertRefusal : public test::ConvertTest {
  protected:
    // A refusal leaves the folder as it was.
    std::string refused(const std::string & input, const std::string & output, const std::string & type = "",
                        const std::string & rules = "") const {
        const size_t before = files();
        const std::string line = run(input, output, type, rules);
        EXPECT_EQ(files(), before) << line;
        return line;
    }
};

TEST_F(ConvertRefusal, endings_say_what_to_write) {
    put_model("m.safetensors", {{"w", StoredType::f16, {2, 32}}});
    for (const char * output : {"out.bin", "out", "out.gguf.part", ".gguf"})
        EXPECT_EQ(refused("m.safetensors", output),
                  std::string(output) +
                      ": its ending does not say what to write (name the output *.safetensors or *.gguf)");
    EXPECT_EQ(run("m.safetensors", "OUT.GGUF"), "");
    EXPECT_EQ(container_kind(File::open(path("OUT.GGUF"))), ContainerKind::gguf);
}

TEST_F(ConvertRefusal, the_input_is_not_replaced) {
    put_model("m.safetensors", {{"w", StoredType::f16, {2, 32}}});
    const std::string before = bytes("m.safetensors");
    std::filesystem::create_symlink("m.safetensors", folder_ / "link.gguf");
    std::filesystem::create_directory_symlink(folder_, folder_ / "folder");
    for (const char * output : {"m.safetensors", "link.gguf", "folder/m.safetensors", "./m.safetensors"})
        EXPECT_EQ(refused("m.safetensors", output),
                  std::string(output) + ": is the file that is read (choose another output)");
    EXPECT_EQ(refused("link.gguf", "m.safetensors"),
              "m.safetensors: is the file that is read (choose another "
              "output)");
    EXPECT_EQ(bytes("m.safetensors"), before);
}

TEST_F(ConvertRefusal, blocks_in_safetensors) {
    put_model("m.safetensors", {{"n", StoredType::f16, {32}}, {"w", StoredType::f16, {2, 32}}});
    EXPECT_EQ(
        refused("m.safetensors", "out.safetensors", "q8_0"),
        "m.safetensors: tensor w: is to become q8_0, which safetensors cannot hold (name the output *.gguf, "
        "or choose f32, f16 or bf16)");
    EXPECT_EQ(
        refused("m.safetensors", "out.safetensors", "f16", "w=q4_0"),
        "m.safetensors: tensor w: is to become q4_0, which safetensors cannot hold (name the output *.gguf, "
        "or choose f32, f16 or bf16)");
    ASSERT_EQ(run("m.safetensors", "q.gguf", "q8_0"), "");
    EXPECT_EQ(
        refused("q.gguf", "out.safetensors"),
        "q.gguf: tensor w: is stored as q8_0, which safetensors cannot hold (add --type f16 or bf16, or "
        "name the output *.gguf)");
    put_model("e.safetensors", {{"embedding.w", StoredType::f16, {2, 32}}});
    EXPECT_EQ(run("q.gguf", "out.safetensors", "f16"), "");
}

TEST_F(ConvertRefusal, int8_and_int4_layers_in_gguf) {
    TestModel one = test::int8_layer(16, 16, R"({"format":"int8_tensorwise"})");
    put_model("one.safetensors", one);
    const std::string rest = " in an INT8 or INT4 ConvRot format, which GGUF cannot hold (name the output "
                             "*.safetensors, which keeps them as they are)";
    EXPECT_EQ(refused("one.safetensors", "out.gguf", "f16"),
              "one.safetensors: tensor l.weight: is a layer" + rest);
    one.add("k.weight", "I8", {4, 8}).floats("k.weight_scale", {4}, {1, 1, 1, 1});
    put_model("two.safetensors", one.marker("k", R"({"format":"convrot_w4a4","convrot_groupsize":16})"));
    EXPECT_EQ(refused("two.safetensors", "out.gguf", "f16"),
              "two.safetensors: tensor k.weight: is the first of 2 layers" + rest);
    for (const char * type : {"int8_tensorwise", "convrot_w4a4", "int8_convrot", "float8_e4m3fn"})
        EXPECT_EQ(refused("one.safetensors", "out.safetensors", type),
                  std::string("--type ") + type +
                      ": a layer format and no type; converting keeps layers in such formats and makes none "
                      "(-M quantize makes them)");
}

TEST_F(ConvertRefusal, small_floats_in_gguf_need_a_type) {
    put_model("m.safetensors", {{"w", StoredType::f8_e5m2, {2, 32}}});
    EXPECT_EQ(
        refused("m.safetensors", "out.gguf"),
        "m.safetensors: tensor w: is F8_E5M2, which GGUF cannot hold (add --type bf16, or another type)");
    TestModel scaled;
    scaled.add("l.weight", "F8_E4M3", {2, 32}).floats("l.weight_scale", {}, {2});
    put_model("s.safetensors", scaled.marker("l", R"({"format":"float8_e4m3fn"})"));
    EXPECT_EQ(refused("s.safetensors", "out.gguf"), "s.safetensors: tensor l.weight: is F8_E4M3, which GGUF "
                                                    "cannot hold (add --type bf16, or another type)");
}

TEST_F(ConvertRefusal, values_a_type_does_not_have_and_the_first_of_several_is_named) {
    std::vector<float> bad(1100000, 1.0f);
    bad[1099999] = 1e6f;
    put_model("m.safetensors", TestModel().floats("a", {1100000}, bad).floats("b", {2}, {1, 1e9f}));
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(refused("m.safetensors", "out.safetensors", "f16"),
                  "m.safetensors: tensor a: the value 1000000.000000 is beyond the range of f16");
    const uint64_t large = uint64_t(1) << 40;
    put_model("u.safetensors", TestModel().add("n", "U64", {1}, test::bytes_of<uint64_t>({large})));
    EXPECT_EQ(refused("u.safetensors", "out.gguf"), "u.safetensors: tensor n: an integer does not fit I32");
}

TEST_F(ConvertRefusal, places_that_cannot_be_written) {
    put_model("m.safetensors", {{"w", StoredType::f16, {2, 32}}});
    std::filesystem::create_directory(folder_ / "folder.gguf");
    EXPECT_EQ(refused("m.safetensors", "none/out.gguf"), "none/out.gguf: cannot be written: No such file or "
                                                         "directory");
    EXPECT_EQ(refused("m.safetensors", "folder.gguf"), "folder.gguf: is a folder (name a file in it)");
    std::filesystem::create_symlink("/dev/full", folder_ / "full.gguf");
    EXPECT_EQ(refused("m.safetensors", "full.gguf"), "full.gguf: cannot be written: No space left on device");
}

TEST_F(ConvertRefusal, a_full_disk_is_found_out_before_the_work) {
    put_model("m.safetensors", {{"w", StoredType::f16, {1 << 20}}});
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit old = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const rlimit small = {1u << 20, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string line = refused("m.safetensors", "out.gguf");
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_DFL);
    EXPECT_EQ(line, "out.gguf: cannot be written: File too large");
}

TEST_F(ConvertRefusal, a_cancelled_conversion_leaves_the_old_file) {
    put_model("m.safetensors", {{"w", StoredType::f32, {5, 1 << 20}}});
    put("out.gguf", "old");
    for (const int threads : {1, 3}) {
        for (const uint64_t stop : {0u, 1u, 4u << 20, 20u << 20, 21u << 20}) {
            ConvertRequest request;
            request.output = path("out.gguf");
            request.threads = threads;
            request.progress = [&](const char * what, uint64_t done, uint64_t) {
                return std::string(what) != "saving" && done < stop;
            };
            std::string code, line;
            try {
                convert(open(path("m.safetensors")), request);
            } catch (const Error & error) {
                code = error.parts().code;
                line = error.what();
            }
            EXPECT_EQ(code, "E_CANCELLED");
            EXPECT_EQ(line, "cancelled");
            EXPECT_EQ(bytes("out.gguf"), "old");
            EXPECT_EQ(files(), 2u);
        }
    }
}

TEST_F(ConvertRefusal, an_input_that_becomes_shorter) {
    put_model("m.safetensors", {{"w", StoredType::f32, {3, 1 << 20}}});
    const Checkpoint checkpoint = open(path("m.safetensors"));
    std::filesystem::resize_file(path("m.safetensors"), 6u << 20);
    const std::string line = run(checkpoint, "out.gguf");
    EXPECT_EQ(line.substr(0, 15), "m.safetensors: ") << line;
    EXPECT_EQ(files(), 1u);
    put_model("n.safetensors", {{"w", StoredType::f32, {2, 32}}});
    ASSERT_EQ(run("n.safetensors", "in.gguf"), "");
    const Checkpoint pairs = open(path("in.gguf"));
    std::filesystem::resize_file(path("in.gguf"), 30);
    EXPECT_EQ(run(pairs, "out.gguf").substr(0, 9), "in.gguf: ");
}

} // namespace
} // namespace sd
