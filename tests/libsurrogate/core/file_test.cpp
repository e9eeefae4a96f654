// SPDX-License-Identifier: Apache-2.0
// Paths that are no model file (row F2 of the reliability goals), and reading of files that change.
#include "libsurrogate/src/core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "libsurrogate/src/file/model_file.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

namespace fs = std::filesystem;
using test::Refusal;
using test::refusal;

/// A folder that goes with the test.
class FileTest : public ::testing::Test {
protected:
    FileTest() {
        std::string pattern = ::testing::TempDir() + "surrogate_file_XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~FileTest() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }

    /// Expects that the load fails with Status::io and this text, and does not wait for other
    /// processes.
    static void expect_refused(const std::string& where, const std::string& part,
                               const std::string& named) {
        const auto begin = std::chrono::steady_clock::now();
        const Refusal found = refusal([&] {
            load_model_file(
                *self_communicator(), posix_files(), where, [](auto) { return true; },
                [](auto&, auto) {});
        });
        EXPECT_LE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
        EXPECT_EQ(found.status, Status::io) << found.text;
        EXPECT_TRUE(found.says(part)) << found.text;
        EXPECT_TRUE(found.says(named)) << found.text;
        EXPECT_LE(found.text.size(), 600u);
    }

    std::string folder_;
};

TEST_F(FileTest, Missing) {
    expect_refused(path("missing"), "No such file", path("missing"));
}
TEST_F(FileTest, EmptyPath) {
    expect_refused("", "No such file", "''");
}
TEST_F(FileTest, MissingFolder) {
    expect_refused(path("no/model"), "No such file", "no/model");
}
TEST_F(FileTest, FileAsFolder) {
    expect_refused(write("file", "x") + "/model", "Not a directory", "file/model");
}
TEST_F(FileTest, Directory) {
    expect_refused(folder_, "is a directory", folder_);
}
TEST_F(FileTest, DirectoryWithTrailingSlash) {
    expect_refused(folder_ + "/", "is a directory", folder_);
}
TEST_F(FileTest, PipeWithoutWriterDoesNotWait) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    expect_refused(path("pipe"), "is a pipe", "pipe");
}
TEST_F(FileTest, PipeWithWriter) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const int both = open(path("pipe").c_str(), O_RDWR);
    expect_refused(path("pipe"), "is a pipe", "pipe");
    close(both);
}
TEST_F(FileTest, LinkToPipe) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    fs::create_symlink("pipe", path("link"));
    expect_refused(path("link"), "is a pipe", "link");
}
TEST_F(FileTest, EndlessDevice) {
    expect_refused("/dev/zero", "is a device", "/dev/zero");
}
TEST_F(FileTest, EmptyDevice) {
    expect_refused("/dev/null", "is a device", "/dev/null");
}
TEST_F(FileTest, Socket) {
    const int socket_descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string where = path("socket");
    ASSERT_LT(where.size(), sizeof address.sun_path);
    where.copy(address.sun_path, where.size());
    ASSERT_EQ(bind(socket_descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    expect_refused(where, "cannot open", "socket");
    close(socket_descriptor);
}
TEST_F(FileTest, LoopOfLinks) {
    fs::create_symlink("b", path("a"));
    fs::create_symlink("a", path("b"));
    expect_refused(path("a"), "symbolic links", "/a");
}
TEST_F(FileTest, LinkToNothing) {
    fs::create_symlink("nothing", path("link"));
    expect_refused(path("link"), "No such file", "link");
}
TEST_F(FileTest, PathOf4096Bytes) {
    std::string where = "/";
    while (where.size() < 4096) where += "d/";
    where.resize(4096);
    expect_refused(where, "File name too long", "/d/d/d");
}
TEST_F(FileTest, NameOf300Bytes) {
    expect_refused(path(std::string(300, 'n')), "File name too long", "nnn");
}
TEST_F(FileTest, PathThatIsNotUtf8) {
    expect_refused(path("\xff\xfe"), "No such file", "\\xff\\xfe");
}
TEST_F(FileTest, PathWithControlCharacters) {
    expect_refused(path("a\n\x1b[31m"), "No such file", "a\\x0a\\x1b[31m");
}
TEST_F(FileTest, PathWithZeroByteIsNotCut) {
    const std::string good = write("good", test::small_model().bytes());
    expect_refused(good + std::string("\0.txt", 5), "zero byte", "good\\x00.txt");
}
TEST_F(FileTest, Unreadable) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    chmod(write("closed", "x").c_str(), 0);
    expect_refused(path("closed"), "Permission denied", "closed");
}

TEST_F(FileTest, NamesThatAreNotUtf8AndLinksAreFollowed) {
    const std::string bytes = test::small_model().bytes();
    write("\xff model", bytes);
    fs::create_symlink("\xff model", path("link"));
    for (const std::string& name : {std::string("\xff model"), std::string("link")})
        EXPECT_EQ(posix_files().open(path(name))->size(), std::ssize(bytes));
}

TEST_F(FileTest, ReadsAtOffsets) {
    const auto file = posix_files().open(write("file", "0123456789"));
    EXPECT_EQ(file->size(), 10);
    std::string text(4, ' ');
    file->read(3, text.data(), 4);
    EXPECT_EQ(text, "3456");
    file->read(10, nullptr, 0);
}

TEST_F(FileTest, FileThatShrinksIsAnErrorNotACrash) {
    const std::string where = write("file", std::string(100'000, 'x'));
    const auto file = posix_files().open(where);
    fs::resize_file(where, 50'000);
    std::string text(100'000, ' ');
    const Refusal found = refusal([&] { file->read(0, text.data(), 100'000); });
    EXPECT_EQ(found.status, Status::io);
    EXPECT_TRUE(found.says("ends at offset 50000, expected 50000 more bytes")) << found.text;
    EXPECT_TRUE(found.says(where)) << found.text;
}

TEST_F(FileTest, FailingReadNamesPathAndOffset) {
    // The kernel rejects a negative offset; any other failure of pread has the same code path.
    const std::string where = write("file", "x");
    char byte = 0;
    const Refusal found = refusal([&] { posix_files().open(where)->read(-5, &byte, 1); });
    EXPECT_EQ(found.status, Status::io);
    EXPECT_TRUE(found.says("at offset -5: Invalid argument") && found.says(where)) << found.text;
}

TEST_F(FileTest, DescriptorsAreClosed) {
    const auto count = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const std::string good = write("file", test::small_model().bytes());
    const auto before = count();
    for (int i = 0; i < 20; ++i) {
        posix_files().open(good);
        refusal([&] { posix_files().open(folder_); });
        refusal([&] { posix_files().open(path("missing")); });
    }
    EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace surrogate::impl
