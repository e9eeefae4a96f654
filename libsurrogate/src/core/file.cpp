// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/new_file.hpp"
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

/// A file::NewFile that replaces regular files only.
class PosixNewFile final : public NewFile {
public:
    explicit PosixNewFile(const std::string& path) : path_(path) {
        if (path.find('\0') != std::string::npos)
            fail("cannot write " + path_text(path) + ": the path contains a zero byte");
        struct stat earlier;
        const bool is_special = ::stat(path.c_str(), &earlier) == 0 && !S_ISREG(earlier.st_mode);
        if (is_special || file::is_stream(path)) {
            fail("cannot write " + path_text(path) + ": it is " +
                 (is_special ? kind(earlier.st_mode) : "an open stream"));
        }
        attempt([&] { file_.emplace(path); });
    }

    void write(const void* data, int64_t n_byte) override {
        attempt([&] { file_->write(data, static_cast<size_t>(n_byte)); });
    }
    void commit() override {
        attempt([&] { file_->commit(); });
    }

private:
    template <class Work>
    void attempt(const Work& work) const {
        try {
            work();
        } catch (const file::Error& error) {
            fail("cannot write " + path_text(path_) + ": " + error.reason());
        }
    }

    std::string path_;
    std::optional<file::NewFile> file_;
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
