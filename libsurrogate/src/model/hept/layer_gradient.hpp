// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/hept/attention.hpp"
#include "libsurrogate/src/model/hept/chunks.hpp"
#include "libsurrogate/src/model/hept/forward.hpp"
#include "libsurrogate/src/model/hept/head_sums.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "libsurrogate/src/model/hept/token_exchange.hpp"

namespace surrogate::impl::hept {

/// Backward pass of one layer, from the tokens that entered the layer, and from the attention sums
/// of all tables, d + 1 numbers per token and head, and the tokens before the MLP. With saves_less
/// these are recomputed, so that the rows of a head and its orders are computed twice.
///
/// Ranks exchange ghost tokens as in the forward pass, with saves_less also sums, and for each head
///
///   the gradients of the sums of ghost tokens, d + 1 numbers each, before the blocks
///   parts of the gradients of queries, keys and values, 2 E + d numbers each, back to the owners
///
/// TokenPlan::Neighbor lists the parts, also for the forward pass: exactly one rank computes a
/// query or key of a table, and owners add tables in their order. Gradients of weights are summed
/// in chunks, see Chunks. Results do not depend on ranks and threads.
template <class T>
class LayerGradient {
public:
    /// Keeps references to `config`, `layers` and the masks `dropout`, which must outlive this
    /// object. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  const Dropout& dropout, bool saves_less);

    /// Sets the tokens of `plan` and their chunks, which must outlive this object. Local.
    /// Allocates.
    void resize(Communicator& comm, const TokenPlan& plan, const Chunks& chunks);

    /// Returns the values of the layers that the forward pass must set; none with saves_less.
    std::span<LayerValues<T>> values() {
        return saves_less_ ? std::span<LayerValues<T>>() : std::span(values_);
    }
    bool saves_less() const { return saves_less_; }

    /// Differentiates layer l. h (d, n_own) entered the layer. dh (d, n_own) contains the gradient
    /// of the layer's result and receives the gradient of h. Gradients of the coordinates x (D,
    /// n_token) of the own tokens are added to dx (D, n_own), gradients of the layer's weights to
    /// `sums`, chunk by chunk. Collective. Does not allocate.
    void run(int64_t l, Communicator& comm, const kernels::Tiles<const T>& h,
             const kernels::Tiles<const T>& x, GradientSums& sums, const kernels::Tiles<T>& dh,
             const kernels::Tiles<T>& dx);

    /// Returns the bytes that this rank sends in the backward pass of a layer, and the number of
    /// messages.
    int64_t bytes_sent() const;
    int64_t messages() const;
    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
    struct Scratch {
        // of a block: gradients of the sums of its queries, of its queries and of its keys
        kernels::Buffer<T> attend, given, dqueries, dkeys;
        // of a tile of tokens
        kernels::Buffer<T> h, dh, inner, normed, dnormed;  // (d)
        kernels::Buffer<T> saved, hidden, heads;           // (2 d), (2 d), (H d)
        kernels::Buffer<T> x, dx;                          // (D)
        kernels::Buffer<T> drows, augment;                 // rows
        kernels::Buffer<double> dqkv, dscale;              // (3 d, d), (D)
    };

    /// Calls body(tile, scratch) for all tiles of own tokens, on all threads.
    template <class Body>
    void for_tiles(const Body& body);
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<const T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    kernels::Tiles<T> own(kernels::Buffer<T>& buffer) const {
        return {buffer.data(), config_.h_dim, plan_->n_own()};
    }
    kernels::Tiles<T> u() { return {u_.data(), config_.h_dim, plan_->n_token()}; }
    /// Returns the sums of head h of an own token.
    T* kept(int64_t h, int64_t token) {
        return now_->sums.data() + (h * plan_->n_own() + token) * shape().n_sum();
    }
    const kernels::hept::RowShape& shape() const { return attention_.shape(); }
    /// Returns the numbers of a token: gradient of the query, then of key and value.
    int64_t n_token_gradient() const { return 2 * shape().n_query() + config_.h_dim; }

    void attend(int64_t l, Communicator& comm, const kernels::Tiles<const T>& h,
                const kernels::Tiles<const T>& x);
    void finish_backward(int64_t l, Range tokens, const Gradients& gradients,
                         const kernels::Tiles<T>& dh, Scratch& s);
    kernels::Tile<const T> dropped(const DropoutSite& site, Range tokens, kernels::Tile<const T> dh,
                                   kernels::Tile<T> to) const;
    void give(const kernels::Linear<T>& out, int64_t h, const kernels::Tiles<T>& dh);
    void blocks_backward(int64_t h);
    void block_backward(int64_t table, const kernels::hept::Block<T>& block, Scratch& scratch);
    void augment_backward(const kernels::hept::Head<T>& head, int64_t l, int64_t h, Range tokens,
                          const kernels::Tiles<const T>& x, const Gradients& gradients,
                          const kernels::Tiles<T>& dx, Scratch& s);
    void join_rows(Range tokens, T* rows) const;

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout& dropout_;
    std::vector<const T*> w_rpe_;  // (L): weights
    const TokenPlan* plan_ = nullptr;
    const Chunks* chunks_ = nullptr;
    Attention<T> attention_;
    TokenExchange<T> exchange_;           // of the forward pass
    TokenExchange<T> gradient_exchange_;  // n_sum() per ghost token, n_token_gradient() per part
    HeadSums<T> dtokens_;                 // gradients of queries, keys and values of one head
    bool saves_less_;
    /// (L), or of the current layer. `inner` then becomes the gradient of the attention's result.
    std::vector<LayerValues<T>> values_;
    LayerValues<T>* now_ = nullptr;      // of the current layer
    kernels::Buffer<T> u_, du_, given_;  // (d, n_token), (d, n_own), (n_token, d + 1)
    std::vector<Scratch> scratch_;       // (n_thread)
};

}  // namespace surrogate::impl::hept
