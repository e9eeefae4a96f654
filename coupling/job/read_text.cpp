// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/read_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace surrogate::tool {

namespace {

constexpr size_t piece_bytes = size_t{1} << 20;

/// Appends the rest of a file. Returns false if that fails or the text exceeds `most` bytes.
bool append_all(int descriptor, uint64_t most, std::string* text) {
    while (true) {
        const size_t begin = text->size();
        text->resize(begin + piece_bytes);
        const ssize_t n = ::read(descriptor, text->data() + begin, piece_bytes);
        text->resize(begin + (n > 0 ? static_cast<size_t>(n) : 0));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n == 0;
        if (text->size() > most) return false;
    }
}

const char* kind_of(std::filesystem::file_type type) {
    using std::filesystem::file_type;
    if (type == file_type::directory) return "a folder";
    if (type == file_type::fifo) return "a pipe";
    if (type == file_type::socket) return "a socket";
    return "a device";
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, uint64_t most) {
    if (path.find('\0') != std::string::npos) return {};
    // O_NONBLOCK: opening a pipe could block.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return {};
    struct stat found = {};
    const bool is_regular = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
    std::string text;
    bool is_good = is_regular && static_cast<uint64_t>(found.st_size) <= most;
    try {
        // The size is a hint, because files of /proc have none.
        if (is_good) text.reserve(static_cast<size_t>(found.st_size) + piece_bytes);
        is_good = is_good && append_all(descriptor, most, &text);
    } catch (...) {
        ::close(descriptor);
        throw;
    }
    ::close(descriptor);
    if (!is_good) return {};
    return text;
}

std::string why_unreadable(const std::string& path, uint64_t most) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (path.find('\0') != std::string::npos) return "the name contains a zero byte";
    if (type == std::filesystem::file_type::not_found) return "there is no such file";
    if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::none)
        return std::string("it is ") + kind_of(type) + ", expected a regular file";
    if (std::filesystem::file_size(path, error) > most && !error)
        return "it has more than " + std::to_string(most) + " bytes";
    return "the system does not let it be read";
}

}  // namespace surrogate::tool
