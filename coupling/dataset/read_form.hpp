// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::dataset {

/// A variable of a data set as its file describes it (page reference/dataset-format.md).
struct StoredVariable {
    enum class Kind {
        real,     ///< float16, float32 or float64
        integer,  ///< of up to 8 bytes
        none,     ///< an axis without numbers
        other     ///< texts, records, other floats
    };
    std::string name;
    std::string unit;               ///< attribute `units`, "" without it
    std::string axis;               ///< attribute `axis`: "X", "Y", "Z" of a coordinate, else ""
    std::vector<std::string> axes;  ///< the names of its axes; empty: the file does not say
    std::vector<int64_t> shape;
    Kind kind = Kind::real;
};

/// Layout of a data set's points (see the table of reference/dataset-format.md).
enum class PointForm { lattice, cloud, moving_cloud, rows, sphere };

/// A coordinate of scattered points or lattices.
struct StoredCoordinate {
    std::string name;
    std::string unit;
    int32_t axis = 0;  ///< 0: X, 1: Y, 2: Z
};

/// Common properties of all fields of a data set.
struct StoredForm {
    PointForm points = PointForm::cloud;
    std::string grid;  ///< of the sphere, else ""
    int64_t n_sample = 0;
    int64_t n_time = 1;  ///< states of a sample; 1 where there is no axis `time`
    bool is_series = false;
    std::vector<std::string> point_axes;  ///< their names
    std::vector<int64_t> extents;         ///< of these axes; for rows: of the whole file
    std::vector<StoredCoordinate> coordinates;
    bool has_weight = false;
};

/// Derives the form from what a file has. A variable that belongs to axes has exactly these axes,
/// its type and their extents: the text of Error(BAD_FILE) names the variable, what was found and
/// what is expected. `grid`: the attribute of the file, "" without it.
StoredForm form_of(const std::vector<StoredVariable>& variables, const std::string& grid);

/// Returns true for variables whose numbers may be read: fields, coordinates, weights, offsets,
/// times.
bool is_read(const StoredForm& form, const StoredVariable& variable);

/// Fields: variables over samples and points that are neither coordinates nor weights.
bool is_field(const StoredForm& form, const StoredVariable& variable);

/// Returns why a variable of the file is not a field, with the line of h5py that repairs it where
/// there is one; "" for a field.
std::string why_no_field(const StoredForm& form, const StoredVariable& variable);

/// nullptr: there is none of that name.
const StoredVariable* find(const std::vector<StoredVariable>& variables, const std::string& name);

}  // namespace surrogate::dataset
