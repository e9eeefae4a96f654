// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "libsurrogate/src/model/sphere/device_rings.hpp"
#include "libsurrogate/src/model/sphere/device_tables.hpp"

namespace surrogate::impl::sphere {

/// A stencil on a device, the rows of its input that this rank holds for it, and their exchange.
struct StencilStage {
    const Bands& input;
    int rank;
    int64_t n_channel;  ///< number of channels of the planes that the stencil reads
    Range held;         ///< rows that this rank reads; on one rank its own rows
    DeviceTable table;
    std::optional<RingExchange> exchange;  ///< several ranks

    /// input: bands of the stencil's input, which must outlive this object. Local.
    StencilStage(const kernels::sphere::Stencil& stencil, const Bands& input_, int rank_,
                 int64_t n_channel_)
        : input(input_),
          rank(rank_),
          n_channel(n_channel_),
          held(input.n_rank() == 1 ? own() : rows_read(stencil)),
          table(stencil, held.begin) {}

    /// Plans the exchange. wanted: rows that each rank holds. Local.
    void connect(const Wanted& wanted) {
        exchange.emplace(input, wanted, rank, n_channel, input.grid().n_lon);
    }
    void add_to(DeviceArena& arena) {
        table.add_to(arena);
        if (exchange) exchange->add_to(arena);
    }
    void move_to(ArenaWriter& put) {
        table.move_to(put);
        if (exchange) exchange->move_to(put);
    }

    Range own() const { return input.of(rank); }
    int64_t n_held_point() const { return held.size() * input.grid().n_lon; }
    int64_t held_bytes() const { return 4 * n_held_point() * n_channel; }
    /// Returns the location of planes of these rows, which begin at `words`.
    RingMemory rings(uint32_t* words, Range rows) const {
        const int64_t n_lon = input.grid().n_lon;
        return {words, rows.begin, n_lon, rows.size() * n_lon};
    }
};

}  // namespace surrogate::impl::sphere
