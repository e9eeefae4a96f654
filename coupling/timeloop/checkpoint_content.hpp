// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/hdf5/storage.hpp"
#include "coupling/timeloop/snapshot.hpp"

namespace surrogate::timeloop {

/// Rows of all points in the order of surrogate_ordering, contiguous, at an offset in the file.
struct Rows {
    int64_t n_row = 0, n_column = 0;
    int32_t dtype = SURROGATE_FLOAT64;  ///< or SURROGATE_FLOAT32, SURROGATE_INT64
    uint64_t offset = 0;                ///< from the start of the file; 0 if there are no bytes

    int64_t row_bytes() const { return n_column * (dtype == SURROGATE_FLOAT32 ? 4 : 8); }
    int64_t n_byte() const { return n_row * row_bytes(); }
};

/// Describes the points of a domain, which are a group of the file.
struct PointsContent {
    std::string group;
    bool is_sphere = false;
    std::string grid;  ///< of a sphere
    int64_t n_lat = 0, n_lon = 0;
    int64_t n_global = 0;
    Rows x;   ///< no columns on a sphere and for points without coordinates
    Rows id;  ///< no columns for points without ids
};

struct FieldContent {
    std::string name, unit;
    std::string points;  ///< group of its points
    Rows rows;
};

/// Describes a checkpoint, except the numbers of its fields and points.
struct CheckpointContent {
    double time_s = 0;
    int64_t step = 0, n_skip = 0;
    std::string family;
    uint64_t model_hash = 0;
    uint64_t file_bytes = 0;
    std::vector<ExpectedIntegral> integrals;
    std::vector<PointsContent> points;
    std::vector<FieldContent> fields;
};

/// Size of the header in bytes. The HDF5 file begins behind the header.
constexpr uint64_t seal_bytes = 512;

/// Creates the HDF5 file of a checkpoint without its rows. Sets the offsets of the rows and the
/// file size in `content`. Equal content gives equal bytes. Throws Error. Local.
void lay_out(CheckpointContent* content, h5::SparseFile* file);

/// Reads the content of a file whose header was checked. Throws Error. Local.
CheckpointContent read_content(h5::Storage* file);

/// Returns the differences between a checkpoint and the content that a loop expects, one line per
/// difference, or "" if both agree. Does not compare times, values of integrals and offsets in the
/// file. Local.
std::string differences(const CheckpointContent& found, const CheckpointContent& expected);

}  // namespace surrogate::timeloop
