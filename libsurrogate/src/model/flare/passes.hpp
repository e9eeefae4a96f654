// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/latent_blocks.hpp"
#include "libsurrogate/src/model/flare/reduction.hpp"
#include "libsurrogate/src/model/flare/sweep.hpp"

namespace surrogate::impl::flare {

/// A run of FLARE from the tiles of its inputs to those of its outputs: sweeps over this rank's
/// points, and between them the reductions in which the ranks meet.
template <class T>
class Passes {
public:
    using OfSequence = typename Sweep<T>::OfSequence;

    /// Points come in the tiles of `ports`, or, if there is a sequence, in its. All must outlive it.
    Passes(const Config& config, const Layers<T>& layers, Communicator& comm,
           const kernels::Queue& queue, bool reproducible, PointPorts<T>& ports,
           const OfSequence& sequence = {});

    /// Local; once the ports are allocated, and again when points have moved. The reproducible mode
    /// adds up chunks of chunk_tiles tiles, n_chunk_global of them over all ranks.
    void allocate(int64_t chunk_tiles, int64_t n_chunk_global);

    /// Collective. Returns whether all sums were finite; nothing is computed if not alive.
    bool run(bool alive);

    /// What the reductions and the latents cost in a block.
    void describe(Work& work) const;
    int64_t bytes() const;

private:
    int64_t n_tile() const;
    void sweep(int64_t s);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::flare::Sizes sizes_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    PointPorts<T>& ports_;
    OfSequence sequence_;
    LatentBlocks<T> latent_blocks_;
    std::optional<Sweep<T>> sweep_;
    std::unique_ptr<Reduction<T>> reduction_;
    int64_t chunk_tiles_ = 1, n_chunk_ = 0;
    kernels::Buffer<T> z_;  // (H, M, D) of the block under way
};

}  // namespace surrogate::impl::flare
