// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/bsa/erwin_layers.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa::erwin {

/// The way between two levels of a U-net: S consecutive slots of the finer one, the children, are
/// one slot of the coarser one, their parent. A rank that owns a parent owns its children.
///   pool     x_parent = BatchNorm(W [x_0 .. x_{S-1}, rel] + b); with S = 1 x_parent = x_0
///   unpool   x_child  = BatchNorm(skip_child + (W' [x_parent, rel] + b')_child)
/// rel: positions of the children less that of their parent, (S, d).
template <class T>
class Pooling {
public:
    /// Local. All must outlive it.
    Pooling(const kernels::Queue& queue, const NormedLinear<T>& pool, const NormedLinear<T>& unpool,
            const TreePlan<T>& fine, const TreePlan<T>& coarse, int64_t stride, int64_t n_axis);

    /// Local: takes memory; after the levels were built.
    void resize();

    void pool(kernels::Tiles<const T> fine, kernels::Tiles<T> coarse);
    void unpool(kernels::Tiles<const T> coarse, kernels::Tiles<const T> skip,
                kernels::Tiles<T> fine);

    int64_t bytes() const;

private:
    /// Tiles of one thread: what a layer reads, what it gives.
    struct Scratch {
        kernels::Buffer<T> in, out;
    };
    void pool_tile(kernels::Tiles<const T> fine, kernels::Tile<T> to, int64_t tile, int thread);
    void unpool_tile(kernels::Tile<const T> from, kernels::Tiles<const T> skip,
                     kernels::Tiles<T> fine, int64_t tile, int thread);
    void add_relative(int64_t tile, kernels::Tile<T> to) const;

    kernels::Queue queue_;
    const NormedLinear<T>& pool_;
    const NormedLinear<T>& unpool_;
    const TreePlan<T>& fine_;
    const TreePlan<T>& coarse_;
    int64_t stride_, n_axis_;
    kernels::Buffer<T> relative_;   // (S * d) a parent, in tiles of the coarser level
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa::erwin
