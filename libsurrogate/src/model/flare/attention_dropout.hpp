// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"

namespace surrogate::impl::flare {

/// Dropout of the results of attention in training. By default nothing is dropped.
struct AttentionDropout {
    const Dropout* dropout = nullptr;
    double rate = 0;
    const int64_t* rows = nullptr;  ///< (n_tile, tile_points): canonical ids of the points

    bool is_on() const { return dropout && dropout->drops(rate); }

    /// Computes to = mask * from in a tile of a block, with `accumulate` to += mask * from. Without
    /// `accumulate`, `to` may be `from`.
    template <class T>
    void apply(int64_t block, int64_t tile, kernels::Tile<const T> from, bool accumulate,
               kernels::Tile<T> to) const {
        dropout->apply<T>({attention_site + block, rate},
                          DropoutRows::of(rows + tile * kernels::tile_points), from, accumulate,
                          to);
    }
};

}  // namespace surrogate::impl::flare
