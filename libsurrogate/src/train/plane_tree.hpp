// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"

namespace surrogate::impl {

/// k-d tree of points in the plane that finds nearest neighbors exactly.
class PlaneTree {
public:
    /// Neighbor of a point.
    struct Neighbor {
        double square = 0;  ///< of the distance
        int32_t point = 0;
        /// Orders by distance, the nearer one first, at equal distances by index.
        bool operator<(const Neighbor& other) const {
            return square < other.square || (square == other.square && point < other.point);
        }
    };

    /// Builds the tree of n finite points. Keeps x and y, (n) each. Allocates only for more points
    /// than ever before.
    void build(std::span<const double> x, std::span<const double> y);

    /// Finds the nearest neighbors of a point, without the point itself: at most n_most, at
    /// distances below `radius`. Returns their number n.
    ///   found  (2 n_most), scratch; the first n are the neighbors, in no defined order
    /// May be called by several threads.
    int64_t find(int32_t point, double radius, int64_t n_most, std::span<Neighbor> found) const;

    int64_t bytes() const { return order_.bytes() + nodes_.bytes(); }

private:
    struct Node {
        double low[2], high[2];  ///< bounding box
        int32_t first, end;      ///< points order_[first] .. order_[end - 1]
        int32_t next;            ///< node after this one and its children; children follow a node
        bool is_leaf() const { return end - first <= most_in_leaf; }
        double square(const double* at) const;
    };
    struct Search;
    static constexpr int32_t most_in_leaf = 16;

    int32_t add(int32_t node, int32_t first, int32_t end);
    void search(int32_t node, Search& found) const;

    std::span<const double> axes_[2];
    kernels::Buffer<int32_t> order_;
    kernels::Buffer<Node> nodes_;
};

}  // namespace surrogate::impl
