// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_dataset.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coupling/hdf5/storage.hpp"

namespace surrogate::dataset {

struct Axis {
    std::string name;
    int64_t n = 0;
};

struct Variable {
    std::string name, unit, long_name, axis;  ///< "": no attribute
    std::vector<size_t> axes;                 ///< of Content::axes
    int32_t dtype = SURROGATE_FLOAT64;
    int64_t n_number = 0;
    uint64_t offset = 0;  ///< in the file

    int64_t number_bytes() const { return dtype == SURROGATE_FLOAT32 ? 4 : 8; }
};

/// Description of a data set without its numbers. Functions throw Error. Local.
struct Content {
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<Axis> axes;
    std::vector<Variable> variables;
    uint64_t file_bytes = 0;

    void set(const std::string& key, const std::string& text);
    void add_axis(const std::string& name, int64_t n);
    void add(const surrogate_variable& variable);

    const Variable& variable(const std::string& name) const;
    /// Returns the variable with the numbers of an axis; null without such a variable.
    const Variable* numbers_of(size_t axis) const;
    /// Returns a hash that identifies the description of a file.
    uint64_t hash(const std::string& path) const;
};

/// Creates the HDF5 file without its numbers, and sets their offsets and the size in `content`.
/// Equal content gives equal bytes. Throws Error.
void lay_out(Content* content, h5::SparseFile* file);

/// Creates the axes of a file and attaches them to the variables as dimension scales of HDF5, as
/// the library hdf5_hl does.
///   datasets  of the variables, in their order
void put_scales(hid_t file, const Content& content, const std::vector<h5::Handle>& datasets);

}  // namespace surrogate::dataset
