// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {
namespace {

using kernels::Error;
using kernels::Status;

// A path of 4096 bytes is legal to ask for; its text in a message need not be longer than this.
constexpr size_t path_text_length = 300;

std::string quoted(const std::string& path) {
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
            fail("cannot open " + quoted(path) + ": the path contains a zero byte");
        // O_NONBLOCK: without it, opening a pipe waits for a writer that may never come.
        do {
            descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        } while (descriptor_ < 0 && errno == EINTR);
        if (descriptor_ < 0) fail("cannot open " + quoted(path) + ": " + errno_text(errno));
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
        // Linux moves at most 2^31 - 4096 bytes a call; asking for less than that keeps the count
        // in range anywhere.
        constexpr int64_t largest_call = int64_t{1} << 30;
        for (int64_t done = 0; done < n_byte;) {
            const auto count = static_cast<size_t>(std::min(n_byte - done, largest_call));
            const ssize_t got =
                ::pread(descriptor_, static_cast<char*>(to) + done, count, offset + done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                fail("cannot read " + quoted(path_) + " at offset " +
                     std::to_string(offset + done) + ": " + errno_text(errno));
            if (got == 0)
                fail(quoted(path_) + " ends at offset " + std::to_string(offset + done) +
                     ", expected " + std::to_string(n_byte - done) +
                     " more bytes; is another program writing or truncating it?");
            done += got;
        }
    }

private:
    void require_regular() {
        struct stat status;
        if (::fstat(descriptor_, &status) != 0)
            fail("cannot read the size of " + quoted(path_) + ": " + errno_text(errno));
        if (!S_ISREG(status.st_mode))
            fail("cannot read " + quoted(path_) + ": it is " + kind(status.st_mode) +
                 ", a regular file is needed");
        size_ = status.st_size;
    }

    std::string path_;
    int descriptor_ = -1;
    int64_t size_ = 0;
};

class PosixFiles final : public FileLayer {
public:
    std::unique_ptr<File> open(const std::string& path) const override {
        return std::make_unique<PosixFile>(path);
    }
};

}  // namespace

const FileLayer& posix_files() {
    static const PosixFiles layer;
    return layer;
}

}  // namespace surrogate::impl
