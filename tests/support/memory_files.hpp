// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/file.hpp"

namespace surrogate::test {

/// One file that is bytes in memory, whatever path is asked for. The bytes belong to the caller and
/// may change between uses. Reading outside of them throws, as the real layer does.
class MemoryFiles final : public impl::FileLayer {
public:
    explicit MemoryFiles(std::string_view bytes) : bytes_(bytes) {}

    std::unique_ptr<impl::File> open(const std::string&) const override {
        return std::make_unique<MemoryFile>(bytes_);
    }

    std::unique_ptr<impl::NewFile> create(const std::string& path) const override {
        throw kernels::Error(kernels::Status::io, "cannot write '" + path + "': only for reading");
    }

private:
    class MemoryFile final : public impl::File {
    public:
        explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
        int64_t size() const override { return std::ssize(bytes_); }
        void read(int64_t offset, void* to, int64_t n_byte) const override {
            if (offset < 0 || n_byte < 0 || offset > size() || n_byte > size() - offset)
                throw kernels::Error(kernels::Status::io,
                                     "read past the end at offset " + std::to_string(offset));
            if (n_byte > 0) std::memcpy(to, bytes_.data() + offset, static_cast<size_t>(n_byte));
        }

    private:
        std::string_view bytes_;
    };

    std::string_view bytes_;
};

}  // namespace surrogate::test
