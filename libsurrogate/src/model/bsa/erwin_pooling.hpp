// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/bsa/erwin_layers.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa::erwin {

/// Transition between two levels of a U-net: S consecutive slots of the finer level, the children,
/// form one slot of the coarser level, their parent. A rank that owns a parent owns its children.
///   pool     x_parent = BatchNorm(W [x_0 .. x_{S-1}, rel] + b); with S = 1 x_parent = x_0
///   unpool   x_child  = BatchNorm(skip_child + (W' [x_parent, rel] + b')_child)
/// rel: positions of the children minus the position of their parent, (S, d).
template <class T>
class Pooling {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    Pooling(const kernels::Queue& queue, const NormedLinear<T>& pool, const NormedLinear<T>& unpool,
            const TreePlan<T>& fine, const TreePlan<T>& coarse, int64_t stride, int64_t n_axis);

    /// Allocates memory; call it after the levels are built. Local.
    void resize(bool has_backward = false);

    /// Computes the parents, (C, n) tiles of the coarser level, from the children. Local.
    void pool(kernels::Tiles<const T> fine, kernels::Tiles<T> coarse);
    /// Computes the children from their parents and the skip connection. Local.
    void unpool(kernels::Tiles<const T> coarse, kernels::Tiles<const T> skip,
                kernels::Tiles<T> fine);

    /// Adds the gradient of the children to dfine, and of weights to `sums`, from the gradient of
    /// the parents. Reproducible: weights are summed by ball of the coarser level. Local; after
    /// resize(true).
    ///   layer        sums of the pooling layer, zero
    ///   is_relative  gradients of relative positions are computed, too
    void pool_backward(kernels::Tiles<const T> fine, kernels::Tiles<const T> dcoarse,
                       kernels::Tiles<T> dfine, NormedSums<T>& layer, GradientSums& sums,
                       bool is_reproducible, bool is_relative);
    /// Computes the gradient of the parents in dcoarse, and adds the gradient of weights to `sums`.
    /// dfine: gradient of the children, receives the gradient of the skip connection. As above;
    /// before pool_backward().
    void unpool_backward(kernels::Tiles<const T> coarse, kernels::Tiles<const T> skip,
                         kernels::Tiles<T> dfine, kernels::Tiles<T> dcoarse, NormedSums<T>& layer,
                         GradientSums& sums, bool is_reproducible, bool is_relative);
    /// Adds to dfine, the gradients of the positions of children (d), those through relative
    /// positions and through the positions of parents, which are means. After both functions above.
    ///   dcoarse  gradients of the positions of parents (d), except through relative positions
    void positions_backward(kernels::Tiles<const T> dcoarse, kernels::Tiles<T> dfine);

    int64_t bytes() const;

private:
    /// Tiles of one thread: input and output of a layer, and the gradient of the input.
    struct Scratch {
        kernels::Buffer<T> in, out, din;
    };
    template <class Body>
    void for_balls(NormedSums<T>& layer, GradientSums& sums, bool is_reproducible,
                   const Body& body);
    kernels::Tile<T> pool_input(kernels::Tiles<const T> fine, int64_t tile, Scratch& scratch) const;
    kernels::Tile<T> unpool_input(kernels::Tile<const T> from, int64_t tile,
                                  Scratch& scratch) const;
    kernels::Linear<T> child(int64_t j) const;
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
    void add_drelative(kernels::Tile<const T> du, int64_t tile, bool accumulate);

    // (S * d) per parent, in tiles of the coarser level: relative positions, and their gradients.
    kernels::Buffer<T> relative_, drelative_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa::erwin
