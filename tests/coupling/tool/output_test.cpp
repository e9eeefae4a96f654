// SPDX-License-Identifier: Apache-2.0
// What reaches a terminal, and what reaches the disk.
#include "coupling/tool/output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "coupling/tool/atomic_file.hpp"
#include "coupling/tool/job.hpp"
#include "coupling/tool/text.hpp"
#include "libsurrogate/src/model/hidden_characters.hpp"

namespace surrogate::tool {
namespace {

namespace fs = std::filesystem;

std::string utf8(uint32_t code) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Output, ControlsBecomeEscapes) {
    EXPECT_EQ(visible("a\x1b]0;owned\x07\x1b[2J\x7f"), "a\\x1b]0;owned\\x07\\x1b[2J\\x7f");
    EXPECT_EQ(visible("\xc2\x9b"
                      "31m \xe2\x80\xaeogr\xe2\x81\xa6"),
              "\\u{9b}31m \\u{202e}ogr\\u{2066}");
    EXPECT_EQ(visible("line\n\tnext"), "line\n\tnext");
    EXPECT_EQ(visible("m\xc2\xb2 \xce\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8c\x8a"),
              "m\xc2\xb2 \xce\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8c\x8a");
    EXPECT_EQ(visible(std::string_view("a\0b\r", 4)), "a\\x00b\\x0d");
}

TEST(Output, BytesThatAreNotUtf8BecomeEscapes) {
    EXPECT_EQ(visible("\x9b"), "\\x9b");                    // a C1 control in one byte
    EXPECT_EQ(visible("\xff\xc3"), "\\xff\\xc3");           // cut short
    EXPECT_EQ(visible("\xc0\x9b"), "\\xc0\\x9b");           // longer than needed
    EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
    EXPECT_EQ(visible("\xf5\x80\x80\x80").substr(0, 4), "\\xf5");
}

TEST(Output, ALineIsOneAndIsCut) {
    EXPECT_EQ(one_line("ok\nresult  passed\t."), "ok\\x0aresult  passed\\x09.");
    EXPECT_EQ(one_line(std::string(300, 'a'), 10), "aaaaaaaa..");
    EXPECT_EQ(one_line("aaaaaaaaaa", 10), "aaaaaaaaaa");
    EXPECT_EQ(one_line("aaaaaaa\xc3\xa4\xc3\xa4", 10), "aaaaaaa..");  // between characters
    EXPECT_EQ(one_line("\x1b\x1b\x1b", 10), "\\x1b\\x1b..");
}

/// A name that a card may have is one that the program prints as it is, and the other way round.
TEST(Output, LibraryAndProgramHideTheSameCharacters) {
    int n_different = 0;
    for (uint32_t code = 0; code <= 0x10ffff; ++code) {
        const std::string text = utf8(code);
        const bool is_refused = impl::first_hidden(text) != std::string::npos;
        n_different += is_refused != (one_line(text) != text) ? 1 : 0;
    }
    EXPECT_EQ(n_different, 0);
}

TEST(Output, TheProgramPrintsThroughOneFile) {
    const std::regex printing(
        R"((^|[^a-z_])(printf|fprintf|puts|fputs|putchar|fwrite|perror)\(|std::(cout|cerr|clog))");
    int n_file = 0;
    for (const auto& entry : fs::directory_iterator(SURROGATE_TOOL_SOURCES)) {
        const std::string name = entry.path().filename();
        if (entry.path().extension() != ".cpp" || name == "output.cpp") continue;
        ++n_file;
        std::ifstream file(entry.path());
        int n_line = 0;
        for (std::string line; std::getline(file, line);) {
            ++n_line;
            EXPECT_FALSE(std::regex_search(line, printing))
                << name << ":" << n_line << ": " << line;
        }
    }
    EXPECT_GT(n_file, 15);
}

TEST(Text, NearWords) {
    EXPECT_EQ(near_word("chekc", {"info", "check", "predict"}), "check");
    EXPECT_EQ(near_word("--thread", {"--threads", "--json"}), "--threads");
    EXPECT_EQ(near_word("dance", {"info", "check", "predict"}), "");
    EXPECT_EQ(near_word(std::string(1 << 20, 'a'), {std::string(1 << 20, 'b')}), "");
}

// ---- files ----

class AtomicFileTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::path(SURROGATE_WORK) / "atomic_file";
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    std::string file(const std::string& name) const { return folder_ / name; }
    static std::string read(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    }
    size_t n_file() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
    }
    fs::path folder_;
};

TEST_F(AtomicFileTest, WritesAndReplaces) {
    write_atomically(file("a"), "first");
    EXPECT_EQ(read(file("a")), "first");
    ::chmod(file("a").c_str(), 0640);
    write_atomically(file("a"), std::string(100'000, 'x'));
    EXPECT_EQ(read(file("a")), std::string(100'000, 'x'));
    struct stat found = {};
    ::stat(file("a").c_str(), &found);
    EXPECT_EQ(found.st_mode & 0777, 0640u);
    EXPECT_EQ(n_file(), 1u);
}

TEST_F(AtomicFileTest, AFailedWriteLeavesWhatWasThere) {
    write_atomically(file("a"), "good");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{1000, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(write_atomically(file("a"), std::string(100'000, 'x')), Failure);
    EXPECT_THROW(write_atomically(file("b"), std::string(100'000, 'x')), Failure);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(read(file("a")), "good");
    EXPECT_EQ(n_file(), 1u);
}

TEST_F(AtomicFileTest, ErrorsNameThePathAndTheReason) {
    try {
        write_atomically(file("no/folder"), "x");
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), Exit::bad_usage);
        EXPECT_NE(std::string(failure.what()).find("no/folder"), std::string::npos);
        EXPECT_NE(std::string(failure.what()).find("No such file"), std::string::npos);
    }
}

TEST_F(AtomicFileTest, LinksStayAndDevicesAreWritten) {
    write_atomically(file("a"), "old");
    fs::create_symlink("a", file("link"));
    write_atomically(file("link"), "new");
    EXPECT_TRUE(fs::is_symlink(file("link")));
    EXPECT_EQ(read(file("a")), "new");
    write_atomically("/dev/null", "gone");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_THROW(write_atomically("/dev/full", "x"), Failure);
}

TEST_F(AtomicFileTest, TheSameFileByAnyName) {
    write_atomically(file("a"), "x");
    fs::create_symlink("a", file("link"));
    fs::create_hard_link(file("a"), file("hard"));
    EXPECT_TRUE(is_same_file(file("a"), file("./a")));
    EXPECT_TRUE(is_same_file(file("a"), file("link")));
    EXPECT_TRUE(is_same_file(file("hard"), file("link")));
    EXPECT_TRUE(is_same_file(file("new"), file("./new")));
    EXPECT_FALSE(is_same_file(file("new"), file("other")));
    write_atomically(file("b"), "x");
    EXPECT_FALSE(is_same_file(file("a"), file("b")));
    EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
}

}  // namespace
}  // namespace surrogate::tool
