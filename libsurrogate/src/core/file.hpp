// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace surrogate::impl {

/// An open file, for reading at offsets. Never mapped: a file that shrinks under a mapping kills
/// the solver.
class File {
public:
    virtual ~File() = default;

    /// Returns the bytes, from the open descriptor.
    virtual int64_t size() const = 0;

    /// Reads exactly n_byte bytes from offset; throws Error(io) with path and offset if the file
    /// ends before, or on any error.
    virtual void read(int64_t offset, void* to, int64_t n_byte) const = 0;
};

/// Writes a file that is renamed into place when it is complete. Until commit(), an existing file
/// of that name is unchanged, even if the disk is full, the program is killed or the power fails.
class NewFile {
public:
    /// Removes what was not committed.
    virtual ~NewFile() = default;

    /// Appends; throws Error(io).
    virtual void write(const void* data, int64_t n_byte) = 0;

    /// Flushes the content to the disk, then renames the file; throws Error(io).
    virtual void commit() = 0;
};

/// All access to files goes through this seam, so that tests can make any call fail.
class FileLayer {
public:
    virtual ~FileLayer() = default;

    /// Opens a regular file. Throws Error(io), also for directories, devices and pipes, without
    /// blocking on them.
    virtual std::unique_ptr<File> open(const std::string& path) const = 0;

    /// Creates a file at "<path>.surrogate.tmp", and removes a file that a killed program left
    /// there. Follows links and keeps the permissions of an existing file. Throws Error(io), also
    /// if the existing file is not writable or not regular.
    virtual std::unique_ptr<NewFile> create(const std::string& path) const = 0;
};

/// Returns the operating system's files.
const FileLayer& posix_files();

}  // namespace surrogate::impl
