// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/ranks/split_order.hpp"

namespace surrogate::bench {

/// A cloud of points whose coordinates are single-precision numbers, and a tree of balls on it.
class TreeCase {
public:
    /// kind: "volume" (uniform in a cube), "surface" (layers around an ellipsoid, with decreasing
    /// distance), "lattice" (tied coordinates). Points of rank `rank` of `size`: a contiguous part
    /// of n points by formula; ids shuffled or in order.
    TreeCase(const std::string& kind, int64_t n, bool is_shuffled, int rank = 0, int size = 1);

    /// Returns the positions of this rank's points; the parts of the leaves of each rank begin at
    /// balls of 256.
    std::vector<int64_t> run(impl::Communicator& comm, const kernels::Queue& queue) const;

    /// Returns the positions on one rank by a plain recursion of std::nth_element over indices, on
    /// one thread.
    std::vector<int64_t> plain() const;

private:
    double at(int axis, int64_t i) const {
        return x_[static_cast<size_t>(axis) * ids_.size() + static_cast<size_t>(i)];
    }
    bool is_less(int axis, int64_t a, int64_t b) const;
    void cut(std::vector<int64_t>& order, int64_t begin, int64_t n, int depth) const;

    int64_t n_;
    std::vector<double> x_;     // (3, n_local)
    std::vector<int64_t> ids_;  // (n_local)
};

}  // namespace surrogate::bench
