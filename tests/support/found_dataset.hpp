// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "coupling/hdf5/handle.hpp"

namespace surrogate::test {

/// A finished file, as a program with HDF5 sees it.
class FoundDataset {
public:
    explicit FoundDataset(const std::string& path)
        : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open") {}

    template <class T = double>
    std::vector<T> numbers(const char* name) const {
        const h5::Handle set = open(name);
        const h5::Handle space(H5Dget_space(set), H5Sclose, "read");
        std::vector<T> values(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
        const hid_t type = std::is_same_v<T, int64_t> ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
        h5::check(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read");
        return values;
    }
    size_t number_bytes(const char* name) const {
        const h5::Handle set = open(name);
        const h5::Handle type(H5Dget_type(set), H5Tclose, "read");
        return H5Tget_size(type);
    }
    std::string text(const char* name, const char* attribute) const {
        std::string text;
        if (name[0] == '\0')
            h5::get(file_, attribute, &text);
        else
            h5::get(open(name), attribute, &text);
        return text;
    }
    int64_t version() const {
        int64_t version = 0;
        h5::get(file_, "surrogate_dataset", &version);
        return version;
    }
    /// The names of the axes of a variable, as its dimension scales say.
    std::vector<std::string> axes(const char* name) const {
        const h5::Handle set = open(name);
        const h5::Handle list(H5Aopen(set, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose, "open");
        const h5::Handle type(H5Aget_type(list), H5Tclose, "read");
        const h5::Handle space(H5Aget_space(list), H5Sclose, "read");
        std::vector<hvl_t> found(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
        h5::check(H5Aread(list, type, found.data()), "read");
        std::vector<std::string> names;
        for (const hvl_t& one : found) {
            char text[64] = "";
            const h5::Handle scale(H5Rdereference2(set, H5P_DEFAULT, H5R_OBJECT, one.p), H5Oclose,
                                   "follow");
            H5Iget_name(scale, text, sizeof text);
            names.emplace_back(text + 1);  // without the slash
        }
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, found.data());
        return names;
    }

private:
    h5::Handle open(const char* name) const {
        return {H5Dopen2(file_, name, H5P_DEFAULT), H5Dclose, "open"};
    }
    h5::Handle file_;
};

}  // namespace surrogate::test
