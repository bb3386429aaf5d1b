#include "api/context_files.h"

#include "base/error.h"
#include "checkpoint/test_folder.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

class ContextFiles : public test::TestFolder {
  protected:
    // What find_vocabulary opens must be among what vocabulary_files lists.
    void expect_covers(const std::string & model, const std::string & given, size_t count) const {
        ReadFiles opened;
        {
            const ReadFiles::Recording recording(opened);
            find_vocabulary(model, given);
        }
        EXPECT_EQ(opened.paths().size(), count) << model << " " << given;
        ReadFiles listed;
        for (const std::string & path : vocabulary_files({model}, given)) listed.add(path);
        for (const std::string & path : opened.paths()) EXPECT_TRUE(listed.has(path)) << path;
    }
};

TEST_F(ContextFiles, vocabularies_are_all_that_may_be_opened) {
    const std::string json = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";
    put("json/tokenizer.json", json);
    put("files/vocab.json", R"({"a":0})");
    put("files/merges.txt", "");
    put("prefixed/tokenizer-vocab.json", R"({"a":0})");
    put("prefixed/tokenizer-merges.txt", "");
    put("named/my-vocab.json", R"({"a":0})");
    put("named/my-merges.txt", "");
    put("named/mine.json", json);
    for (const auto & [folder, count] : {std::pair("json", 1), {"files", 2}, {"prefixed", 2}}) {
        expect_covers(path(std::string(folder) + "/model.safetensors"), "", size_t(count));
        expect_covers(path("elsewhere/model.safetensors"), path(folder), size_t(count));
    }
    expect_covers(path("json/model.safetensors"), path("named/my-vocab.json"), 2);
    expect_covers(path("json/model.safetensors"), path("named/mine.json"), 1);
}

std::string refused(const ReadFiles & files, const Request & request) {
    try {
        check_outputs(files, request);
    } catch (const Error & error) {
        return error.parts().code + " " + error.what();
    }
    return "nothing";
}

TEST_F(ContextFiles, are_no_outputs) {
    ReadFiles files;
    files.add(put("model", "m"));
    std::filesystem::create_hard_link(path("model"), path("hard"));
    Request request;
    EXPECT_EQ(refused(files, request), "nothing");
    request.dump = path("hard");
    EXPECT_EQ(refused(files, request),
              "E_ARGUMENT " + path("hard") + ": is the file that is read (choose another output)");
    request.dump = path("dump");
    EXPECT_EQ(refused(files, request), "nothing");
    request.explain = path("./dump");
    EXPECT_EQ(refused(files, request),
              "E_ARGUMENT " + path("./dump") +
                  ": is to hold the tensors and the explanation (choose another output)");
    request.explain = put("adapter", "a");
    EXPECT_EQ(refused(files, request), "nothing");
    request.adapters.push_back({path("adapter"), 1.0f});
    EXPECT_EQ(refused(files, request),
              "E_ARGUMENT " + path("adapter") + ": is the file that is read (choose another output)");
}

} // namespace
} // namespace sd
