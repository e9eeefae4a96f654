// SPDX-License-Identifier: Apache-2.0
#pragma once

// Disks that are full, for tests of writing.

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace surrogate::test {

/// While it lives, no file of this process grows beyond n_byte: writes fail with "File too large".
/// Works everywhere and for everybody.
class LittleRoom {
public:
    explicit LittleRoom(size_t n_byte) : previous_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &previous_);
        const rlimit small = {static_cast<rlim_t>(n_byte), previous_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~LittleRoom() {
        ::setrlimit(RLIMIT_FSIZE, &previous_);
        std::signal(SIGXFSZ, previous_handler_);
    }
    LittleRoom(const LittleRoom&) = delete;
    LittleRoom& operator=(const LittleRoom&) = delete;

private:
    rlimit previous_ = {};
    void (*previous_handler_)(int);
};

/// A file system of 64 KiB. Needs the right to mount one, as root in a container may have it.
class SmallDisk {
public:
    static constexpr size_t n_byte = 65536;

    SmallDisk() {
        std::string name = (std::filesystem::temp_directory_path() / "small_disk_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) return;
        path_ = name;
        is_there_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=65536") == 0;
    }
    ~SmallDisk() {
        if (is_there_) ::umount2(path_.c_str(), MNT_DETACH);
        if (!path_.empty()) ::rmdir(path_.c_str());
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool is_there() const { return is_there_; }
    std::string operator/(const std::string& file) const { return path_ + "/" + file; }

private:
    std::string path_;
    bool is_there_ = false;
};

}  // namespace surrogate::test
