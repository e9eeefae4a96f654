// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>

#include "coupling/hdf5/handle.hpp"

namespace surrogate::h5 {

/// Storage that HDF5 uses instead of a file that it opens itself. Functions may throw.
class Storage {
public:
    virtual ~Storage() = default;
    virtual uint64_t size() const = 0;
    virtual void resize(uint64_t size) = 0;
    virtual void read(uint64_t offset, void* data, size_t n_byte) const = 0;
    virtual void write(uint64_t offset, const void* data, size_t n_byte) = 0;
};

/// A file in memory that stores only the pages that were written; the others are zeros. Only
/// allocations can fail: HDF5 1.10 may crash after a disk was full (h5py issue 914).
class SparseFile : public Storage {
public:
    static constexpr uint64_t page_bytes = 4096;
    using Page = std::array<std::byte, page_bytes>;

    uint64_t size() const override { return size_; }
    void resize(uint64_t size) override { size_ = size; }
    void read(uint64_t offset, void* data, size_t n_byte) const override;
    void write(uint64_t offset, const void* data, size_t n_byte) override;

    /// Writes the pages and the size to another storage, whose other bytes must be zeros.
    void copy_to(Storage* other) const;

private:
    uint64_t size_ = 0;
    std::map<uint64_t, Page> pages_;  ///< by page number
};

/// Lets HDF5 work on a storage, which must outlive the driver.
class Driver {
public:
    explicit Driver(Storage* storage);
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Returns a list of properties for files in the storage; closing such a file closes all
    /// objects in it.
    Handle access();

    /// Throws the first exception of the storage, if any. HDF5 does not get the error of a failed
    /// write, so that it can close the file. Writes are valid only after this check.
    void check_storage() const;

    struct State {
        Storage* storage;
        std::exception_ptr failure;
    };

private:
    State state_;
    Handle driver_;
};

}  // namespace surrogate::h5
