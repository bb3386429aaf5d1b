#include "quantize/journal.h"

#include "quantize/done_notes.h"
#include "quantize/test_quantize.h"

#include <atomic>

namespace sd {
namespace {

using test::refusal_of;

constexpr JournalIdentity kIdentity = {1, 2};

class JournalFile : public test::QuantizeTest {
  protected:
    std::string text_of(const std::vector<JournalEntry> & entries) const {
        std::string text;
        for (const JournalEntry & e : entries) text += std::to_string(e.number) + "=" + e.data + " ";
        return text;
    }
    // What is in the file, or why it cannot be gone on with.
    std::string found(const JournalIdentity & identity = kIdentity) const {
        const Journal journal(path("j"), identity);
        return journal.problem() ? short_line(journal.problem()->what()) : text_of(journal.entries());
    }
    std::string written() const {
        Journal journal(path("j"), kIdentity);
        journal.restart();
        journal.append({{7, "seven"}, {8, ""}});
        journal.append({{0, "nil"}});
        return bytes("j");
    }
};

TEST_F(JournalFile, holds_what_was_noted_and_goes_on) {
    EXPECT_EQ(found(), "j: is damaged (to begin anew, remove it and the .part beside it)") << "a new one";
    written();
    EXPECT_EQ(found(), "7=seven 8= 0=nil ");
    {
        Journal journal(path("j"), kIdentity);
        EXPECT_TRUE(journal.has_entries());
        journal.append({{9, "nine"}});
    }
    EXPECT_EQ(found(), "7=seven 8= 0=nil 9=nine ");
    Journal(path("j"), kIdentity).restart();
    EXPECT_EQ(found(), "");
}

TEST_F(JournalFile, is_for_the_same_inputs_and_options_only) {
    written();
    EXPECT_EQ(found({3, 2}),
              "j: is about other input files, or they have changed (to begin anew, remove it and the "
              ".part beside it)");
    EXPECT_EQ(found({1, 3}),
              "j: is about other options or another version of this program (to begin anew, remove it "
              "and the .part beside it)");
    put("j", "something else, of somebody else, and quite a bit longer than a header");
    EXPECT_EQ(found(),
              "j: is not what this program notes there (to begin anew, remove it and the .part beside it)");
    EXPECT_TRUE(Journal(path("j"), kIdentity).is_foreign());
}

TEST_F(JournalFile, cut_anywhere_holds_the_entries_before_the_cut) {
    const std::string whole = written();
    const std::string entries[] = {"", "7=seven ", "7=seven 8= ", "7=seven 8= 0=nil "};
    size_t last = 0;
    for (size_t length = 0; length <= whole.size(); ++length) {
        put("j", whole.substr(0, length));
        const std::string text = found();
        if (text.starts_with("j: is damaged")) {
            EXPECT_LT(length, 40u);
            continue;
        }
        EXPECT_GE(length, 40u);
        if (last < 3 && text == entries[last + 1]) ++last;
        EXPECT_EQ(text, entries[last]) << length;
        // What is noted then comes behind what counts.
        Journal(path("j"), kIdentity).append({{5, "new"}});
        EXPECT_EQ(found(), entries[last] + "5=new ") << length;
    }
    EXPECT_EQ(last, 3u);
}

TEST_F(JournalFile, changed_anywhere_never_holds_anything_else) {
    const std::string whole = written();
    for (size_t at = 0; at < whole.size(); ++at) {
        for (const char change : {'\1', '\200'}) {
            std::string text = whole;
            text[at] = char(text[at] ^ change);
            put("j", text);
            const std::string got = found();
            EXPECT_TRUE(at < 40 ? got.starts_with("j: is ")
                                : std::string("7=seven 8= 0=nil ").starts_with(got))
                << at << " " << got;
            EXPECT_NE(got, "7=seven 8= 0=nil ") << at;
        }
    }
}

TEST_F(JournalFile, belongs_to_one_at_a_time) {
    const Journal journal(path("j"), kIdentity);
    EXPECT_EQ(short_line(refusal_of([&] { Journal(path("j"), kIdentity); })),
              "j: is in use by another program");
    std::filesystem::create_directory(folder_ / "d");
    EXPECT_EQ(short_line(refusal_of([&] { Journal(path("d"), kIdentity); })),
              "d: cannot be written: Is a directory");
}

TEST_F(JournalFile, notes_come_after_the_data_they_speak_of) {
    Journal journal(path("j"), kIdentity);
    journal.restart();
    std::atomic<int> written{0}, safe{0};
    {
        DoneNotes notes(journal, [&] { safe = written.load(); });
        for (uint32_t i = 0; i < 100; ++i) {
            ++written;
            notes.add({i, std::to_string(i)}, uint64_t(8) << 20);
            // Nothing that was noted by now is younger than the last time the disk was asked.
            const std::string bytes_now = bytes("j");
            EXPECT_LE((bytes_now.size() - 40) / 18, size_t(safe));
        }
        notes.flush();
        EXPECT_EQ(safe, 100);
    }
    std::string file = bytes("j");
    EXPECT_EQ(file.size(), 40 + 10 * 17 + 90 * 18u);
}

TEST_F(JournalFile, failures_of_the_disk_reach_whoever_adds) {
    Journal journal(path("j"), kIdentity);
    journal.restart();
    DoneNotes notes(journal, [] { throw Error("the disk is gone"); });
    notes.add({0, ""}, 1);
    EXPECT_EQ(refusal_of([&] { notes.flush(); }), "the disk is gone");
    EXPECT_EQ(refusal_of([&] { notes.add({1, ""}, 1); }), "the disk is gone");
    EXPECT_FALSE(journal.has_entries());
}

} // namespace
} // namespace sd
