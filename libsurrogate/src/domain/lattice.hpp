// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace surrogate::impl {

/// The points of a block inside a larger array of up to 4 axes. The first axis runs fastest: point
/// i = i0 + shape[0] * (i1 + ..) is element i0 * stride[0] + i1 * stride[1] + ..
struct Lattice {
    static constexpr int max_dim = 4;

    int n_dim = 0;  ///< 0: there is none
    std::array<int64_t, max_dim> shape{}, stride{};

    /// Calls body(element of its first point, points before it, points) for each run of points
    /// along the first axis, in order, that together are the points first .. first + count - 1.
    template <class Body>
    void for_each_run(int64_t first, int64_t count, const Body& body) const {
        std::array<int64_t, max_dim> index{};
        int64_t element = 0;
        for (size_t axis = 0; axis < static_cast<size_t>(n_dim) && count > 0; ++axis) {
            index[axis] = first % shape[axis];
            first /= shape[axis];
            element += index[axis] * stride[axis];
        }
        for (int64_t done = 0; done < count;) {
            const int64_t n = std::min(shape[0] - index[0], count - done);
            body(element, done, n);
            done += n;
            element = first_of_next_row(index, element);
        }
    }

private:
    int64_t first_of_next_row(std::array<int64_t, max_dim>& index, int64_t element) const {
        element -= index[0] * stride[0];
        index[0] = 0;
        for (size_t axis = 1; axis < static_cast<size_t>(n_dim); ++axis) {
            element += stride[axis];
            if (++index[axis] < shape[axis]) break;
            element -= shape[axis] * stride[axis];
            index[axis] = 0;
        }
        return element;
    }
};

}  // namespace surrogate::impl
