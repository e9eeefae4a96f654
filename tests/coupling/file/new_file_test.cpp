// SPDX-License-Identifier: Apache-2.0
// A new file replaces an earlier one when it is complete, and not before: not when the disk is
// full, when the program is killed, or when two programs write it.
#include "coupling/file/new_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "coupling/file/file_lock.hpp"
#include "tests/support/little_room.hpp"

namespace surrogate::test {
namespace {

namespace fs = std::filesystem;
using file::NewFile;
using file::write_atomically;

const std::string before = "what an earlier run has left";
const std::string after(100000, 'x');

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class NewFileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "surrogate_file_XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        std::ofstream(at("result")) << before;
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    std::string at(const std::string& name) const { return folder_ + "/" + name; }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(folder_))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }
    /// The text of the error, "" if there was none.
    static std::string refusal(const std::string& path, const std::string& content) {
        try {
            write_atomically(path, content);
        } catch (const file::Error& error) {
            return error.what();
        }
        return "";
    }

    std::string folder_;
};

const std::vector<std::string> only_the_result = {"result"};

TEST_F(NewFileTest, HasItsNameWhenItIsCompleteAndNotBefore) {
    {
        NewFile file(at("result"));
        file.write(after.data(), after.size());
        EXPECT_EQ(bytes_of(at("result")), before);
        file.commit();
    }
    EXPECT_EQ(bytes_of(at("result")), after);
    EXPECT_EQ(names(), only_the_result);
}

TEST_F(NewFileTest, WithoutCommitLeavesTheEarlierFileAndNothingElse) {
    {
        NewFile file(at("result"));
        file.write(after.data(), after.size());
    }
    EXPECT_EQ(bytes_of(at("result")), before);
    EXPECT_EQ(names(), only_the_result);
}

TEST_F(NewFileTest, ThatTheSystemRefusesLeavesTheEarlierFileAndNothingElse) {
    const LittleRoom room(after.size() / 2);
    EXPECT_EQ(refusal(at("result"), after), "cannot write '" + at("result") + "': File too large");
    EXPECT_EQ(bytes_of(at("result")), before);
    EXPECT_EQ(names(), only_the_result);
}

TEST_F(NewFileTest, OnAFullDiskLeavesTheEarlierFileAndNamesTheReason) {
    const SmallDisk disk;
    if (!disk.is_there()) GTEST_SKIP() << "no small file system can be mounted here";
    const std::string path = disk / "result";
    std::ofstream(path) << before;
    EXPECT_EQ(refusal(path, std::string(2 * SmallDisk::n_byte, 'x')),
              "cannot write '" + path + "': No space left on device");
    EXPECT_EQ(bytes_of(path), before);
    EXPECT_FALSE(fs::exists(path + ".surrogate.tmp"));
}

TEST_F(NewFileTest, OfAKilledProgramLeavesTheEarlierFileAndTheNextCleansUp) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        NewFile file(at("result"));
        file.write(after.data(), after.size());
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(bytes_of(at("result")), before);
    EXPECT_EQ(names(), (std::vector<std::string>{"result", "result.surrogate.tmp"}));
    write_atomically(at("result"), "next");
    EXPECT_EQ(bytes_of(at("result")), "next");
    EXPECT_EQ(names(), only_the_result);
}

TEST_F(NewFileTest, OfTwoProgramsAtOnceIsWholeAndTheEarlierOneIsTold) {
    NewFile first(at("result"));
    first.write(before.data(), before.size());
    NewFile second(at("result"));
    second.write(after.data(), after.size());
    EXPECT_THROW(first.commit(), file::Error);
    second.commit();
    EXPECT_EQ(bytes_of(at("result")), after);
}

TEST_F(NewFileTest, ReplacesWhereALinkPointsAndNotTheLink) {
    fs::create_directory(at("scratch"));
    fs::create_symlink("scratch/there", at("link"));  // to a file that is not there yet
    fs::create_symlink("link", at("to_link"));
    for (const std::string& content : {before, after}) {
        write_atomically(at("to_link"), content);
        EXPECT_EQ(bytes_of(at("scratch/there")), content);
        EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("to_link")));
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(at("scratch")), {}), 1);
}

TEST_F(NewFileTest, ReplacesALinkItselfIfAskedTo) {
    fs::create_symlink("result", at("link"));
    fs::create_symlink("none", at("dangling"));
    fs::create_symlink("loop", at("loop"));
    for (const char* name : {"link", "dangling", "loop"}) {
        write_atomically(at(name), after, file::Links::replaced);
        EXPECT_EQ(bytes_of(at(name)), after) << name;
        EXPECT_FALSE(fs::is_symlink(at(name))) << name;
    }
    EXPECT_EQ(bytes_of(at("result")), before);
    EXPECT_EQ(names(), (std::vector<std::string>{"dangling", "link", "loop", "result"}));
}

TEST_F(NewFileTest, LeavesTemporariesOfOtherSoftwareAlone) {
    std::ofstream(at("result.tmp")) << "mine";
    write_atomically(at("result"), after);
    EXPECT_EQ(bytes_of(at("result.tmp")), "mine");
}

TEST_F(NewFileTest, GoesToStandardOutputThatAShellHasRedirected) {
    const int earlier = ::dup(STDOUT_FILENO);
    const int redirected = ::open(at("log").c_str(), O_WRONLY | O_CREAT, 0666);
    ::dup2(redirected, STDOUT_FILENO);
    write_atomically("/dev/stdout", "one ");
    write_atomically("/dev/stdout", "two", file::Links::replaced);
    ::dup2(earlier, STDOUT_FILENO);
    ::close(earlier);
    ::close(redirected);
    EXPECT_EQ(bytes_of(at("log")), "one two");
}

TEST_F(NewFileTest, LeavesOtherNamesOfTheEarlierFileAlone) {
    fs::create_hard_link(at("result"), at("kept"));
    write_atomically(at("result"), after);
    EXPECT_EQ(bytes_of(at("kept")), before);
}

TEST_F(NewFileTest, KeepsThePermissionsOfTheEarlierFile) {
    ASSERT_EQ(::chmod(at("result").c_str(), 0640), 0);
    write_atomically(at("result"), after);
    struct stat found = {};
    ASSERT_EQ(::stat(at("result").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0640u);
}

// Renamed over /dev/stdout or /dev/null, a file would take the device away from everybody.
TEST_F(NewFileTest, WritesIntoAPipeAndDoesNotReplaceIt) {
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    const int reader = ::open(at("pipe").c_str(), O_RDWR | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    write_atomically(at("pipe"), before);
    std::string found(before.size(), ' ');
    EXPECT_EQ(::read(reader, found.data(), found.size()), static_cast<ssize_t>(before.size()));
    ::close(reader);
    EXPECT_EQ(found, before);
    EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(NewFileTest, SaysWhatIsInTheWay) {
    fs::create_directory(at("folder"));
    EXPECT_EQ(refusal(at("folder"), "x"), "cannot write '" + at("folder") + "': Is a directory");
    EXPECT_EQ(refusal(at("no/x"), "x"),
              "cannot write '" + at("no/x") + "': No such file or directory");
    fs::create_symlink("loop", at("loop"));
    EXPECT_NE(refusal(at("loop"), "x"), "");
}

TEST_F(NewFileTest, IsTheSameUnderOtherNames) {
    fs::create_hard_link(at("result"), at("hard"));
    fs::create_symlink("result", at("soft"));
    for (const char* name : {"result", "hard", "soft", "./result"})
        EXPECT_TRUE(file::is_same_file(at("result"), at(name))) << name;
    std::ofstream(at("copy")) << before;
    for (const char* name : {"copy", "none"})
        EXPECT_FALSE(file::is_same_file(at("result"), at(name))) << name;
    EXPECT_FALSE(file::is_same_file(at("none"), at("none")));
}

/// A process that holds a lock until it is killed.
class Holder {
public:
    explicit Holder(const std::string& path) {
        int ends[2];
        if (::pipe(ends) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            const file::FileLock lock(path, "'a'");
            if (::write(ends[1], "x", 1) == 1) ::pause();
            ::_exit(1);
        }
        char ready = 0;
        is_ready_ = ::read(ends[0], &ready, 1) == 1;
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~Holder() { kill(); }
    bool is_ready() const { return is_ready_; }
    pid_t pid() const { return pid_; }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
    bool is_ready_ = false;
};

TEST_F(NewFileTest, LockKeepsASecondProgramAwayUntilTheFirstOneEnds) {
    const std::string path = file::lock_of(at("result"));
    Holder holder(path);
    ASSERT_TRUE(holder.is_ready());
    const std::string owner = "'b' is in use by process " + std::to_string(holder.pid()) + " on ";
    try {
        const file::FileLock lock(path, "'b'");
        ADD_FAILURE() << "two have the lock";
    } catch (const file::Error& error) {
        EXPECT_EQ(std::string(error.what()).rfind(owner, 0), 0u) << error.what();
    }
    EXPECT_TRUE(fs::exists(path));
    holder.kill();
    {
        const file::FileLock lock(path, "'b'");  // what the killed one has left is no obstacle
        EXPECT_THROW(file::FileLock(path, "'c'"), file::Error);
    }
    EXPECT_EQ(names(), only_the_result);
    fs::create_symlink("result", path);
    EXPECT_THROW(file::FileLock(path, "'b'"), file::Error);
    EXPECT_EQ(bytes_of(at("result")), before);
}

}  // namespace
}  // namespace surrogate::test
