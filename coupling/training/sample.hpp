// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/dataset/read_file.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Points of a sample in C order of their axes: first .. first + n - 1.
struct PointRange {
    int64_t first = 0;
    int64_t n = 0;
};

/// The range of `rank` of `size`: balanced; on the sphere whole rows.
PointRange share_of(const dataset::ReadFile& file, int64_t sample, int rank, int size);

/// Operation on a sample before it is used in a step.
struct Change {
    /// One of the eight symmetries of a square lattice: bit 0 exchanges its axes, bit 1 turns the
    /// first round, bit 2 the second.
    int square = 0;
    /// Columns of the sphere by which fields are turned westwards.
    int64_t shift = 0;
};

/// A change at random; the same for the same three numbers.
Change random_change(Symmetry symmetries, const std::vector<int64_t>& extents, int64_t seed,
                     int64_t epoch, int64_t index);

/// Throws Failure where the data have no such symmetry: lattices that are not square, coordinates
/// that are not symmetric, no grid on the sphere, or components of vectors among the channels.
void check_symmetries(Symmetry symmetries, const TrainData& data,
                      const std::vector<Channel>& channels);

/// The numbers of a field at a range of points of the changed sample. Throws as ReadFile::read.
std::vector<double> read_range(const dataset::ReadFile& file, const std::string& field,
                               const dataset::State& state, const Change& change,
                               const PointRange& range);

/// The coordinates of a range of points, all axes of a point side by side.
std::vector<double> read_points(const dataset::ReadFile& file, const dataset::State& state,
                                const PointRange& range);

/// One coordinate of a range of points.
std::vector<double> read_coordinate(const dataset::ReadFile& file, int32_t axis,
                                    const dataset::State& state, const PointRange& range);

/// The weights that points of the data have in losses; on the sphere without such a variable their
/// area, else empty: all alike.
std::vector<double> read_weights(const dataset::ReadFile& file, const dataset::State& state,
                                 const PointRange& range);

/// A number between 0 and 2^64 - 1 that looks like chance.
uint64_t mixed(uint64_t a, uint64_t b, uint64_t c);

/// 0 .. n - 1 in an order that looks like chance; the same for the same numbers.
std::vector<int64_t> permutation(int64_t n, int64_t seed, int64_t epoch);

}  // namespace surrogate::tool
