// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/file/new_file.hpp"

namespace surrogate::file {

/// Keeps a second program away from what one writes: an exclusive lock (flock) on the small file
/// `path`, which names the process that holds it. The system releases the lock when the process
/// ends, however it ends; a file that a killed program has left is taken over. On file systems
/// without locks nothing is kept away. Local.
class FileLock {
public:
    /// Throws Error: another process holds the lock ("<what> is in use by ..."), or the file cannot
    /// be made.
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
