// Work that ended before its end, in every way, and what comes of going on.
#include "quantize/test_quantize.h"

#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sd {
namespace {

namespace fs = std::filesystem;

class QuantizeResume : public test::QuantizeTest {
  protected:
    void SetUp() override {
        QuantizeTest::SetUp();
        // Some pieces of each kind.
        put_weights(
            "in.safetensors",
            {{"a.weight", 700, 2048}, {"b.weight", 33, 256}, {"c.weight", 1100, 1024}, {"d.weight", 65, 512}},
            {{"n", StoredType::f32, {1500000}}, {"m", StoredType::i8, {3}}});
        QuantizeRequest r = usual();
        r.output = path("whole.safetensors");
        QuantizeReport report = quantized("in.safetensors", r);
        whole_ = bytes("whole.safetensors");
        report_ = comparable(report);
        fs::remove(r.output);
    }

    QuantizeRequest usual(const std::string & format = "w4a8") const {
        return request("out.safetensors", format);
    }

    static std::string comparable(QuantizeReport report) {
        report.output.clear();
        report.seconds = 0;
        return report_json(report);
    }

    // Ends the work, as Ctrl-C does, at the given call of progress in a phase. "" or the refusal.
    std::string stopped(int call, const std::string & phase = "quantizing", QuantizeRequest r = {}) const {
        if (r.output.empty()) r = usual();
        int calls = 0;
        r.progress = [&](const char * what, uint64_t, uint64_t) { return phase != what || ++calls < call; };
        return refusal_line("in.safetensors", r);
    }

    void expect_goes_on(const std::string & when) {
        QuantizeRequest r = usual();
        uint64_t last = 0;
        r.progress = [&](const char * what, uint64_t done, uint64_t total) {
            if (std::string(what) == "quantizing") {
                EXPECT_GE(done, last);
                EXPECT_LE(done, total);
                last = done;
            }
            return true;
        };
        EXPECT_EQ(comparable(quantized("in.safetensors", r)), report_) << when;
        EXPECT_TRUE(bytes("out.safetensors") == whole_) << when;
        EXPECT_EQ(last, whole_.size());
        EXPECT_EQ(files(), 2u) << when; // no part, no journal
        fs::remove(r.output);
    }

    std::string whole_, report_;
};

TEST_F(QuantizeResume, an_interrupt_keeps_what_is_done_and_says_how_to_go_on) {
    EXPECT_EQ(stopped(1), "cancelled") << "nothing is done";
    EXPECT_EQ(files(), 1u);
    for (int call = 2; call < 9; ++call) {
        const std::string line = stopped(call);
        EXPECT_TRUE(line.starts_with("out.safetensors: cancelled; ")) << line;
        EXPECT_NE(line.find(" % of it is kept (the same command goes on from there; to give it up, remove "
                            "out.safetensors.part and out.safetensors.part.journal)"),
                  line.npos)
            << line;
        EXPECT_FALSE(fs::exists(path("out.safetensors")));
        expect_goes_on(line);
    }
}

TEST_F(QuantizeResume, many_interrupts_after_another_come_to_an_end) {
    QuantizeRequest r = usual();
    r.threads = 1; // a piece each time
    int tries = 0;
    while (!stopped(2, "quantizing", r).empty()) ASSERT_LT(++tries, 100);
    EXPECT_EQ(tries, 9);
    EXPECT_TRUE(bytes("out.safetensors") == whole_);
}

TEST_F(QuantizeResume, interrupts_of_verifying_and_saving_keep_everything) {
    QuantizeRequest r = usual();
    r.verify = true;
    EXPECT_TRUE(stopped(2, "verifying", r).starts_with("out.safetensors: cancelled; 100 % of it is kept"));
    EXPECT_TRUE(stopped(1, "saving", r).starts_with("out.safetensors: cancelled; 100 % of it is kept"));
    expect_goes_on("saving");
}

TEST_F(QuantizeResume, a_process_that_is_killed_loses_little) {
    for (const int call : {2, 4, 7}) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            QuantizeRequest r = usual();
            r.threads = 1;
            int calls = 0;
            r.progress = [&](const char *, uint64_t, uint64_t) {
                if (++calls < call) return true;
                // Once notes are on the disk, by themselves.
                const fs::path notes = path("out.safetensors.part.journal");
                while (fs::file_size(notes) <= 40) std::this_thread::sleep_for(std::chrono::milliseconds(5));
                ::_exit(9);
            };
            quantized("in.safetensors", r);
            ::_exit(1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(WEXITSTATUS(status), 9);
        EXPECT_TRUE(fs::exists(path("out.safetensors.part")));
        expect_goes_on("killed at call " + std::to_string(call));
    }
}

TEST_F(QuantizeResume, a_journal_cut_anywhere_costs_work_and_nothing_else) {
    stopped(7);
    const std::string part = bytes("out.safetensors.part"), notes = bytes("out.safetensors.part.journal");
    ASSERT_GT(notes.size(), 200u);
    for (size_t length = 40; length < notes.size(); length += 23) {
        put("out.safetensors.part", part);
        put("out.safetensors.part.journal", notes.substr(0, length));
        expect_goes_on("cut at " + std::to_string(length));
    }
    put("out.safetensors.part", part);
    put("out.safetensors.part.journal", notes.substr(0, 30));
    EXPECT_EQ(refusal_line("in.safetensors", usual()),
              "out.safetensors.part.journal: is damaged (to begin anew, remove it and the .part beside it)");
    EXPECT_TRUE(bytes("out.safetensors.part") == part) << "nothing is touched then";
    // Without a part, the journal is worth nothing.
    fs::remove(path("out.safetensors.part"));
    expect_goes_on("a damaged journal alone");
}

TEST_F(QuantizeResume, a_journal_changed_anywhere_is_refused_or_costs_work) {
    stopped(7);
    const std::string part = bytes("out.safetensors.part"), notes = bytes("out.safetensors.part.journal");
    for (size_t at = 3; at < notes.size(); at += 17) {
        std::string changed = notes;
        changed[at] = char(changed[at] ^ 4);
        put("out.safetensors.part", part);
        put("out.safetensors.part.journal", changed);
        if (at >= 40) {
            expect_goes_on("changed at " + std::to_string(at));
        } else {
            EXPECT_TRUE(
                refusal_line("in.safetensors", usual()).starts_with("out.safetensors.part.journal: is "));
        }
    }
}

TEST_F(QuantizeResume, other_options_and_changed_inputs_are_refused_with_all_kept) {
    stopped(5);
    const std::string part = bytes("out.safetensors.part"), notes = bytes("out.safetensors.part.journal");
    const std::string advice = " (to begin anew, remove it and the .part beside it)";
    const std::string options =
        "out.safetensors.part.journal: is about other options or another version of this program" + advice;
    EXPECT_EQ(refusal_line("in.safetensors", usual("int8")), options);
    QuantizeRequest r = usual();
    r.selection.group = 64;
    EXPECT_EQ(refusal_line("in.safetensors", r), options);
    r = usual();
    r.allow_nonfinite = true;
    EXPECT_EQ(refusal_line("in.safetensors", r), options);
    fs::last_write_time(path("in.safetensors"),
                        fs::last_write_time(path("in.safetensors")) + std::chrono::nanoseconds(1000));
    EXPECT_EQ(refusal_line("in.safetensors", usual()),
              "out.safetensors.part.journal: is about other input files, or they have changed" + advice);
    EXPECT_TRUE(bytes("out.safetensors.part") == part && bytes("out.safetensors.part.journal") == notes);
    fs::resize_file(path("out.safetensors.part"), part.size() - 1);
    fs::last_write_time(path("in.safetensors"),
                        fs::last_write_time(path("in.safetensors")) - std::chrono::nanoseconds(1000));
    EXPECT_EQ(
        refusal_line("in.safetensors", usual()),
        "out.safetensors.part: is not the file that its journal speaks of (to begin anew, remove it and "
        "out.safetensors.part.journal)");
}

TEST_F(QuantizeResume, what_ended_at_the_last_moments_is_finished_by_the_next_call) {
    const std::string notes_path = path("out.safetensors.part.journal");
    stopped(1, "saving");
    const std::string notes = bytes("out.safetensors.part.journal");
    // Before anything was written into the part, and before it had its size.
    put("out.safetensors.part", "");
    put("out.safetensors.part.journal", notes.substr(0, 40));
    expect_goes_on("an empty part");
    // After it got its name.
    stopped(1, "saving");
    fs::rename(path("out.safetensors.part"), path("out.safetensors"));
    {
        const Checkpoint in = open(path("in.safetensors"));
        struct stat info = {};
        ASSERT_EQ(::stat(path("out.safetensors").c_str(), &info), 0);
        const std::string header = bytes("out.safetensors.part.journal");
        JournalIdentity identity;
        std::memcpy(&identity, header.data() + 16, sizeof identity);
        Journal(notes_path, identity).append({{PartFile::kLastNumber, std::to_string(info.st_ino)}});
    }
    const std::string last = bytes("out.safetensors.part.journal");
    EXPECT_EQ(comparable(quantized("in.safetensors", usual())), report_);
    EXPECT_TRUE(bytes("out.safetensors") == whole_);
    EXPECT_EQ(files(), 2u);
    // Another file of this name is no result of ours.
    fs::copy_file(path("out.safetensors"), path("copy"));
    fs::rename(path("copy"), path("out.safetensors"));
    put("out.safetensors.part.journal", last);
    EXPECT_EQ(refusal_line("in.safetensors", usual()),
              "out.safetensors: exists already (--force replaces it)");
}

TEST_F(QuantizeResume, two_at_a_time_do_not_mix) {
    QuantizeRequest r = usual();
    std::string second;
    r.progress = [&](const char *, uint64_t, uint64_t) {
        if (second.empty()) second = refusal_line("in.safetensors", usual());
        return true;
    };
    quantized("in.safetensors", r);
    EXPECT_EQ(second, "out.safetensors.part.journal: is in use by another program");
    EXPECT_TRUE(bytes("out.safetensors") == whole_);
}

} // namespace
} // namespace sd
