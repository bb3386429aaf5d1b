#include "checkpoint/checkpoint.h"

#include "checkpoint/test_folder.h"

#include <algorithm>

namespace sd {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public test::TestFolder {
  protected:
    std::string refusal(Checkpoint & c, const std::string & path,
                        Component component = Component::model) const {
        return test::refusal_of([&] { c.add(path, component); });
    }
};

std::vector<std::string> names(const Checkpoint & c) {
    std::vector<std::string> all;
    for (const TensorInfo & t : c.tensors()) all.push_back(t.name);
    return all;
}

TEST_F(CheckpointTest, merges_files_of_components_under_their_prefixes) {
    Checkpoint c;
    c.add(put_tensors("d", {"first.weight", "diffusion_model.last"}), Component::diffusion);
    c.add(put_tensors("l", {"model.norm.weight"}), Component::llm);
    c.add(put_tensors("v", {"conv1.weight", "vae.conv2.weight"}), Component::vae);
    EXPECT_EQ(names(c), (std::vector<std::string>{
                            "model.diffusion_model.first.weight", "model.diffusion_model.last",
                            "text_encoders.llm.norm.weight", "vae.conv1.weight", "vae.conv2.weight"}));
    ASSERT_EQ(c.files().size(), 3u);
    EXPECT_EQ(c.files()[1].component, Component::llm);
    const TensorInfo & t = c.get("vae.conv1.weight");
    EXPECT_EQ(c.file_of(t).path(), path("v"));
    EXPECT_EQ(c.stored_name(t), "conv1.weight");
    EXPECT_EQ(c.stored_name(c.get("vae.conv2.weight")), "vae.conv2.weight");
    EXPECT_EQ(std::string(c.error(t, "E_X", "is odd", "look").what()),
              path("v") + ": tensor conv1.weight: is odd (look)");
    EXPECT_EQ(c.find("vae.conv3.weight"), nullptr);
    EXPECT_EQ(test::refusal_of([&] { c.get("vae.conv3.weight"); }), "tensor vae.conv3.weight: is missing");
}

TEST_F(CheckpointTest, a_tensor_two_files_have_is_refused_and_the_first_file_stays) {
    Checkpoint c;
    c.add(put_tensors("all", {"vae.conv1.weight", "b"}));
    EXPECT_EQ(refusal(c, put_tensors("v", {"conv1.weight"}), Component::vae),
              path("v") + ": tensor conv1.weight: is also in " + path("all") +
                  " (give each part of a model once)");
    EXPECT_EQ(names(c), (std::vector<std::string>{"b", "vae.conv1.weight"}));
    EXPECT_EQ(c.files().size(), 1u);
    EXPECT_EQ(test::refusal_of([&] { c.get("x"); }), path("all") + ": tensor x: is missing");
}

TEST_F(CheckpointTest, one_tensor_under_two_prefixes_in_one_file_is_refused) {
    Checkpoint c;
    EXPECT_EQ(refusal(c, put_tensors("m", {"vae.a", "first_stage_model.a"})),
              path("m") +
                  ": tensor vae.a: is in the file under several names for the same part (the file mixes "
                  "two models)");
}

TEST_F(CheckpointTest, files_that_cannot_be_opened_are_named) {
    Checkpoint c;
    EXPECT_EQ(refusal(c, path("none")), path("none") + ": No such file or directory");
    EXPECT_EQ(refusal(c, folder_.string()), folder_.string() + ": is a folder (name a file in it)");
    EXPECT_EQ(refusal(c, put("tiny", std::string("\4\0\0\0\0\0\0\0XXXXYYYY", 16))),
              path("tiny") + ": is not a model file: it begins like neither safetensors, GGUF nor PyTorch");
}

TEST_F(CheckpointTest, paths_may_have_any_characters) {
    Checkpoint c;
    c.add(put_tensors("модель 模型 ü.safetensors", {"a"}));
    put_tensors("ö/sh ard", {"b"});
    c.add(put("ö/é.index.json", R"({"weight_map":{"b":"sh ard"}})"));
    EXPECT_EQ(names(c), (std::vector<std::string>{"a", "b"}));
}

size_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    size_t total = 0, resident = 0;
    in >> total >> resident;
    return resident * size_t(::sysconf(_SC_PAGESIZE));
}

TEST_F(CheckpointTest, opening_20_gigabytes_touches_the_header_alone) {
    constexpr uint64_t kBytes = uint64_t(20) << 30;
    const std::string header = R"({"x":{"dtype":"U8","shape":[)" + std::to_string(kBytes) +
                               R"(],"data_offsets":[0,)" + std::to_string(kBytes) + "]}}";
    const std::vector<std::byte> start = test::safetensors_bytes(header, 0);
    put("big", std::string(reinterpret_cast<const char *>(start.data()), start.size()));
    fs::resize_file(path("big"), start.size() + kBytes); // sparse: takes no space
    const size_t before = resident_bytes();
    Checkpoint c;
    c.add(path("big"));
    const MappedFile map = MappedFile::map(c.files()[0].file);
    EXPECT_EQ(c.get("x").bytes, kBytes);
    EXPECT_EQ(map.data()[kBytes], std::byte(0));
    EXPECT_LT(resident_bytes() - before, size_t(16) << 20);
}

class ShardsTest : public CheckpointTest {
  protected:
    std::string index(const std::string & weight_map) const {
        return put("m.index.json",
                   R"({"metadata":{"total_size":9,"x":[{}]},"weight_map":)" + weight_map + "}");
    }
    std::string refusal_of_index(const std::string & weight_map) const {
        Checkpoint c;
        const std::string line = refusal(c, index(weight_map));
        EXPECT_EQ(c.tensors().size(), 0u);
        EXPECT_EQ(line.find(path("m.index.json") + ": "), 0u) << line;
        return line.substr(std::min(line.size(), path("m.index.json").size() + 2));
    }
};

TEST_F(ShardsTest, all_shards_are_read_each_once) {
    put_tensors("s1", {"a", "c"});
    put_tensors("sub/s2", {"b"});
    Checkpoint c;
    c.add(index(R"({"b":"sub/s2","a":"s1","c":"s1"})"), Component::vae);
    EXPECT_EQ(names(c), (std::vector<std::string>{"vae.a", "vae.b", "vae.c"}));
    ASSERT_EQ(c.files().size(), 2u);
    EXPECT_EQ(c.file_of(c.get("vae.b")).path(), path("sub/s2"));
    EXPECT_EQ(c.files()[0].container.warnings.size(), 0u);
}

TEST_F(ShardsTest, tensors_beyond_the_index_are_used_and_copies_of_listed_ones_are_not) {
    put_tensors("s1", {"a", "more", "b"});
    put_tensors("s2", {"b"});
    Checkpoint c;
    c.add(index(R"({"a":"s1","b":"s2"})"));
    EXPECT_EQ(names(c), (std::vector<std::string>{"a", "b", "more"}));
    EXPECT_EQ(c.file_of(c.get("b")).path(), path("s2"));
    EXPECT_EQ(c.files()[0].container.warnings,
              (std::vector<std::string>{
                  "1 tensor (more) of this shard the index does not list",
                  "1 tensor (b) of this shard the index lists for another shard, and are not used"}));
}

TEST_F(ShardsTest, a_shard_or_a_tensor_that_is_not_there_is_named) {
    put_tensors("s1", {"a"});
    EXPECT_EQ(
        refusal_of_index(R"({"a":"s1","b":"s2"})"),
        R"(its shard "s2" cannot be opened: No such file or directory (all shards belong into the folder )"
        "of the index)");
    EXPECT_EQ(refusal_of_index(R"({"a":"s1","b":"s1"})"),
              "tensor b: is not in the shard s1, where the index has it (index and shards are of different "
              "downloads: fetch them again)");
}

TEST_F(ShardsTest, a_broken_shard_is_named_with_its_index) {
    put("s1", "nothing");
    Checkpoint c;
    const std::string line = index(R"({"a":"s1"})"), of = "; the file is a shard of " + line;
    EXPECT_EQ(refusal(c, line),
              path("s1") + ": is not a model file: it begins like neither safetensors, GGUF nor PyTorch" +
                  of);
    put_tensors("s1", {"a"});
    std::filesystem::resize_file(path("s1"), std::filesystem::file_size(path("s1")) - 1);
    EXPECT_NE(refusal(c, line).find(of), std::string::npos);
    put_tensors("s1", {"a"});
    c.add(line);
    EXPECT_EQ(c.error(c.get("a"), "E_X", "is wrong", "mend it").what(),
              path("s1") + ": tensor a: is wrong" + of + " (mend it)");
    put_tensors("alone", {"b"});
    c.add(path("alone"));
    EXPECT_EQ(c.error(c.get("b"), "E_X", "is wrong", {}).what(), path("alone") + ": tensor b: is wrong");
}

TEST_F(ShardsTest, paths_that_leave_the_folder_are_refused) {
    put_tensors("s1", {"a"});
    put("in/x", "");
    const std::string outside = " is outside the folder of the index (do not trust this file)";
    for (const std::string shard : {"../s1", "in/../../s1", "/etc/passwd", "in/..", ".."}) {
        EXPECT_EQ(refusal_of_index(R"({"a":")" + shard + R"("})"), "the shard \"" + shard + "\"" + outside);
    }
    EXPECT_EQ(refusal_of_index(R"({"a":""})"), "the shard \"\" has no legal name");
    EXPECT_EQ(refusal_of_index(R"({"a":"s\u00001"})"), R"(the shard "s\x001" has no legal name)");
    const std::string longest(1025, 's');
    EXPECT_EQ(refusal_of_index(R"({"a":")" + longest + R"("})"),
              "the shard \"" + longest.substr(0, 120) + "...\" has no legal name");
}

TEST_F(ShardsTest, links_that_leave_the_folder_are_refused) {
    put_tensors("outside", {"a"});
    put("model/m.index.json", R"({"weight_map":{"a":"s1"}})");
    fs::create_symlink("../outside", folder_ / "model/s1");
    const std::string expected =
        path("model/m.index.json") +
        R"(: its shard "s1" is a link that leaves the folder of the index (put the file )"
        "itself there)";
    Checkpoint c;
    EXPECT_EQ(refusal(c, path("model/m.index.json")), expected);
    fs::remove(folder_ / "model/s1");
    fs::create_symlink(folder_, folder_ / "model/up");
    put("model/m.index.json", R"({"weight_map":{"a":"up/outside"}})");
    EXPECT_NE(refusal(c, path("model/m.index.json")).find("is a link that leaves the folder"),
              std::string::npos);
    fs::create_symlink("s1", folder_ / "model/s1");
    put("model/m.index.json", R"({"weight_map":{"a":"s1"}})");
    EXPECT_NE(refusal(c, path("model/m.index.json")).find("Too many levels of symbolic links"),
              std::string::npos);
}

TEST_F(ShardsTest, links_within_the_folder_and_caches_of_links_are_followed) {
    put_tensors("cache/blobs/01", {"a"});
    put("cache/blobs/02", R"({"weight_map":{"a":"s1"}})");
    fs::create_directories(folder_ / "cache/snapshot");
    fs::create_symlink("../blobs/01", folder_ / "cache/snapshot/s1");
    fs::create_symlink("../blobs/02", folder_ / "cache/snapshot/m.index.json");
    Checkpoint c;
    c.add(path("cache/snapshot/m.index.json"));
    EXPECT_EQ(names(c), std::vector<std::string>{"a"});
    put_tensors("real", {"b"});
    fs::create_symlink("real", folder_ / "link");
    c.add(index(R"({"b":"link"})"));
    EXPECT_EQ(names(c), (std::vector<std::string>{"a", "b"}));
}

TEST_F(ShardsTest, an_index_beside_the_working_folder_is_found) {
    put_tensors("s1", {"a"});
    index(R"({"a":"s1"})");
    const fs::path before = fs::current_path();
    fs::current_path(folder_);
    Checkpoint c;
    c.add("m.index.json");
    fs::current_path(before);
    EXPECT_EQ(names(c), std::vector<std::string>{"a"});
}

TEST_F(ShardsTest, an_index_of_wrong_types_is_refused) {
    const std::string objects = "its weight_map is not an object of file names";
    for (const char * value : {"5", "null", "\"s1\"", "[]"}) EXPECT_EQ(refusal_of_index(value), objects);
    const std::string strings = R"(weight_map: the value of "a" is not the name of a file)";
    for (const char * value : {"5", "null", "{}", "[]"}) {
        EXPECT_EQ(refusal_of_index(std::string(R"({"a":)") + value + "}"), strings);
    }
    EXPECT_EQ(refusal_of_index("{}"), "its weight_map is empty");
    EXPECT_EQ(refusal_of_index(R"({"a":"s","a":"s"})"), R"(weight_map: "a" appears twice)");
    EXPECT_EQ(refusal_of_index(R"({"a":"s"},"weight_map":{})"), "weight_map appears twice");
    EXPECT_EQ(refusal_of_index(R"({"a":"s"}} x)"),
              "the index is not JSON at byte 63 (the file is damaged, or not what it claims)");
    Checkpoint c;
    EXPECT_EQ(refusal(c, put("config.json", R"({"model":{"weight_map":{"a":"s"}}})")),
              path("config.json") + ": has no weight_map: it is JSON, but not the index of a model (name the "
                                    "model's file, or its .index.json)");
}

TEST_F(ShardsTest, there_are_at_most_a_thousand) {
    std::string map = "{";
    for (int i = 0; i < 1001; ++i) {
        map += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"s" + std::to_string(i) + '"';
    }
    EXPECT_EQ(refusal_of_index(map + "}"), "has more than 1000 shards");
}

} // namespace
} // namespace sd
