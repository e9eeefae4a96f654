// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// Attention on the sphere: grids, neighborhoods, and the kernels on rows of latitude. All geometry
/// is computed in double, redundantly on every rank by the same code.
/// Source: arXiv:2505.11157 and NVIDIA/torch-harmonics; formulas and measurements in sphere.md.
namespace surrogate::kernels {

enum class GridKind { equiangular, legendre_gauss, lobatto, equiangular_trapezoidal };

/// Returns "equiangular", "legendre-gauss", "lobatto" or "equiangular-trapezoidal".
const char* name(GridKind kind);

/// Returns the kind with a name; throws invalid_argument that lists the names.
GridKind parse_grid_kind(std::string_view text);

/// A whole grid: rows of latitude, row 0 is the northernmost; column j is at longitude 2 pi j /
/// n_lon.
struct Grid {
    GridKind kind = GridKind::equiangular;
    int64_t n_lat = 0, n_lon = 0;
    bool operator==(const Grid&) const = default;
};

/// Nodes and weights of the rows, n_lat each.
struct Latitudes {
    std::vector<double> theta;   ///< colatitude in [0, pi], ascending: north to south
    std::vector<double> weight;  ///< in cos(theta); they sum to 2
};

/// Computes the rows of a grid. Throws invalid_argument for n_lat < 2.
Latitudes latitudes(GridKind kind, int64_t n_lat);

/// Returns the largest gap between neighboring nodes: the default cutoff radius of a layer.
double largest_gap(const Latitudes& latitudes);

}  // namespace surrogate::kernels
