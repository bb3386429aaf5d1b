// pytorch_seeds FOLDER: copies the files of tests/data/pytorch, which Python's pickle and zipfile wrote, and
// adds some with opcodes that those have not.
#include "engine/checkpoint/pytorch/test_files.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace sd::pytorch::test;

void write(const std::filesystem::path & path, const std::string & bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

Pickle rare() {
    const TestTensor t{"0", "FloatStorage", 6, 0, {2, 3}, {3, 1}};
    Pickle p;
    p.proto(5).dict().mark().text("model").global("collections", "OrderedDict").list().list();
    p.text("w").raw("a").tensor(t).raw("aa\x85R").text("typed").typed_tensor({"1", "", 8, 0, {8}, {1}},
                                                                             "int8");
    p.text("list").list().mark().tensor(t).none().appends().text("set").raw("\x8f(K\x01\x90");
    p.text("frozen").raw("(K\x01\x91").text("size").global("torch", "Size").integers({1, 2}).raw("\x85R");
    p.text("long").raw("\x8b").raw(number(int32_t(9))).raw(std::string(9, 'l'));
    p.text("object").global("my", "Class").empty_tuple().raw("\x81").dict().raw("b");
    return p.items().stop();
}

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: pytorch_seeds FOLDER\n");
        return 1;
    }
    const std::filesystem::path folder = argv[1];
    for (const auto & entry : std::filesystem::directory_iterator(CONVROT_TEST_DATA "/pytorch")) {
        if (entry.path().extension() == ".py") continue;
        std::filesystem::copy_file(entry.path(), folder / entry.path().filename(),
                                   std::filesystem::copy_options::overwrite_existing);
    }
    write(folder / "rare.pt", torch_zip(rare(), {std::string(24, 'f'), std::string(8, 'i')}));
    write(folder / "rare_legacy.pt", torch_legacy(rare(), {std::string(24, 'f'), std::string(8, 'i')}, 1));
    write(folder / "wide.pt", zip({{"m/data.pkl", rare().bytes}, {"m/data/0", std::string(24, 'f')}}, true));
    return 0;
}
