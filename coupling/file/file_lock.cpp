// SPDX-License-Identifier: Apache-2.0
#include "coupling/file/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace surrogate::file {

namespace {

[[noreturn]] void fail(const std::string& path, int code) {
    throw Error("cannot make the lock '" + path + "': " + std::strerror(code));
}

bool has_no_locks(int code) {
    return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL;
}

/// Returns a text such as "process 1234 on node7", which the holder has written.
std::string owner_in(int descriptor) {
    std::array<char, 400> text{};
    const ssize_t n = ::pread(descriptor, text.data(), text.size(), 0);
    std::string owner(text.data(), n > 0 ? static_cast<size_t>(n) : 0);
    owner.erase(std::min(owner.find('\n'), owner.size()));
    return owner.empty() ? "another process" : owner;
}

}  // namespace

FileLock::FileLock(const std::string& path, const std::string& what) : path_(path) {
    try {
        // A holder that ends removes the file, possibly between our open and our lock.
        for (int n_try = 0; !try_lock(what); ++n_try)
            if (n_try == 1000) fail(path_, EAGAIN);
        write_owner();
    } catch (...) {
        close();
        throw;
    }
}

FileLock::~FileLock() {
    if (identity_of(path_) == identity_of(descriptor_)) ::unlink(path_.c_str());
    close();
}

void FileLock::close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

/// Returns true if this process now holds the lock of the file with that name.
bool FileLock::try_lock(const std::string& what) {
    close();
    descriptor_ =
        ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor_ < 0) fail(path_, errno);
    int status = 0;
    do {
        status = ::flock(descriptor_, LOCK_EX | LOCK_NB);
    } while (status != 0 && errno == EINTR);
    if (status != 0 && errno == EWOULDBLOCK) {
        const std::string owner = owner_in(descriptor_);
        throw Error(what + " is in use by " + owner +
                    "; wait until that program ends, or choose another name");
    }
    if (status != 0 && !has_no_locks(errno)) fail(path_, errno);
    return identity_of(path_) == identity_of(descriptor_);
}

void FileLock::write_owner() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host.fill(0);
    const std::string owner = "process " + std::to_string(::getpid()) + " on " + host.data() + "\n";
    if (::ftruncate(descriptor_, 0) != 0) fail(path_, errno);
    const ssize_t n = ::pwrite(descriptor_, owner.data(), owner.size(), 0);
    if (n != static_cast<ssize_t>(owner.size())) {
        const int code = n < 0 ? errno : ENOSPC;
        ::unlink(path_.c_str());
        fail(path_, code);
    }
}

std::string lock_of(const std::string& path) {
    return path + ".surrogate.lock";
}

}  // namespace surrogate::file
