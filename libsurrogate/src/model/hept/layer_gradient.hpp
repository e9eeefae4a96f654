// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/hept/attention.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"

namespace surrogate::impl::hept {

/// Backward pass of one layer on one rank, from the tokens that entered the layer. All other values
/// are recomputed, the rows of a head and its orders twice. For each head it stores the sums of all
/// tables, d + 1 numbers per token.
///
/// All threads compute blocks of one table, each thread for its own queries and keys; tables follow
/// each other. Sums over tokens are computed on the calling thread. Results do not depend on the
/// number of threads.
template <class T>
class LayerGradient {
public:
    /// Keeps references to `config`, `layers` and the masks `dropout`, which must outlive this
    /// object. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  const Dropout& dropout);

    /// Sets the tokens of `plan`, a plan of one rank, which must outlive this object. Allocates.
    void resize(const TokenPlan& plan);

    /// Differentiates layer l. dh (d, n_own) contains the gradient of the layer's result and
    /// receives the gradient of its input h. Gradients of the coordinates x (D, n_own) are added to
    /// dx, gradients of the layer's weights to `gradients`. Local.
    void run(int64_t l, const kernels::Tiles<const T>& h, const kernels::Tiles<const T>& x,
             const Gradients& gradients, const kernels::Tiles<T>& dh, const kernels::Tiles<T>& dx);

    int64_t bytes() const;

private:
    /// Scratch memory of one thread for one block: gradients of the sums of its queries, gradients
    /// of its queries and of its keys.
    struct Scratch {
        kernels::Buffer<T> attend, given, dqueries, dkeys;
    };

    /// Calls body(tile) for all tiles, on the calling thread.
    template <class Body>
    void for_all(const Body& body) const;
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<const T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    kernels::Tiles<T> tokens(kernels::Buffer<T>& buffer) const {
        return {buffer.data(), config_.h_dim, plan_->n_own()};
    }
    T* kept(int64_t h, int64_t tile) {
        const int64_t first = h * plan_->n_own() + tile * kernels::tile_points;
        return kept_.data() + first * shape().n_sum();
    }
    const kernels::hept::RowShape& shape() const { return attention_.shape(); }

    void attend(int64_t l, const kernels::Tiles<const T>& h, const kernels::Tiles<const T>& x);
    void keep(int64_t h);
    void finish_backward(int64_t l, int64_t tile, const Gradients& gradients, kernels::Tile<T> dh);
    kernels::Tile<const T> dropped(const DropoutSite& site, int64_t tile, kernels::Tile<const T> dh,
                                   kernels::Tile<T> to) const;
    void give(const kernels::Linear<T>& out, int64_t h, const kernels::Tiles<T>& dh);
    void blocks_backward();
    void block_backward(const kernels::hept::Block<T>& block, Scratch& scratch);
    void augment_backward(const kernels::hept::Head<T>& head, int64_t l, int64_t h,
                          const kernels::Tiles<const T>& x, const Gradients& gradients,
                          const kernels::Tiles<T>& dx);
    void join_rows(int64_t tile, int64_t n);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout& dropout_;
    std::vector<const T*> w_rpe_;  // (L): weights
    const TokenPlan* plan_ = nullptr;
    Attention<T> attention_;
    /// (d, n_own): inner is h between attention and MLP; then, if the attention's result has
    /// dropped values, its gradient
    kernels::Buffer<T> u_, du_, inner_;
    kernels::Buffer<T> kept_, given_;            // (H, n_own, d + 1), (n_own, d + 1)
    kernels::Buffer<T> dqueries_, dkeys_;        // (n_own, E), (n_own, E + d)
    kernels::Buffer<T> normed_, dnormed_;        // one tile each: (d)
    kernels::Buffer<T> saved_, hidden_, heads_;  // (2 d), (2 d), (H d)
    kernels::Buffer<T> drows_, augment_;         // rows of one tile
    kernels::Buffer<double> dqkv_, dscale_;      // (3 d, d), (D)
    std::vector<Scratch> scratch_;               // (n_thread)
};

}  // namespace surrogate::impl::hept
