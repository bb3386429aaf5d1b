// Archives that lie about themselves, each with its line.
#include "checkpoint/pytorch/zip_archive.h"

#include "base/error.h"
#include "checkpoint/pytorch/test_files.h"

#include <gtest/gtest.h>

namespace sd::pytorch::test {
namespace {

constexpr const char * kIncomplete = " (the file is incomplete: fetch it again)";

std::string said(const std::string & bytes) {
    try {
        ZipArchive::read(file_of(bytes));
    } catch (const Error & e) {
        EXPECT_EQ(e.parts().code, "E_ZIP");
        return e.what();
    }
    return "accepted";
}

// Two entries, the second changed.
std::string with(TestEntry second, bool zip64 = false) {
    return said(zip({{"m/data.pkl", "pickle"}, std::move(second)}, zip64));
}

TEST(zip_archive, entries_are_where_their_headers_say) {
    for (const bool zip64 : {false, true}) {
        const std::string bytes = zip({{"m/a", "first", 0, 0, std::string(9, 'x')}, {"m/b", ""}}, zip64);
        const ZipArchive archive = ZipArchive::read(file_of(bytes));
        ASSERT_EQ(archive.entries().size(), 2u);
        const ZipEntry & a = archive.stored("m/a");
        EXPECT_EQ(bytes.substr(a.data, a.bytes), "first");
        EXPECT_EQ(archive.stored("m/b").bytes, 0u);
        EXPECT_EQ(archive.find("m/c"), nullptr);
    }
    EXPECT_EQ(ZipArchive::read(file_of(zip({}))).entries().size(), 0u);
}

TEST(zip_archive, a_comment_at_the_end_is_skipped) {
    std::string bytes = zip({{"a", "x"}});
    bytes[bytes.size() - 2] = 5;
    EXPECT_EQ(ZipArchive::read(file_of(bytes + "hello")).stored("a").bytes, 1u);
    EXPECT_EQ(said(bytes + "hello!"),
              "is a zip archive without its end, where the table of contents is" + std::string(kIncomplete));
}

TEST(zip_archive, an_archive_that_ends_early_is_incomplete_wherever_it_ends) {
    for (const bool zip64 : {false, true}) {
        const std::string whole = zip({{"m/data.pkl", "pickle"}, {"m/data/0", "numbers"}}, zip64);
        for (size_t n = 0; n < whole.size(); ++n) {
            EXPECT_EQ(said(whole.substr(0, n)),
                      "is a zip archive without its end, where the table of contents is" +
                          std::string(kIncomplete));
        }
    }
}

TEST(zip_archive, sizes_and_places_must_be_in_the_file) {
    TestEntry e{"m/data/0", "numbers"};
    e.place = 1000;
    EXPECT_EQ(with(e), "entry \"m/data/0\" of the zip archive lies outside of it");
    e.place = INT64_MAX;
    EXPECT_EQ(with(e, true), "entry \"m/data/0\" of the zip archive lies outside of it");
    e.place = 1;
    EXPECT_EQ(with(e), "entry \"m/data/0\" of the zip archive has a header that differs from the table of "
                       "contents");
    e = {"m/data/0", "numbers", 8};
    e.local_size = 0;
    e.table_size = e.packed_size = 8;
    EXPECT_EQ(with(e), "entry \"m/data/0\" of the zip archive goes on beyond the archive's data" +
                           std::string(kIncomplete));
    e.table_size = e.packed_size = INT64_MAX;
    EXPECT_EQ(with(e, true), "entry \"m/data/0\" of the zip archive goes on beyond the archive's data" +
                                 std::string(kIncomplete));
}

TEST(zip_archive, the_table_and_the_headers_must_agree) {
    TestEntry e{"m/data/0", "numbers"};
    e.local_size = 6;
    EXPECT_EQ(with(e),
              "entry \"m/data/0\" of the zip archive has 6 bytes in its header and 7 in the table of "
              "contents");
    e.local_size = 0; // which means "later" only with its flag
    EXPECT_EQ(with(e),
              "entry \"m/data/0\" of the zip archive has 0 bytes in its header and 7 in the table of "
              "contents");
    e = {"m/data/0", "numbers"};
    e.local_name = "m/data/1";
    EXPECT_EQ(with(e), "entry \"m/data/0\" of the zip archive has a header that differs from the table of "
                       "contents");
    e = {"m/data/0", "numbers", 8};
    e.local_size = 0;
    e.table_size = 6;
    EXPECT_EQ(with(e), "entry \"m/data/0\" of the zip archive has two different sizes");
}

TEST(zip_archive, entries_share_neither_bytes_nor_names) {
    TestEntry inner{"m/data/0", "numbers"};
    const std::string nested = zip({inner}).substr(0, 30 + 8 + 7);
    TestEntry second = inner;
    // The table's second entry points to a header inside the first one's data.
    second.place = 30 + 5;
    EXPECT_EQ(said(zip({{"m/pkl", nested}, second})),
              "entry \"m/data/0\" of the zip archive shares bytes with \"m/pkl\"");
    EXPECT_EQ(with({"m/data.pkl", "other"}), "entry \"m/data.pkl\" of the zip archive is there twice");
}

TEST(zip_archive, compressed_and_encrypted_entries_are_refused_where_they_are_needed) {
    const auto stored = [](const TestEntry & e) {
        const ZipArchive archive = ZipArchive::read(file_of(zip({{"m/a", "x"}, e})));
        EXPECT_EQ(archive.stored("m/a").bytes, 1u);
        try {
            archive.stored("m/\x1b[2J");
        } catch (const Error & error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(stored({"m/\x1b[2J", "x", 0, 8}),
              "entry \"m/\\x1b[2J\" of the zip archive is compressed (unpack "
              "it, and pack it again without compression (zip -0 -r))");
    EXPECT_EQ(stored({"m/\x1b[2J", "x", 1, 0}),
              "entry \"m/\\x1b[2J\" of the zip archive is encrypted (unpack "
              "it, and pack it again without a password)");
    EXPECT_EQ(stored({"m/b", "x"}), "the zip archive has no entry \"m/\\x1b[2J\"");
}

TEST(zip_archive, tables_that_cannot_be_in_the_file_are_refused) {
    const std::string good = zip({{"m/a", "x"}}), wide = zip({{"m/a", "x"}}, true);
    const size_t end = good.size() - 22;
    const auto changed = [](std::string bytes, size_t at, const std::string & to) {
        return said(bytes.replace(at, to.size(), to));
    };
    EXPECT_EQ(changed(good, end + 16, number(uint32_t(end))),
              "is a zip archive whose table of contents lies outside of it" + std::string(kIncomplete));
    EXPECT_EQ(changed(good, end + 10, number(uint16_t(9))),
              "is a zip archive whose table of contents has 9 entries in 49 bytes");
    EXPECT_EQ(changed(good, end + 4, number(uint16_t(1))), "is one part of a zip archive in several parts");
    EXPECT_EQ(changed(good, end - 49, "X"), "is a zip archive with a broken table of contents");
    EXPECT_EQ(changed(good, end - 49 + 28, number(uint16_t(0xffff))),
              "is a zip archive with a broken table of contents");
    const size_t locator = wide.size() - 22 - 20, end64 = locator - 56;
    EXPECT_EQ(changed(wide, locator + 8, number(UINT64_MAX)),
              "is a zip archive whose end record points outside of it");
    EXPECT_EQ(changed(wide, locator + 8, number(uint64_t(3))),
              "is a zip archive whose end record points to something else");
    EXPECT_EQ(changed(wide, end64 + 32, number(uint64_t(1) << 60)),
              "is a zip archive with two different end records");
    EXPECT_EQ(changed(wide, end64 + 48, number(UINT64_MAX)),
              "is a zip archive with two different end records");
    EXPECT_EQ(changed(wide, end64 - 26, number(uint16_t(8))),
              "entry \"m/a\" of the zip archive lacks its size");
}

} // namespace
} // namespace sd::pytorch::test
