// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <tuple>

namespace surrogate::file {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& path, int code) {
    throw Error(what, path, std::generic_category().message(code));
}

/// Returns the end of a chain of symbolic links, which need not exist.
std::string without_links(const std::string& path) {
    fs::path target = path;
    std::error_code none;
    for (int n_link = 0; n_link < 40 && fs::is_symlink(target, none); ++n_link)
        target = target.parent_path() / fs::read_symlink(target, none);
    return target.string();
}

/// Returns the path that a new file replaces: the end of a chain of links, or the name itself.
std::string target_of(const std::string& path, Links links) {
    return links == Links::followed ? without_links(path) : path;
}

/// The descriptor that a name like /dev/stdout or /dev/fd/3 stands for; -1 for other names.
int stream_of(const std::string& path) {
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
        if (path.compare(0, folder.size(), folder) != 0) continue;
        int number = -1;
        const char* const end = path.data() + path.size();
        const auto found = std::from_chars(path.data() + folder.size(), end, number);
        return found.ec == std::errc() && found.ptr == end ? number : -1;
    }
    return -1;
}

/// A rename is on the disk when its folder is. Not every file system can do this, and the file is
/// complete anyway, so that the result is ignored. Does not allocate.
void flush_folder_of(const std::string& path) noexcept {
    std::array<char, 4096> folder{'.'};  // names of files are shorter
    if (const size_t end = path.rfind('/'); end != std::string::npos) {
        const size_t n = end == 0 ? 1 : end;
        if (n >= folder.size()) return;
        path.copy(folder.data(), n);
    }
    const int handle = ::open(folder.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return;
    ::fsync(handle);
    ::close(handle);
}

bool is_open_under(int descriptor, const std::string& path) {
    const Identity opened = identity_of(descriptor);
    return opened.exists && opened == identity_of(path);
}

}  // namespace

NewFile::NewFile(const std::string& path, Links links)
    : path_(path), target_(target_of(path, links)) {
    struct stat earlier = {};
    bool exists = ::stat(target_.c_str(), &earlier) == 0;
    if (!exists && errno != ENOENT && !(links == Links::replaced && errno == ELOOP))
        fail("write", path_, errno);
    if (exists && S_ISDIR(earlier.st_mode)) fail("write", path_, EISDIR);
    is_device_ = (exists && !S_ISREG(earlier.st_mode)) || is_stream(path_);
    if (is_device_) target_ = path_;
    temporary_ = is_device_ ? target_ : temporary_of(path_, links);
    if (!is_device_ && std::filesystem::is_symlink(target_)) exists = false;  // rights of another
    if (exists && ::access(target_.c_str(), W_OK) != 0) fail("write", path_, errno);
    create();
    // Not every file system has permissions, and the file is right without them.
    if (exists && !is_device_) std::ignore = ::fchmod(descriptor_, earlier.st_mode & 07777);
}

/// A new file of its own: one that another program still writes to is not shared with it.
void NewFile::create() {
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
    if (!is_device_) {
        if (::unlink(temporary_.c_str()) != 0 && errno != ENOENT)
            fail("remove the left-over", temporary_, errno);
        flags |= O_CREAT | O_EXCL;
    }
    // A redirected stream is written where it is; a new description of it would begin at its start.
    const int stream = stream_of(path_);
    descriptor_ =
        stream >= 0 ? ::fcntl(stream, F_DUPFD_CLOEXEC, 0) : ::open(temporary_.c_str(), flags, 0666);
    if (descriptor_ < 0) fail("write", path_, errno);
}

NewFile::~NewFile() {
    const bool is_ours = !is_committed_ && !is_device_ && is_open_under(descriptor_, temporary_);
    if (is_ours) ::unlink(temporary_.c_str());
    if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::write(const void* data, size_t n_byte) {
    const auto* next = static_cast<const char*>(data);
    while (n_byte > 0) {
        const ssize_t n = ::write(descriptor_, next, n_byte);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("write", path_, errno);
        next += n;
        n_byte -= static_cast<size_t>(n);
    }
}

/// A network file system may tell of a full disk only here.
void NewFile::flush() {
    if (!is_device_ && ::fsync(descriptor_) != 0) fail("write", path_, errno);
}

void NewFile::commit() {
    flush();
    if (is_device_) return;
    if (!is_open_under(descriptor_, temporary_))
        throw Error("write", path_, "another program writes it at the same time");
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("write", path_, errno);
    is_committed_ = true;
    flush_folder_of(target_);
}

void write_atomically(const std::string& path, const void* data, size_t n_byte, Links links) {
    NewFile file(path, links);
    file.write(data, n_byte);
    file.commit();
}

void write_atomically(const std::string& path, const std::string& text, Links links) {
    write_atomically(path, text.data(), text.size(), links);
}

std::string temporary_of(const std::string& path, Links links) {
    return target_of(path, links) + ".surrogate.tmp";
}

bool is_stream(const std::string& path) {
    return stream_of(path) >= 0;
}

Identity identity_of(const std::string& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) return {};
    return {true, static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino)};
}

Identity identity_of(int descriptor) {
    struct stat found = {};
    if (::fstat(descriptor, &found) != 0) return {};
    return {true, static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino)};
}

bool is_same_file(const std::string& a, const std::string& b) {
    const Identity of_a = identity_of(a);
    return of_a.exists && of_a == identity_of(b);
}

}  // namespace surrogate::file
