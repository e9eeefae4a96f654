// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/disk_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "coupling/error/error.hpp"

namespace surrogate::h5 {

using coupling::fail;

/// O_NONBLOCK: opening a pipe fails at once instead of blocking.
DiskFile::DiskFile(const std::string& path, Mode mode, const std::string& shown_name)
    : name_(shown_name),
      mode_(mode),
      descriptor_(::open(path.c_str(),
                         (mode == read_only ? O_RDONLY : O_WRONLY) | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail_with(errno);
    struct stat found = {};
    if (::fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode)) return;
    ::close(descriptor_);
    fail(SURROGATE_IO, "'" + name_ + "' is not a regular file");
}

DiskFile::~DiskFile() {
    ::close(descriptor_);
}

void DiskFile::fail_with(int code) const {
    fail(SURROGATE_IO, std::string("cannot ") + (mode_ == read_only ? "read" : "write") + " '" +
                           name_ + "': " + std::strerror(code));
}

uint64_t DiskFile::size() const {
    struct stat found = {};
    if (::fstat(descriptor_, &found) != 0) fail_with(errno);
    return static_cast<uint64_t>(found.st_size);
}

void DiskFile::require_size(uint64_t expected) const {
    if (size() != expected)
        fail(SURROGATE_IO, "cannot write '" + name_ +
                               "': it is not the same file as on rank 0; use a shared file system");
}

void DiskFile::resize(uint64_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail_with(errno);
}

void DiskFile::write(uint64_t offset, const void* data, size_t n_byte) {
    const auto* next = static_cast<const std::byte*>(data);
    while (n_byte > 0) {
        const ssize_t n = ::pwrite(descriptor_, next, n_byte, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail_with(n < 0 ? errno : ENOSPC);
        next += n;
        offset += static_cast<uint64_t>(n);
        n_byte -= static_cast<size_t>(n);
    }
}

void DiskFile::read(uint64_t offset, void* data, size_t n_byte) const {
    auto* next = static_cast<std::byte*>(data);
    while (n_byte > 0) {
        const ssize_t n = ::pread(descriptor_, next, n_byte, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail_with(errno);
        if (n == 0)
            fail(SURROGATE_BAD_FILE,
                 "'" + name_ + "' is truncated: it ends at byte " + std::to_string(offset));
        next += n;
        offset += static_cast<uint64_t>(n);
        n_byte -= static_cast<size_t>(n);
    }
}

void DiskFile::flush() {
    while (::fsync(descriptor_) != 0)
        if (errno != EINTR) fail_with(errno);
}

}  // namespace surrogate::h5
