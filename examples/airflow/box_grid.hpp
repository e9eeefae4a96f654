// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "vector3.hpp"

namespace airflow {

/// The surface of a box of n[0] x n[1] x n[2] cells: its points and its quadrangles, numbered slice
/// by slice from the nose (x) to the tail. It stores no points: any rank computes any range.
class BoxGrid {
public:
    using Index = std::array<int64_t, 3>;

    BoxGrid() = default;
    /// Creates a grid with at least one cell in each direction and an even number across (y), so
    /// that y = 0 is a line.
    explicit BoxGrid(const Index& n);
    /// Returns a grid of about n_point points, evenly distributed over a box of this extent.
    static BoxGrid of_points(int64_t n_point, const Vector3& extent);

    const Index& n() const { return n_; }
    int64_t n_point() const;
    int64_t n_cell() const;

    /// Returns the index of point number p: 0 <= index[a] <= n[a], and at least one component is at
    /// an end.
    Index point(int64_t p) const;
    int64_t number(const Index& index) const;
    /// Returns the direction of a point from the middle of the box [-1, 1]^3.
    Vector3 direction(const Index& index) const;
    /// Returns the corners of a cell, counter-clockwise as seen from outside.
    std::array<int64_t, 4> corners(int64_t cell) const;

private:
    int64_t n_cap_point() const { return (n_[1] + 1) * (n_[2] + 1); }
    int64_t n_cap_cell() const { return n_[1] * n_[2]; }
    int64_t n_ring() const { return 2 * (n_[1] + n_[2]); }
    Index ring_point(int64_t slice, int64_t place) const;
    std::array<int64_t, 4> cap_corners(int64_t slice, int64_t cell) const;

    Index n_{1, 2, 1};
};

/// Four points of a grid and their weights, which sum to one.
struct Stencil {
    std::array<int64_t, 4> point;
    std::array<double, 4> weight;
};

/// Returns the bilinear interpolation on the surface of the box, from `coarse` to a point of
/// `fine`.
Stencil interpolate(const BoxGrid& coarse, const BoxGrid& fine, const BoxGrid::Index& index);

}  // namespace airflow
