// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int code) {
    throw Failure(Exit::bad_usage, "cannot write " + path + ": " + std::strerror(code));
}

class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return value_; }

    /// 0, or the error number of the system: network file systems report a full disk only here.
    int close() {
        const int code = ::close(value_) == 0 ? 0 : errno;
        value_ = -1;
        return code;
    }

private:
    int value_;
};

/// 0, or the error number of the system.
int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    return 0;
}

/// A rename is on the disk when its directory is. Not every file system can do this, and the file
/// is complete anyway: the result is not looked at.
void flush_directory(const fs::path& directory) {
    const Descriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() >= 0) ::fsync(handle.get());
}

int write_in_place(const std::string& path, std::string_view bytes) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) return errno;
    const int code = write_all(file.get(), bytes);
    const int closed = file.close();
    return code != 0 ? code : closed;
}

/// The name to rename to: where a link points, so that the link stays one.
fs::path resolved(const std::string& path) {
    std::error_code none;
    const fs::path target = fs::canonical(path, none);
    return none ? fs::path(path) : target;
}

int write_temporary(const std::string& name, std::string_view bytes, const mode_t* mode) {
    Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) return errno;
    int code = mode != nullptr && ::fchmod(file.get(), *mode) != 0 ? errno : 0;
    if (code == 0) code = write_all(file.get(), bytes);
    if (code == 0 && ::fsync(file.get()) != 0) code = errno;
    const int closed = file.close();
    return code != 0 ? code : closed;
}

}  // namespace

void write_atomically(const std::string& path, std::string_view bytes) {
    struct stat found = {};
    const bool exists = ::stat(path.c_str(), &found) == 0;
    if (exists && !S_ISREG(found.st_mode)) {
        if (const int code = write_in_place(path, bytes); code != 0) fail(path, code);
        return;
    }
    const fs::path target = resolved(path);
    const std::string temporary = target.string() + ".tmp" + std::to_string(::getpid());
    const mode_t mode = found.st_mode & 07777;
    int code = write_temporary(temporary, bytes, exists ? &mode : nullptr);
    if (code == EEXIST) fail(temporary, code);  // another's file: it stays
    if (code == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
    if (code != 0) {
        ::unlink(temporary.c_str());
        fail(path, code);
    }
    flush_directory(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

bool is_same_file(const std::string& a, const std::string& b) {
    struct stat of_a = {}, of_b = {};
    const bool has_a = ::stat(a.c_str(), &of_a) == 0, has_b = ::stat(b.c_str(), &of_b) == 0;
    if (has_a && has_b)
        return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    if (has_a || has_b) return false;
    std::error_code none;
    return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
}

}  // namespace surrogate::tool
