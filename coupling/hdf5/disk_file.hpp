// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coupling/hdf5/storage.hpp"

namespace surrogate::h5 {

/// Reads or writes a regular file at offsets. Functions fail(IO) with the reason of the system, and
/// the name of the file for the user. Local.
class DiskFile : public Storage {
public:
    enum Mode { read_only, write_only };
    DiskFile(const std::string& path, Mode mode, const std::string& shown_name);
    ~DiskFile() override;
    DiskFile(const DiskFile&) = delete;
    DiskFile& operator=(const DiskFile&) = delete;

    uint64_t size() const override;
    /// Fails unless the file, open for writing, has the size that rank 0 has set.
    void require_size(uint64_t size) const;
    void resize(uint64_t size) override;
    void write(uint64_t offset, const void* data, size_t n_byte) override;
    /// Fails if the file ends before.
    void read(uint64_t offset, void* data, size_t n_byte) const override;
    /// Flushes the content to disk.
    void flush();

private:
    [[noreturn]] void fail_with(int code) const;

    std::string name_;
    Mode mode_;
    int descriptor_;
};

}  // namespace surrogate::h5
