// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "event.hpp"

namespace tracking {

/// Returns the pseudorapidity of a hit as seen from the vertex.
double eta_of(const Hit& hit);

/// A feature of a hit, with its name in the model card.
struct Feature {
    const char *name, *unit;
};

constexpr std::size_t n_coordinate = 6, n_feature = 15;
extern const std::array<Feature, n_coordinate> coordinate_names;
extern const std::array<const char*, n_coordinate> axis_names;  ///< in data sets
extern const std::array<Feature, n_feature> feature_names;

/// Returns the coordinates of a hit in the network: pseudorapidity, azimuth, radius, azimuth, z,
/// pseudorapidity; repeated ones are weighted twice. In the units of the card: 1, rad, mm.
std::array<double, n_coordinate> coordinates_of(const Hit& hit);
/// Returns the features in the order of feature_names.
std::array<double, n_feature> features_of(const Hit& hit);

/// Returns the rows of all hits, one after the other.
template <std::size_t n>
std::vector<double> rows_of(const std::vector<Hit>& hits,
                            std::array<double, n> (*row_of)(const Hit&)) {
    std::vector<double> rows;
    rows.reserve(n * hits.size());
    for (const Hit& hit : hits) {
        const std::array<double, n> row = row_of(hit);
        rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
}

}  // namespace tracking
