// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/file/new_file.hpp"

namespace surrogate::file {

/// Prevents concurrent writes of two programs with an exclusive lock (flock) on the small file
/// `path`, which contains the name of the process that holds it. The system releases the lock when
/// the process ends for any reason; the file of a killed program is reused. Has no effect on file
/// systems without locks. Local.
class FileLock {
public:
    /// Throws Error if another process holds the lock ("<what> is in use by ..."), or if the file
    /// cannot be created.
    ///   what  for the message: "the folder 'out'"
    FileLock(const std::string& path, const std::string& what);
    /// Removes the file and releases the lock.
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    bool try_lock(const std::string& what);
    void write_owner();
    void close();

    std::string path_;
    int descriptor_ = -1;
};

/// Returns the name of the lock of a file: "out.pvd.surrogate.lock".
std::string lock_of(const std::string& path);

}  // namespace surrogate::file
