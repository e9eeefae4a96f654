// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "libsurrogate/src/model/hept/token_exchange.hpp"

namespace surrogate::impl::hept {

/// Orders that tests impose on a layer instead of those of its hashes: of row table * H + head the
/// tokens at its places, one rank. Two implementations whose hashes differ in the last bit then
/// compute the same.
struct ImposedOrders {
    /// (L), each (C, H, n_place)
    std::vector<std::vector<int32_t>> queries, keys;
};

/// The network on the tokens of a rank:
///
///   h = encoder(x)
///   layers:  u = norm1(h);  u of visitors comes;  head by head: rows, hashes, order within cells,
///            blocks, sums come home, h += out_linear;  h += ff(norm2(h))
///   e = sum of W_l h_l;  y = out(e + mlp(e))
///
/// Memory a token, of one head at a time: a row (3 d + D), sums C (d + 1), hashes 2 C; and of the
/// network h, u, attention d each, e m; orders 2 C n_place integers.
template <class T>
class Forward {
public:
    /// `config` and `layers` must outlive it.
    Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the tokens of `plan`, which must outlive it. Local. Takes memory for more than ever before.
    void resize(Communicator& comm, const TokenPlan& plan);

    /// Collective: coordinates (D) of the home points, tiles; those of copies and visitors follow.
    /// Once for each geometry.
    void set_coordinates(Communicator& comm, const kernels::Tiles<const T>& coordinates);

    /// Collective. x (n_feature, n_point) tiles of the home points, classes already embedded;
    /// y (n_out, n_point). Returns whether all augmented queries and keys of this rank were finite.
    /// Takes no memory.
    bool run(Communicator& comm, const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Null: none. For tests.
    void impose(const ImposedOrders* orders) { imposed_ = orders; }

    int64_t bytes() const;

private:
    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const TokenPlan* plan_ = nullptr;
    const ImposedOrders* imposed_ = nullptr;
    TokenExchange<T> exchange_;
};

}  // namespace surrogate::impl::hept
