// SPDX-License-Identifier: Apache-2.0
// Output on a terminal, and files that are not touched.
#include "coupling/job/output.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "coupling/job/job.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/progress.hpp"
#include "coupling/job/text.hpp"
#include "libsurrogate/src/core/hidden_characters.hpp"

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

TEST(Output, LinesBesideABarFitTheTerminal) {
    const std::vector<std::string> parts = {"epoch 1/3",   "  loss 0.61",    "  validation none",
                                            "  rate 1e-3", "  20 samples/s", ", 3 s left"};
    const std::vector<size_t> droppable = {3, 4, 2, 1};
    const auto line = [&](int columns) { return fitted(parts, droppable, columns); };
    EXPECT_EQ(line(100),
              "epoch 1/3  loss 0.61  validation none  rate 1e-3  20 samples/s, 3 s left");
    EXPECT_EQ(line(65), "epoch 1/3  loss 0.61  validation none  20 samples/s, 3 s left");
    EXPECT_EQ(line(50), "epoch 1/3  loss 0.61  validation none, 3 s left");
    EXPECT_EQ(line(40), "epoch 1/3  loss 0.61, 3 s left");
    EXPECT_EQ(line(22), "epoch 1/3, 3 s left");
    EXPECT_EQ(line(12), "epoch 1/3, 3");
    EXPECT_EQ(line(-5), "");
}

TEST(Output, TheWidthIsThatOfTheTerminal) {
    int master = -1, terminal = -1;
    winsize size = {24, 57, 0, 0};
    ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, &size), 0);
    EXPECT_EQ(terminal_columns(terminal), 57);
    size.ws_col = 132;
    ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
    EXPECT_EQ(terminal_columns(terminal), 132);
    ::close(terminal);
    ::close(master);
    EXPECT_EQ(terminal_columns(-1), 80);
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
    for (const char* folder : {"job", "case", "mesh", "training", "spectrum", "tool"}) {
        for (const auto& entry : fs::directory_iterator(fs::path(SURROGATE_COUPLING) / folder)) {
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
    }
    EXPECT_GT(n_file, 60);
}

TEST(Text, NearWords) {
    EXPECT_EQ(near_word("chekc", {"info", "check", "predict"}), "check");
    EXPECT_EQ(near_word("--thread", {"--threads", "--json"}), "--threads");
    EXPECT_EQ(near_word("dance", {"info", "check", "predict"}), "");
    EXPECT_EQ(near_word(std::string(1 << 20, 'a'), {std::string(1 << 20, 'b')}), "");
}

// ---- files ----

class OutputFilesTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::path(SURROGATE_WORK) / "spared_files";
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    std::string file(const std::string& name) const { return folder_ / name; }
    void make(const std::string& name) const { std::ofstream(file(name)) << "x"; }
    /// Returns the error text, "" if there was no error.
    static std::string refusal(const OutputFile& output, const std::vector<InputFile>& inputs = {},
                               const std::vector<OutputFile>& others = {}) {
        std::vector<OutputFile> outputs = others;
        outputs.push_back(output);
        try {
            check_outputs(inputs, outputs);
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.status(), Exit::bad_usage);
            return failure.what();
        }
        return "";
    }
    OutputFile output(const std::string& name, Earlier earlier = Earlier::stays) const {
        return {option_text("--out", file(name)), file(name), earlier};
    }
    bool is_spared(const std::string& target, const std::string& kept) const {
        const std::string text =
            refusal(output(target, Earlier::replaced), {{"the model", file(kept)}});
        if (text.empty()) return false;
        EXPECT_NE(text.find("which is the model (" + file(kept) + ")"), std::string::npos) << text;
        EXPECT_NE(text.find("--out '" + file(target) + "'"), std::string::npos) << text;
        return true;
    }
    fs::path folder_;
};

TEST_F(OutputFilesTest, NeverReplaceAnInputByAnyName) {
    make("a");
    make("b");
    fs::create_symlink("a", file("link"));
    fs::create_hard_link(file("a"), file("hard"));
    for (const char* name : {"a", "./a", "link", "hard"})
        for (const char* other : {"a", "./a", "link", "hard"})
            EXPECT_TRUE(is_spared(name, other)) << name << " " << other;
    EXPECT_FALSE(is_spared("b", "a"));
    EXPECT_TRUE(is_spared("new", "./new"));  // neither is there yet
    EXPECT_FALSE(is_spared("new", "other"));
}

TEST_F(OutputFilesTest, NorByWhatIsWrittenBesideThem) {
    for (const char* suffix : {".surrogate.tmp", ".surrogate.lock"}) {
        make(std::string("a") + suffix);
        EXPECT_TRUE(is_spared("a", std::string("a") + suffix)) << suffix;
    }
    make("a.tmp");
    EXPECT_FALSE(is_spared("a", "a.tmp"));
}

TEST_F(OutputFilesTest, AreNotOneFile) {
    EXPECT_NE(refusal(output("./a"), {}, {output("a")}).find("also written as --out"),
              std::string::npos);
    EXPECT_EQ(refusal(output("b"), {}, {output("a")}), "");
}

TEST_F(OutputFilesTest, ReplaceEarlierFilesAsTheyAreAllowedTo) {
    make("a");
    fs::create_symlink("a", file("link"));
    fs::create_symlink("nothing", file("dangling"));
    fs::create_directory(file("folder"));
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    struct Row {
        const char* name;
        const char *stays, *report, *replaced;  // words of the error text; "": no error
    };
    for (const Row& row :
         {Row{"new", "", "", ""}, Row{"a", "exists; --overwrite replaces it", "", ""},
          Row{"link", "exists; --overwrite replaces it", "is a symbolic link", ""},
          Row{"dangling", "exists; --overwrite replaces it", "is a symbolic link", ""},
          Row{"folder", "is a folder", "is a folder", "is a folder"},
          Row{"pipe", "is a device or a pipe", "is a device or a pipe", "is a device or a pipe"},
          Row{"b\nc", "control character", "control character", "control character"}})
        for (const auto& [earlier, words] :
             {std::pair(Earlier::stays, row.stays), std::pair(Earlier::report, row.report),
              std::pair(Earlier::replaced, row.replaced)}) {
            const std::string text = refusal(output(row.name, earlier));
            EXPECT_EQ(text.empty(), *words == 0) << row.name << ": " << text;
            EXPECT_NE(text.find(words), std::string::npos) << row.name << ": " << text;
        }
}

TEST_F(OutputFilesTest, DevicesHoldNothing) {
    for (const char* name : {"/dev/null", "/dev/stdout"}) {
        OutputFile device{"--json", name};
        device.may_be_device = true;
        EXPECT_EQ(refusal(device, {{"a file", name}}, {device}), "") << name;
    }
}

}  // namespace
}  // namespace surrogate::tool
