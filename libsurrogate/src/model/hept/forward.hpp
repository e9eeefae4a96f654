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
#include "libsurrogate/src/model/hept/attention.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "libsurrogate/src/model/hept/readout.hpp"
#include "libsurrogate/src/model/hept/token_exchange.hpp"

namespace surrogate::impl::hept {

/// Values of a layer at the own tokens, for its backward pass.
template <class T>
struct LayerValues {
    kernels::Buffer<T> sums;   ///< (H, n_own, d + 1): attention sums of all tables
    kernels::Buffer<T> inner;  ///< (d, n_own), in tiles: h between attention and MLP

    int64_t bytes() const { return sums.bytes() + inner.bytes(); }
};

/// Evaluates the network on the tokens of a rank:
///
///   h = encoder(x)
///   layers:  u = norm1(h);  u of ghost tokens is received;
///            head by head: rows, hashes, order within cells, blocks,
///            partial sums are returned to the owner ranks, h += out_linear;
///            h += ff(norm2(h))
///   e = sum of W_l h_l;  y = out(e + mlp(e))
///
/// Training drops values of the branches that are added to h and e, see sites.hpp.
///
/// Memory per token: for one head at a time a row (3 d + D), sums (d + 1) and 2 C hashes; for the
/// network h and u (d each) and e (m). Memory per rank: orders, 2 C n_place integers.
template <class T>
class Forward {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the tokens of `plan`, which must outlive this object. Local. Allocates only if the
    /// sizes exceed all earlier ones.
    void resize(Communicator& comm, const TokenPlan& plan);

    /// Sets the coordinates (D, n_point) of the points that this rank owns, in tiles, and the
    /// coordinates of copies and ghost tokens. Collective; called once per geometry.
    void set_coordinates(Communicator& comm, const kernels::Tiles<const T>& coordinates);

    /// Evaluates the network. x (n_feature, n_point): tiles of the owned points, classes already
    /// embedded; y (n_out, n_point). Returns true if all augmented queries and keys of this rank
    /// are finite; otherwise y, and all values that this rank sends, are NaN. Collective. Does not
    /// allocate.
    bool run(Communicator& comm, const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Sets the tiles that receive h before each layer and after the last one, (L + 1) times
    /// (d, n_own), and the other values of each layer, for the backward pass. Empty: they are not
    /// stored. The caller owns all of them.
    void keep(std::span<const kernels::Tiles<T>> states, std::span<LayerValues<T>> values) {
        kept_ = states;
        values_ = values;
    }

    /// Sets the masks of dropout, which the caller owns; requires keep(). Null, as at first:
    /// nothing is dropped.
    void set_dropout(const Dropout* dropout) { dropout_ = dropout; }

    const TokenExchange<T>& exchange() const { return exchange_; }
    /// Returns the coordinates of all tokens, (D, n_token).
    kernels::Tiles<const T> coordinates() const { return x_; }
    int64_t bytes() const;

private:
    /// Scratch memory of one thread: features of tokens, (d), (2 d), the output MLP.
    struct Scratch {
        kernels::Buffer<T> features, normed, hidden, readout;
    };
    static kernels::Tiles<T> tiles(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n_point);

    /// Calls body(tile, scratch) for the tiles of n_point points, on all threads. Does nothing
    /// after a value that was not finite.
    template <class Body>
    void for_tiles(int64_t n_point, const Body& body);
    kernels::Tile<T> own(const kernels::Tiles<T>& of, int64_t tile) const;
    kernels::Tile<const T> features(const kernels::Tiles<const T>& x, int64_t tile,
                                    Scratch& scratch) const;
    void leave(int64_t l, int64_t tile, const kernels::Linear<T>& states, bool is_first);
    void encode(const kernels::Tiles<const T>& x);
    void attend(Communicator& comm, int64_t l);
    void attend_head(Communicator& comm, int64_t l, int64_t h);
    void drop_attention(int64_t l);
    bool drops() const { return dropout_ && dropout_->drops(config_.dropout); }
    void finish_layer(int64_t l);
    void read(const kernels::Tiles<T>& y);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const TokenPlan* plan_ = nullptr;
    TokenExchange<T> exchange_;
    Attention<T> attention_;
    Readout<T> readout_;
    std::span<const kernels::Tiles<T>> kept_;
    std::span<LayerValues<T>> values_;  // (L) or none
    const Dropout* dropout_ = nullptr;
    bool is_finite_ = true;
    kernels::Buffer<T> x_data_, u_data_, h_data_, e_data_;
    kernels::Tiles<T> x_, u_, h_, e_;  // (D, n_token), (d, n_token), (d, n_own), (m, n_own)
    std::vector<Scratch> scratch_;     // (n_thread)
};

}  // namespace surrogate::impl::hept
