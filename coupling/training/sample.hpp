// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coupling/dataset/read_file.hpp"
#include "coupling/training/augment.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Points of a sample in C order of their axes: first .. first + n - 1.
struct PointRange {
    int64_t first = 0;
    int64_t n = 0;
};

constexpr int64_t part_points = int64_t{1} << 18;  ///< points that are read at a time: 2 MB

/// Calls use(range) for the parts of n_point points, one after the other.
template <class Use>
void for_each_part(int64_t n_point, const Use& use) {
    for (int64_t first = 0; first < n_point; first += part_points)
        use(PointRange{first, std::min(part_points, n_point - first)});
}

/// Returns the balanced range of points of `rank` of `size`; on the sphere it has whole rows.
PointRange share_of(const dataset::ReadFile& file, int64_t sample, int rank, int size);

/// Operation on a sample before it is used in a step.
struct Change {
    /// One of the eight symmetries of a square grid: bit 0 exchanges the axes, bit 1 reverses the
    /// first axis, bit 2 the second.
    int square = 0;
    /// Number of columns by which fields on the sphere are shifted westward.
    int64_t shift = 0;
    /// Number of points that are drawn from the sample; 0: all points.
    int64_t n_drawn = 0;
    uint64_t draw_key = 0;                    ///< of the random numbers of the draw
    std::optional<Transform> transform = {};  ///< of the points
};

/// Returns a random change, with n_drawn random points of each sample unless it is 0. Equal
/// arguments give equal changes.
Change random_change(Symmetry symmetries, int64_t n_drawn, const std::vector<int64_t>& extents,
                     int64_t seed, int64_t epoch, int64_t index);

/// Returns the points of a range that the change draws from all n_point points of the sample, as
/// ascending indices within the range. They do not depend on the range.
std::vector<int64_t> drawn_points(const Change& change, int64_t n_point, const PointRange& range);

/// Throws Failure if the data do not have the symmetry: grids that are not square, coordinates that
/// are not symmetric, no grid on the sphere, or components of vectors among the channels.
void check_symmetries(Symmetry symmetries, const TrainData& data,
                      const std::vector<Channel>& channels);

/// Returns the numbers of a field at a range of points of the changed sample; one number for a
/// field with one number per sample, and one for each cloud of the state for a number per cloud.
/// Throws as ReadFile::read.
std::vector<double> read_range(const dataset::ReadFile& file, const std::string& field,
                               const dataset::State& state, const Change& change,
                               const PointRange& range);

/// Returns the integers of a range of points of the changed sample; one integer for a variable with
/// one per sample, or one for each cloud. Throws as ReadFile::read_integers.
std::vector<int64_t> read_labels(const dataset::ReadFile& file, const std::string& field,
                                 const dataset::State& state, const Change& change,
                                 const PointRange& range);

/// Returns the clouds of a range of points of the changed sample; all 0 in a file without clouds.
/// Throws as ReadFile::read_clouds.
std::vector<int64_t> read_clouds(const dataset::ReadFile& file, const dataset::State& state,
                                 const Change& change, const PointRange& range);

/// Returns the coordinates of a range of points, (n, n_axis).
std::vector<double> read_points(const dataset::ReadFile& file, const dataset::State& state,
                                const PointRange& range);

/// Returns one coordinate of a range of points.
std::vector<double> read_coordinate(const dataset::ReadFile& file, int32_t axis,
                                    const dataset::State& state, const PointRange& range);

/// Returns the weights of a range of points of the changed sample in the loss, for a target state.
/// If the data have none, returns areas on the sphere, and otherwise an empty vector for equal
/// weights. Throws Error for a negative weight.
std::vector<double> read_weights(const dataset::ReadFile& file, const dataset::State& state,
                                 const Change& change, const PointRange& range);

/// Returns a pseudorandom number in 0 .. 2^64 - 1.
uint64_t mixed(uint64_t a, uint64_t b, uint64_t c);

/// Returns a pseudorandom permutation of 0 .. n - 1. Equal arguments give equal permutations.
std::vector<int64_t> permutation(int64_t n, int64_t seed, int64_t epoch);

}  // namespace surrogate::tool
