// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {
namespace {

using kernels::Error;
using kernels::Status;

// A path of 4096 bytes is legal to ask for; its text in a message need not be longer than this.
constexpr size_t path_text_length = 300;

// Linux moves at most 2^31 - 4096 bytes a call; asking for less than that keeps the count in range
// anywhere.
constexpr int64_t largest_call = int64_t{1} << 30;

std::string path_text(const std::string& path) {
    std::string text(
        "'");  // "'" + printable(..) makes GCC 12.2 warn of an overlapping copy (its bug 105651)
    return text.append(printable(path, path_text_length)).append("'");
}

[[noreturn]] void fail(const std::string& what) {
    throw Error(Status::io, what);
}

std::string errno_text(int code) {
    return std::generic_category().message(code);
}

const char* kind(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

class PosixFile final : public File {
public:
    explicit PosixFile(const std::string& path) : path_(path) {
        if (path.find('\0') != std::string::npos)
            fail("cannot open " + path_text(path) + ": the path contains a zero byte");
        // O_NONBLOCK: without it, opening a pipe waits for a writer that may never come.
        do {
            descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        } while (descriptor_ < 0 && errno == EINTR);
        if (descriptor_ < 0) fail("cannot open " + path_text(path) + ": " + errno_text(errno));
        try {
            require_regular();
        } catch (...) {
            ::close(descriptor_);
            throw;
        }
    }
    ~PosixFile() override { ::close(descriptor_); }

    int64_t size() const override { return size_; }

    void read(int64_t offset, void* to, int64_t n_byte) const override {
        for (int64_t done = 0; done < n_byte;) {
            const auto count = static_cast<size_t>(std::min(n_byte - done, largest_call));
            const ssize_t got =
                ::pread(descriptor_, static_cast<char*>(to) + done, count, offset + done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                fail("cannot read " + path_text(path_) + " at offset " +
                     std::to_string(offset + done) + ": " + errno_text(errno));
            if (got == 0)
                fail(path_text(path_) + " ends at offset " + std::to_string(offset + done) +
                     ", expected " + std::to_string(n_byte - done) +
                     " more bytes; is another program writing or truncating it?");
            done += got;
        }
    }

private:
    void require_regular() {
        struct stat status;
        if (::fstat(descriptor_, &status) != 0)
            fail("cannot read the size of " + path_text(path_) + ": " + errno_text(errno));
        if (!S_ISREG(status.st_mode))
            fail("cannot read " + path_text(path_) + ": it is " + kind(status.st_mode) +
                 ", a regular file is needed");
        size_ = status.st_size;
    }

    std::string path_;
    int descriptor_ = -1;
    int64_t size_ = 0;
};

/// Where a chain of symbolic links ends, also if nothing is there yet.
std::string without_links(const std::string& path) {
    namespace fs = std::filesystem;
    fs::path target = path;
    std::error_code none;
    for (int n_link = 0; n_link < 40 && fs::is_symlink(target, none); ++n_link)
        target = target.parent_path() / fs::read_symlink(target, none);
    return target.string();
}

class PosixNewFile final : public NewFile {
public:
    explicit PosixNewFile(const std::string& path)
        : path_(path),
          target_(without_links(path)),
          temporary_(target_ + ".surrogate.tmp"),
          folder_(std::filesystem::path(target_).parent_path().string()) {
        if (path.find('\0') != std::string::npos)
            fail("cannot write " + path_text(path) + ": the path contains a zero byte");
        struct stat earlier;
        const bool exists = ::stat(target_.c_str(), &earlier) == 0;
        if (!exists && errno != ENOENT) fail_to_write();
        if (exists && !S_ISREG(earlier.st_mode))
            fail("cannot write " + path_text(path) + ": it is " + kind(earlier.st_mode));
        if (exists && ::access(target_.c_str(), W_OK) != 0) fail_to_write();
        if (::unlink(temporary_.c_str()) != 0 && errno != ENOENT) fail_to_write();
        descriptor_ =
            ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (descriptor_ < 0) fail_to_write();
        // Not every file system has permissions, and the file is right without them.
        if (exists) std::ignore = ::fchmod(descriptor_, earlier.st_mode & 07777);
    }

    ~PosixNewFile() override {
        if (!is_committed_ && is_ours()) ::unlink(temporary_.c_str());
        ::close(descriptor_);
    }

    void write(const void* data, int64_t n_byte) override {
        const auto* next = static_cast<const char*>(data);
        while (n_byte > 0) {
            const auto count = static_cast<size_t>(std::min(n_byte, largest_call));
            const ssize_t n = ::write(descriptor_, next, count);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail_to_write();
            next += n;
            n_byte -= n;
        }
    }

    void commit() override {
        if (::fsync(descriptor_) != 0) fail_to_write();  // may be the first to hear of a full disk
        if (!is_ours())
            fail("cannot write " + path_text(path_) +
                 ": another program writes it at the same time");
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write();
        is_committed_ = true;
        flush_folder();
    }

private:
    [[noreturn]] void fail_to_write() const {
        const int code = errno;
        fail("cannot write " + path_text(path_) + ": " + errno_text(code));
    }

    /// Whether the temporary is still the file that we opened.
    bool is_ours() const {
        struct stat opened, found;
        return ::fstat(descriptor_, &opened) == 0 && ::stat(temporary_.c_str(), &found) == 0 &&
               opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
    }

    /// A rename is on the disk when its folder is. Not every file system can do this, and the file
    /// is complete anyway: the result is not looked at. Takes no memory.
    void flush_folder() const {
        const int handle =
            ::open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (handle < 0) return;
        ::fsync(handle);
        ::close(handle);
    }

    std::string path_, target_, temporary_, folder_;
    int descriptor_ = -1;
    bool is_committed_ = false;
};

class PosixFiles final : public FileLayer {
public:
    std::unique_ptr<File> open(const std::string& path) const override {
        return std::make_unique<PosixFile>(path);
    }
    std::unique_ptr<NewFile> create(const std::string& path) const override {
        return std::make_unique<PosixNewFile>(path);
    }
};

}  // namespace

const FileLayer& posix_files() {
    static const PosixFiles layer;
    return layer;
}

}  // namespace surrogate::impl
