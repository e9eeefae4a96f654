// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::dataset {

/// A variable of a data set as its file describes it (see reference/dataset-format.md).
struct StoredVariable {
    enum class Kind {
        real,     ///< float16, float32 or float64
        integer,  ///< of up to 8 bytes
        none,     ///< an axis without numbers
        other     ///< texts, records, other floats
    };
    std::string name;
    std::string unit;  ///< attribute `units`; "" without it
    std::string axis;  ///< attribute `axis` of a coordinate, see coordinate_axes; else ""
    std::vector<std::string> axes;  ///< the names of its axes; empty if the file has none
    std::vector<int64_t> shape;
    Kind kind = Kind::real;
};

/// Layout of a data set's points (see the table of reference/dataset-format.md).
enum class PointForm { lattice, cloud, moving_cloud, rows, sphere };

/// A coordinate of scattered points or of a structured grid.
struct StoredCoordinate {
    std::string name;
    std::string unit;
    int32_t axis = 0;  ///< 0: X, 1: Y, 2: Z, 3 .. 7: further ones
};

/// Common properties of all fields of a data set.
struct StoredForm {
    PointForm points = PointForm::cloud;
    std::string grid;  ///< of the sphere, else ""
    int64_t n_sample = 0;
    int64_t n_time = 1;  ///< states of a sample; 1 without an axis `time`
    bool is_series = false;
    std::vector<std::string> point_axes;  ///< names of the axes of points
    std::vector<int64_t> extents;         ///< extents of these axes; for rows: of the whole file
    std::vector<StoredCoordinate> coordinates;
    bool has_weight = false;
    bool has_sample_weight = false;  ///< weights differ between samples or states
    bool has_clouds = false;         ///< points belong to clouds: variable `cloud_index`
    bool has_sample_clouds = false;  ///< clouds differ between samples or states
    int64_t n_cloud = 0;  ///< extent of the axis `cloud` of numbers per cloud; 0 without one
};

/// Derives the form from the variables of a file. The text of Error(BAD_FILE) names a variable
/// whose axes, type or extents do not match, the value found and the expected value. `grid`: the
/// attribute of the file, "" without it.
StoredForm form_of(const std::vector<StoredVariable>& variables, const std::string& grid);

/// Returns true for variables whose numbers may be read: fields, also of integers and of samples,
/// coordinates, weights, offsets, times.
bool is_read(const StoredForm& form, const StoredVariable& variable);

/// Returns true for fields: variables over samples and points that are neither coordinates nor
/// weights.
bool is_field(const StoredForm& form, const StoredVariable& variable);

/// Returns true for integers over samples and points, such as labels of classes.
bool is_integer_field(const StoredForm& form, const StoredVariable& variable);

/// Returns true for variables with one number per sample, or per state of a series: real numbers or
/// integers over `sample`, or `sample` and `time`; also if each of their clouds has one.
bool is_sample_field(const StoredForm& form, const StoredVariable& variable);

/// Returns true for variables over samples (or their states) and the axis `cloud`, without regard
/// to their type.
bool is_over_clouds(const StoredForm& form, const StoredVariable& variable);

/// Returns the reason why a variable of the file is not a field, with the line of h5py that repairs
/// it if possible; "" for a field.
std::string why_no_field(const StoredForm& form, const StoredVariable& variable);

/// Returns nullptr for an unknown name.
const StoredVariable* find(const std::vector<StoredVariable>& variables, const std::string& name);

}  // namespace surrogate::dataset
