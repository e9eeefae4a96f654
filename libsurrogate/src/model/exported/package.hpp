// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "libsurrogate/src/core/torch_plugin.hpp"

namespace surrogate::impl::exported {

/// A package of machine code that the plug-in has opened.
class Package {
public:
    /// Opens a package. `name`: file name for messages. Local. Throws not_supported (no plug-in, a
    /// package for a device), bad_file, no_memory, io.
    Package(const std::string& name, std::span<const std::byte> bytes);
    ~Package() { plugin_.close(handle_); }
    Package(const Package&) = delete;
    Package& operator=(const Package&) = delete;

    const char* torch_version() const { return plugin_.version; }

    /// Throws bad_file, no_memory. y is then unspecified.
    void run(const TorchCall& call) const;

private:
    const TorchPlugin& plugin_;
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace surrogate::impl::exported
