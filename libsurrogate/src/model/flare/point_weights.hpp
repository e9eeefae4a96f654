// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl::flare {

/// Weights of the points in encode: log2 of the weight of each point relative to the largest weight
/// of its cloud, in the tiles of a program. A point of weight 0 receives a prediction and does not
/// influence others.
template <class T>
class PointWeights {
public:
    /// Takes over the weights of the domain, whenever it changes. Collective. Throws
    /// invalid_argument, on all ranks, if the domain has no weights or a cloud has only zeros.
    void read(const PointDomain& domain);

    /// Returns true if points of weight 0 exist on any rank.
    bool has_zero() const { return n_counted_ < n_global_; }
    /// Returns the number of points of weights above 0 on all ranks.
    int64_t n_counted() const { return n_counted_; }

    /// Copies the weights to tiles in the domain's order, or in the order of a route. Allocates for
    /// more points than ever before. Collective.
    void place();
    void place(Communicator& comm, const RowRoute& route);

    /// Returns (n_tile, tile_points) weights of the points in their tiles; null if all weights of
    /// each cloud are equal, since encode then needs none.
    const T* tiles() const { return is_equal_ ? nullptr : tiles_.data(); }

    int64_t bytes() const { return own_.bytes() + tiles_.bytes(); }

private:
    int64_t n_global_ = 0, n_counted_ = 0;
    bool is_equal_ = true;
    kernels::Buffer<T> own_;    // (n_local)
    kernels::Buffer<T> tiles_;  // (n_tile, tile_points)
};

}  // namespace surrogate::impl::flare
