// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/attention.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "libsurrogate/src/model/hept/readout.hpp"
#include "libsurrogate/src/model/hept/token_exchange.hpp"

namespace surrogate::impl::hept {

/// The network on the tokens of a rank:
///
///   h = encoder(x)
///   layers:  u = norm1(h);  u of visitors comes;  head by head: rows, hashes, order within cells,
///            blocks, sums come home, h += out_linear;  h += ff(norm2(h))
///   e = sum of W_l h_l;  y = out(e + mlp(e))
///
/// Memory a token, of one head at a time: a row (3 d + D), sums (d + 1), hashes 2 C; and of the
/// network h, u d each, e m; orders 2 C n_place integers.
template <class T>
class Forward {
public:
    /// `config` and `layers` must outlive it.
    Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the tokens of `plan`, which must outlive it. Local. Takes memory for more than ever
    /// before.
    void resize(Communicator& comm, const TokenPlan& plan);

    /// Collective: coordinates (D) of the home points, tiles; those of copies and visitors follow.
    /// Once for each geometry.
    void set_coordinates(Communicator& comm, const kernels::Tiles<const T>& coordinates);

    /// Collective. x (n_feature, n_point) tiles of the home points, classes already embedded;
    /// y (n_out, n_point). Returns whether all augmented queries and keys of this rank were finite;
    /// if not, y and what other ranks are given is NaN. Takes no memory.
    bool run(Communicator& comm, const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Sets the destination of h before each layer and after the last, (L + 1) times (d, n_own):
    /// what backward starts from. Empty: nowhere. The tiles belong to the caller.
    void keep(std::span<const kernels::Tiles<T>> states) { kept_ = states; }

    const TokenExchange<T>& exchange() const { return exchange_; }
    /// (D, n_token)
    kernels::Tiles<const T> coordinates() const { return x_; }
    int64_t bytes() const;

private:
    /// Memory of one thread: features of tokens, (d), (2 d), the output MLP.
    struct Scratch {
        kernels::Buffer<T> features, normed, hidden, readout;
    };
    static kernels::Tiles<T> tiles(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n_point);

    /// body(tile, scratch) for tiles of n_point points, on all threads; nothing after a number that
    /// was not finite.
    template <class Body>
    void for_tiles(int64_t n_point, const Body& body);
    kernels::Tile<T> own(const kernels::Tiles<T>& of, int64_t tile) const;
    kernels::Tile<const T> features(const kernels::Tiles<const T>& x, int64_t tile,
                                    Scratch& scratch) const;
    void leave(int64_t l, int64_t tile, const kernels::Linear<T>& states, bool is_first);
    void encode(const kernels::Tiles<const T>& x);
    void attend(Communicator& comm, int64_t l);
    void attend_head(Communicator& comm, int64_t l, int64_t h);
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
    bool is_finite_ = true;
    kernels::Buffer<T> x_data_, u_data_, h_data_, e_data_;
    kernels::Tiles<T> x_, u_, h_, e_;  // (D, n_token), (d, n_token), (d, n_own), (m, n_own)
    std::vector<Scratch> scratch_;     // (n_thread)
};

}  // namespace surrogate::impl::hept
