// SPDX-License-Identifier: Apache-2.0
#include "box_grid.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace airflow {

BoxGrid::BoxGrid(const Index& n) : n_(n) {
    if (n[0] < 1 || n[1] < 2 || n[2] < 1 || n[1] % 2 != 0)
        throw std::invalid_argument("a box needs cells in each direction, an even number across");
}

BoxGrid BoxGrid::of_points(int64_t n_point, const Vector3& extent) {
    const auto with_spacing = [&](double h) {
        const auto cells = [h](double length) {
            return std::max<int64_t>(1, std::llround(length / h));
        };
        return BoxGrid({cells(extent.x), 2 * cells(extent.y / 2), cells(extent.z)});
    };
    double fine = 0, coarse = std::max({extent.x, extent.y, extent.z});
    // The number of points falls in steps with the spacing: stop between two of them.
    for (int k = 0; k < 60; ++k) {
        const double middle = (fine + coarse) / 2;
        (with_spacing(middle).n_point() > n_point ? fine : coarse) = middle;
    }
    return with_spacing(coarse);
}

int64_t BoxGrid::n_point() const {
    return 2 * n_cap_point() + (n_[0] - 1) * n_ring();
}

int64_t BoxGrid::n_cell() const {
    return 2 * n_cap_cell() + n_[0] * n_ring();
}

/// Returns a point of a ring around the box seen from the tail: along the floor to +y, up, back
/// along the roof, down.
BoxGrid::Index BoxGrid::ring_point(int64_t slice, int64_t place) const {
    const int64_t y = n_[1], z = n_[2];
    if (place < y) return {slice, place, 0};
    if (place < y + z) return {slice, y, place - y};
    if (place < 2 * y + z) return {slice, 2 * y + z - place, z};
    return {slice, 0, 2 * (y + z) - place};
}

BoxGrid::Index BoxGrid::point(int64_t p) const {
    const int64_t row = n_[2] + 1, behind = p - n_cap_point();
    if (behind < 0) return {0, p / row, p % row};
    const int64_t slice = 1 + behind / n_ring();
    if (slice < n_[0]) return ring_point(slice, behind % n_ring());
    const int64_t last = behind - (n_[0] - 1) * n_ring();
    return {n_[0], last / row, last % row};
}

int64_t BoxGrid::number(const Index& index) const {
    const auto [i, j, k] = index;
    const int64_t y = n_[1], z = n_[2];
    if (i == 0) return j * (z + 1) + k;
    const int64_t before = n_cap_point() + (i - 1) * n_ring();
    if (i == n_[0]) return before + j * (z + 1) + k;
    if (k == 0 && j < y) return before + j;
    if (j == y && k < z) return before + y + k;
    if (k == z && j > 0) return before + 2 * y + z - j;
    return before + 2 * (y + z) - k;
}

Vector3 BoxGrid::direction(const Index& index) const {
    // Exactly symmetric: i and n - i give opposite numbers.
    const auto place = [](int64_t i, int64_t n) { return double(2 * i - n) / double(n); };
    return {place(index[0], n_[0]), place(index[1], n_[1]), place(index[2], n_[2])};
}

std::array<int64_t, 4> BoxGrid::cap_corners(int64_t slice, int64_t cell) const {
    const int64_t j = cell / n_[2], k = cell % n_[2];
    std::array<int64_t, 4> list = {number({slice, j, k}), number({slice, j + 1, k}),
                                   number({slice, j + 1, k + 1}), number({slice, j, k + 1})};
    if (slice == 0) std::swap(list[1], list[3]);
    return list;
}

std::array<int64_t, 4> BoxGrid::corners(int64_t cell) const {
    if (cell < n_cap_cell()) return cap_corners(0, cell);
    const int64_t behind = cell - n_cap_cell(), slice = behind / n_ring(),
                  place = behind % n_ring();
    if (slice >= n_[0]) return cap_corners(n_[0], behind - n_[0] * n_ring());
    const int64_t next = (place + 1) % n_ring();
    return {number(ring_point(slice, place)), number(ring_point(slice, next)),
            number(ring_point(slice + 1, next)), number(ring_point(slice + 1, place))};
}

Stencil interpolate(const BoxGrid& coarse, const BoxGrid& fine, const BoxGrid::Index& index) {
    int face = 0;  // the axis of a face that contains the point
    while (index[face] != 0 && index[face] != fine.n()[face]) ++face;
    BoxGrid::Index low{};
    std::array<double, 3> share{};
    for (int a = 0; a < 3; ++a) {
        const int64_t n = coarse.n()[a], along = index[a] * n;
        low[a] = a == face ? (index[a] == 0 ? 0 : n) : std::min(along / fine.n()[a], n - 1);
        share[a] = a == face ? 0 : double(along - low[a] * fine.n()[a]) / double(fine.n()[a]);
    }
    const int a = (face + 1) % 3, b = (face + 2) % 3;
    Stencil stencil{};
    for (int corner = 0; corner < 4; ++corner) {
        const int da = corner & 1, db = corner >> 1;
        BoxGrid::Index at = low;
        at[a] += da;
        at[b] += db;
        stencil.point[corner] = coarse.number(at);
        stencil.weight[corner] = (da ? share[a] : 1 - share[a]) * (db ? share[b] : 1 - share[b]);
    }
    return stencil;
}

}  // namespace airflow
