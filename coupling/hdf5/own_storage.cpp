// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/own_storage.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "coupling/error/error.hpp"
#include "coupling/hdf5/handle.hpp"

namespace surrogate::h5 {

namespace {

/// nbit and scaleoffset are not included: HDF5 1.10 reads and writes beyond its memory if their
/// parameters are damaged, and netCDF and h5py do not use them by default.
constexpr std::array<H5Z_filter_t, 4> known_filters = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE,
                                                       H5Z_FILTER_FLETCHER32, H5Z_FILTER_SZIP};

[[noreturn]] void refuse(const std::string& text) {
    coupling::fail(SURROGATE_BAD_FILE, text);
}

Handle creation_of(hid_t dataset) {
    return {H5Dget_create_plist(dataset), H5Pclose, "read a layout"};
}

struct Filter {
    H5Z_filter_t id;
    std::string name;
};

std::vector<Filter> filters_of(hid_t creation) {
    std::vector<Filter> filters;
    const auto n = checked(H5Pget_nfilters(creation), "read the filters of a data set");
    for (hid_t i = 0; i < n; ++i) {
        unsigned flags = 0;
        size_t n_value = 0;
        std::array<char, 64> name{};
        const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &n_value,
                                               nullptr, name.size() - 1, name.data(), nullptr);
        checked(id, "read the filters of a data set");
        filters.push_back({id, name.data()});
    }
    return filters;
}

void require_known(const Filter& filter) {
    const std::string text = "the numbers are stored with the filter " + std::to_string(filter.id) +
                             " '" + filter.name + "'";
    if (std::find(known_filters.begin(), known_filters.end(), filter.id) == known_filters.end())
        refuse(text +
               ", expected deflate, shuffle, fletcher32, szip or none; write the file again");
    if (H5Zfilter_avail(filter.id) <= 0)
        refuse(text + ", which this HDF5 is built without; write the file again");
}

[[noreturn]] void refuse_external(hid_t creation) {
    std::array<char, 256> name{};
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(creation, 0, name.size() - 1, name.data(), &offset, &size);
    refuse("the numbers are in another file, '" + std::string(name.data()) +
           "' (external storage), expected in this one; write the file again");
}

std::vector<hsize_t> extents_of(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "read a shape");
    const auto n_axis = checked(H5Sget_simple_extent_ndims(space), "read a shape");
    std::vector<hsize_t> extents(static_cast<size_t>(n_axis));
    check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "read a shape");
    return extents;
}

/// A product that is limited to values below 2^63, as sizes of files are.
class Product {
public:
    explicit Product(uint64_t value) : value_(value) {}
    void multiply(uint64_t factor) {
        constexpr auto largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        if (factor != 0 && value_ > largest / factor) is_too_large_ = true;
        value_ = is_too_large_ ? largest : value_ * factor;
    }
    bool is_above(uint64_t limit) const { return is_too_large_ || value_ > limit; }
    std::string text() const { return is_too_large_ ? "more than 2^63" : std::to_string(value_); }
    uint64_t value() const { return value_; }
    bool operator==(uint64_t other) const { return !is_too_large_ && value_ == other; }

private:
    uint64_t value_;
    bool is_too_large_ = false;
};

uint64_t number_bytes(hid_t dataset) {
    const Handle type(H5Dget_type(dataset), H5Tclose, "read a type");
    return H5Tget_size(type);
}

[[noreturn]] void refuse_size(const std::vector<hsize_t>& extents, const Product& needed,
                              uint64_t stored, const std::string& remedy) {
    refuse("the shape " + shape_text(extents) + " needs " + needed.text() +
           " bytes, the file stores " + std::to_string(stored) + remedy);
}

void check_place(hid_t dataset, uint64_t stored, uint64_t file_bytes) {
    const haddr_t first = H5Dget_offset(dataset);
    const bool is_within = first <= file_bytes && stored <= file_bytes - first;
    if (stored > 0 && !is_within)
        refuse("the numbers are beyond the end of the file, which has " +
               std::to_string(file_bytes) + " bytes");
}

/// Checks that all chunks exist, because missing chunks would be read as fill values.
void check_all_chunks(hid_t dataset, const Product& n_chunk) {
#if H5_VERSION_GE(1, 10, 5)
    const Handle space(H5Dget_space(dataset), H5Sclose, "read a shape");
    hsize_t n_written = 0;
    check(H5Dget_num_chunks(dataset, space, &n_written), "count the chunks of a data set");
    if (!(n_chunk == n_written))
        refuse("the file stores " + std::to_string(n_written) + " chunks, expected " +
               n_chunk.text() + "; were all numbers written?");
#else
    static_cast<void>(dataset);
    static_cast<void>(n_chunk);
#endif
}

void check_chunked(hid_t dataset, hid_t creation, const std::vector<hsize_t>& extents,
                   uint64_t file_bytes) {
    std::vector<hsize_t> chunk(extents.size());
    const auto n_axis =
        checked(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()),
                "read the chunks of a data set");
    if (n_axis != static_cast<hid_t>(extents.size()))
        refuse("the chunks have " + std::to_string(n_axis) + " axes, the shape is " +
               shape_text(extents));
    Product n_chunk(1), needed(number_bytes(dataset));
    for (size_t i = 0; i < extents.size(); ++i) {
        if (chunk[i] == 0) refuse("the chunks have the shape " + shape_text(chunk));
        const hsize_t n = extents[i] / chunk[i] + (extents[i] % chunk[i] != 0 ? 1 : 0);
        n_chunk.multiply(n);
        needed.multiply(n);
        needed.multiply(chunk[i]);
    }
    bool can_expand = false;
    for (const Filter& filter : filters_of(creation))
        can_expand = can_expand || filter.id == H5Z_FILTER_DEFLATE || filter.id == H5Z_FILTER_SZIP;
    const uint64_t stored = H5Dget_storage_size(dataset);
    if (stored > file_bytes)
        refuse("the chunks have " + std::to_string(stored) + " bytes, the file has " +
               std::to_string(file_bytes));
    Product room(stored);
    if (can_expand) room.multiply(largest_expansion);
    if (needed.is_above(room.value()))
        refuse_size(extents, needed, stored,
                    can_expand ? ", which expand at most " + std::to_string(largest_expansion) +
                                     "-fold; were all numbers written?"
                               : "; were all numbers written?");
    check_all_chunks(dataset, n_chunk);
}

}  // namespace

void require_own_storage(hid_t dataset) {
    const Handle creation = creation_of(dataset);
    if (H5Pget_layout(creation) == H5D_VIRTUAL)
        refuse(
            "the numbers are in other data sets (virtual layout), expected in this file; write "
            "the file again");
    if (H5Pget_external_count(creation) != 0) refuse_external(creation);
    for (const Filter& filter : filters_of(creation)) require_known(filter);
}

void require_written(hid_t dataset, uint64_t file_bytes) {
    const Handle creation = creation_of(dataset);
    const std::vector<hsize_t> extents = extents_of(dataset);
    if (H5Pget_layout(creation) == H5D_CHUNKED)
        return check_chunked(dataset, creation, extents, file_bytes);
    Product needed(number_bytes(dataset));
    for (const hsize_t extent : extents) needed.multiply(extent);
    const uint64_t stored = H5Dget_storage_size(dataset);
    if (!(needed == stored)) refuse_size(extents, needed, stored, "; were all numbers written?");
    if (H5Pget_layout(creation) == H5D_CONTIGUOUS) check_place(dataset, stored, file_bytes);
}

}  // namespace surrogate::h5
