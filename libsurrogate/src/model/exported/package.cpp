// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/exported/package.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/plugin_file.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl::exported {

namespace {

using kernels::Error;
using kernels::Status;

struct Loaded {
    const TorchPlugin* plugin = nullptr;
    std::string problem;
};

Loaded try_to_load() {
    Loaded loaded;
    using Entry = const TorchPlugin* (*)();
    const auto files = plugin_files(torch_plugin_file);
    if (const auto entry =
            reinterpret_cast<Entry>(find_plugin_symbol(files, torch_plugin_symbol, loaded.problem)))
        loaded.plugin = entry();
    return loaded;
}

/// Opens the plug-in, once per process. Throws not_supported with the loader's text for each place.
const TorchPlugin& load_torch_plugin() {
    static const Loaded loaded = try_to_load();
    if (loaded.plugin) return *loaded.plugin;
    throw Error(Status::not_supported,
                "a model of family 'torch' needs the plug-in for PyTorch (built with "
                "SURROGATE_TORCH=ON), which cannot be loaded: " +
                    loaded.problem);
}

/// Bytes as a file without a name, so that what is opened is what was verified.
class MemoryPath {
public:
    explicit MemoryPath(std::span<const std::byte> bytes)
        : descriptor_(memfd_create("surrogate", MFD_CLOEXEC)) {
        if (descriptor_ < 0) fail("memfd_create");
        for (size_t done = 0; done < bytes.size();) {
            const ssize_t n = write(descriptor_, bytes.data() + done, bytes.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) fail("write");
            done += static_cast<size_t>(n);
        }
    }
    ~MemoryPath() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    MemoryPath(const MemoryPath&) = delete;
    MemoryPath& operator=(const MemoryPath&) = delete;
    std::string text() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    [[noreturn]] void fail(const char* call) {
        const int reason = errno;
        if (descriptor_ >= 0) close(descriptor_);
        throw Error(Status::io, std::string(call) + " of a PyTorch package in memory failed: " +
                                    std::strerror(reason));
    }
    int descriptor_;
};

void require_success(TorchStatus status, const std::string& name, const char* error) {
    if (status == TorchStatus::success) return;
    const Status kind = status == TorchStatus::no_memory      ? Status::no_memory
                        : status == TorchStatus::wrong_device ? Status::not_supported
                                                              : Status::bad_file;
    throw Error(kind, "PyTorch package '" + printable(name) + "': " + printable(error, 1000));
}

}  // namespace

Package::Package(const std::string& name, std::span<const std::byte> bytes)
    : plugin_(load_torch_plugin()), name_(name) {
    const MemoryPath path(bytes);
    char error[2000] = "";
    require_success(plugin_.open(path.text().c_str(), &handle_, error, sizeof error), name_, error);
}

void Package::run(const TorchCall& call) const {
    char error[2000] = "";
    require_success(plugin_.run(handle_, &call, error, sizeof error), name_, error);
}

}  // namespace surrogate::impl::exported
