// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace surrogate::file {

/// Reports that a file could not be written: which one and why.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    /// Composes the text. action: "write"; reason: the system's words.
    Error(const std::string& action, const std::string& path, const std::string& reason)
        : std::runtime_error("cannot " + action + " '" + path + "': " + reason), reason_(reason) {}

    /// Returns the part behind the path; empty if it was not given.
    const std::string& reason() const { return reason_; }

private:
    std::string reason_;
};

/// Treatment of a symbolic link that has the name of a new file.
enum class Links {
    followed,  ///< the file that it points to is replaced, the link stays
    replaced   ///< the new file takes the place of the link, and the file that it points to stays
};

/// Writes a file that is renamed into place when it is complete. Until commit(), an existing file
/// of that name is unchanged, even if the disk is full, the program is killed or the power fails.
///
/// The content goes to "<path>.surrogate.tmp" in the same folder: by write(), or by another writer
/// that opens temporary(). No other software uses that suffix, so a file of that name is the rest
/// of a killed program, and the next write removes it. If two programs write one file at the same
/// time, the one that began later succeeds.
///   links    see Links
///   rights   an earlier file keeps its permissions; one that may not be written is not replaced
///   devices  (/dev/stdout, pipes) hold nothing that could be lost: written as they are, also
///            /dev/stdout that a shell has redirected to a file
/// Local. All functions throw Error.
class NewFile {
public:
    explicit NewFile(const std::string& path, Links links = Links::followed);
    /// Removes the temporary unless it was committed.
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    const std::string& temporary() const { return temporary_; }

    /// Appends data, also to data that another writer has written.
    void write(const void* data, size_t n_byte);

    /// Flushes the content to the disk.
    void flush();

    /// Flushes the content to the disk, renames the file, then flushes the folder.
    void commit();

private:
    void create();

    std::string path_;       ///< as given, for messages
    std::string target_;     ///< the name that the new file gets
    std::string temporary_;  ///< the target itself if that is a device
    int descriptor_ = -1;
    bool is_device_ = false, is_committed_ = false;
};

void write_atomically(const std::string& path, const void* data, size_t n_byte,
                      Links links = Links::followed);
void write_atomically(const std::string& path, const std::string& text,
                      Links links = Links::followed);

/// Returns the name of the temporary of `path`.
std::string temporary_of(const std::string& path, Links links = Links::followed);

/// Returns whether the name refers to an open file of this process (/dev/stdout), which a shell may
/// have redirected to a file.
bool is_stream(const std::string& path);

/// The file that a name refers to, links followed. Two names of one file (other spellings, symbolic
/// and hard links) have equal identities.
struct Identity {
    bool exists = false;
    uint64_t device = 0, inode = 0;
    auto operator<=>(const Identity&) const = default;
};
Identity identity_of(const std::string& path);
Identity identity_of(int descriptor);

/// Returns true if both paths name one file; false if one of them does not exist.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace surrogate::file
