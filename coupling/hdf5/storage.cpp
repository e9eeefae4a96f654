// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/storage.hpp"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <type_traits>

namespace surrogate::h5 {

namespace {

/// State of an open file in HDF5. The first member is defined by HDF5.
struct OpenFile {
    H5FD_t base;
    Driver::State* state;
    haddr_t end_of_allocation;
    bool is_new;
};
static_assert(std::is_standard_layout_v<OpenFile>);

OpenFile* own(H5FD_t* file) {
    return reinterpret_cast<OpenFile*>(file);
}
const OpenFile* own(const H5FD_t* file) {
    return reinterpret_cast<const OpenFile*>(file);
}

/// Runs work on the storage for HDF5, which does not support exceptions; stores the first
/// exception.
template <class Work>
herr_t result_of(const OpenFile& file, const Work& work) noexcept {
    try {
        work(*file.state->storage);
        return 0;
    } catch (...) {
        if (!file.state->failure) file.state->failure = std::current_exception();
        return -1;
    }
}

H5FD_t* open(const char*, unsigned flags, hid_t access, haddr_t) {
    const auto* state = static_cast<Driver::State* const*>(H5Pget_driver_info(access));
    if (state == nullptr) return nullptr;
    auto* opened = new (std::nothrow) OpenFile{};
    if (opened == nullptr) {
        (*state)->failure = std::make_exception_ptr(std::bad_alloc());
        return nullptr;
    }
    opened->state = *state;
    opened->is_new = (flags & H5F_ACC_CREAT) != 0;
    return &opened->base;
}

herr_t close(H5FD_t* file) {
    const OpenFile closed = *own(file);
    delete own(file);
    if (closed.is_new)
        result_of(closed, [&](Storage& storage) { storage.resize(closed.end_of_allocation); });
    return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = 0;  // each object gets its own space
    return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
    return own(file)->end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    own(file)->end_of_allocation = end;
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
    haddr_t size = HADDR_UNDEF;
    result_of(*own(file), [&](Storage& storage) { size = storage.size(); });
    return size;
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t n_byte, void* data) {
    return result_of(*own(file), [&](Storage& storage) { storage.read(offset, data, n_byte); });
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t n_byte, const void* data) {
    result_of(*own(file), [&](Storage& storage) { storage.write(offset, data, n_byte); });
    return 0;
}

/// Registers the driver. The layout of this struct differs between versions of HDF5; the names of
/// its members do not.
hid_t registered_driver() {
    H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
    driver.version = H5FD_CLASS_VERSION;
    driver.value =
        static_cast<H5FD_class_value_t>(600);  // values from 512 are not registered with HDF5
#endif
    driver.name = "surrogate";
    driver.maxaddr = static_cast<haddr_t>(1) << 62;
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.fapl_size = sizeof(Driver::State*);
    driver.open = open;
    driver.close = close;
    driver.query = query;
    driver.get_eoa = end_of_allocation;
    driver.set_eoa = set_end_of_allocation;
    driver.get_eof = end_of_file;
    driver.read = read;
    driver.write = write;
    std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
    return H5FDregister(&driver);
}

/// Calls part(page number, offset in the page, offset in the data, bytes) for each page in the
/// range.
template <class Part>
void for_each_page(uint64_t offset, size_t n_byte, const Part& part) {
    for (size_t done = 0; done < n_byte;) {
        const uint64_t at = (offset + done) % SparseFile::page_bytes;
        const size_t n = std::min<size_t>(n_byte - done, SparseFile::page_bytes - at);
        part((offset + done) / SparseFile::page_bytes, at, done, n);
        done += n;
    }
}

}  // namespace

void SparseFile::write(uint64_t offset, const void* data, size_t n_byte) {
    const auto* bytes = static_cast<const std::byte*>(data);
    for_each_page(offset, n_byte, [&](uint64_t page, uint64_t at, size_t done, size_t n) {
        std::memcpy(pages_[page].data() + at, bytes + done, n);
    });
    size_ = std::max(size_, offset + n_byte);
}

void SparseFile::read(uint64_t offset, void* data, size_t n_byte) const {
    auto* bytes = static_cast<std::byte*>(data);
    for_each_page(offset, n_byte, [&](uint64_t page, uint64_t at, size_t done, size_t n) {
        const auto found = pages_.find(page);
        if (found == pages_.end())
            std::memset(bytes + done, 0, n);
        else
            std::memcpy(bytes + done, found->second.data() + at, n);
    });
}

void SparseFile::copy_to(Storage* other) const {
    for (const auto& [number, page] : pages_) {
        const uint64_t offset = number * page_bytes;
        other->write(offset, page.data(), std::min(page_bytes, size_ - offset));
    }
    other->resize(size_);
}

Driver::Driver(Storage* storage)
    : state_{storage, nullptr},
      driver_(registered_driver(), H5FDunregister, "register a file driver") {}

Handle Driver::access() {
    Handle access = property_list(H5P_FILE_ACCESS);
    State* const state = &state_;
    check(H5Pset_driver(access, driver_, &state), "set a property");
    check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "set a property");
    return access;
}

void Driver::check_storage() const {
    if (state_.failure) std::rethrow_exception(state_.failure);
}

}  // namespace surrogate::h5
