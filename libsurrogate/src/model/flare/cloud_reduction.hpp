// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/base/queue.hpp"
#include "kernels/flare/flare.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/flare/cloud_tiles.hpp"

namespace surrogate::impl::flare {

/// From the encodings of chunks to the latents of divided clouds (see CloudTiles), as Reduction
/// computes them of one cloud. Clouds on several ranks share one all-reduce of maxima and one of
/// sums; without such clouds nothing is sent.
template <class T>
class CloudReduction {
public:
    virtual ~CloudReduction() = default;

    /// Takes over the tiles, which have changed. Takes memory for more clouds than ever before.
    virtual void resize() = 0;

    /// Returns the partial for a chunk, reset; close() completes it. The chunks of a `thread` are a
    /// range, in order; several threads call it at once.
    virtual kernels::flare::Partial<T> open(int64_t chunk, int thread) = 0;
    virtual void close(int64_t chunk, int thread) = 0;

    /// Takes the largest |v| of each head of an open chunk, (H), from 0 on; null if not needed.
    virtual T* v_max(int64_t chunk) = 0;

    /// Computes z (divided clouds, H, M, D). If the bool argument is true, this rank sends NaN
    /// instead of its sums. Returns false if sums are not finite: on this rank, or on any rank in
    /// a shared cloud. Collective if any cloud is shared.
    virtual bool reduce(Communicator& comm, bool poisoned, T* z) = 0;

    virtual int64_t bytes() const = 0;

    /// Returns payload and calls of one reduce.
    virtual int64_t bytes_sent() const = 0;
    virtual int64_t collectives() const = 0;
};

/// Makes a reduction with any order of sums. `tiles` must outlive it.
template <class T>
std::unique_ptr<CloudReduction<T>> fast_cloud_reduction(const kernels::flare::Sizes& sizes,
                                                        const kernels::Queue& queue,
                                                        const CloudTiles& tiles);

/// Makes a reduction with exact sums over the chunks of each cloud, bitwise identical to a plan of
/// this cloud alone. `tiles` must outlive it.
template <class T>
std::unique_ptr<CloudReduction<T>> reproducible_cloud_reduction(const kernels::flare::Sizes& sizes,
                                                                const kernels::Queue& queue,
                                                                const CloudTiles& tiles);

}  // namespace surrogate::impl::flare
