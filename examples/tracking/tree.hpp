// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoflann.hpp>
#include <vector>

#include "neighborhood.hpp"

namespace tracking {

/// Nodes of one event in the interface of nanoflann.
struct Points {
    const std::vector<Node>& nodes;
    const std::size_t* which;
    std::size_t n;
    std::size_t kdtree_get_point_count() const { return n; }
    float kdtree_get_pt(std::size_t i, std::size_t axis) const {
        return nodes[which[i]].place[axis];
    }
    template <class Box>
    bool kdtree_get_bbox(Box&) const {
        return false;
    }
};

/// A k-d tree of places in the embedding.
using Tree =
    nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Points>, Points>;

}  // namespace tracking
