// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/flare/flare.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl::flare {

/// From the encodings of chunks of points to the latents z of a block on all ranks: the place where
/// FLARE's ranks meet on the host. Chunks are this rank's points in order, at most chunk_points
/// each.
template <class T>
class Reduction {
public:
    virtual ~Reduction() = default;

    /// Resets the sums before the chunks of a block.
    virtual void begin() = 0;

    /// Returns the partial for a chunk, reset; close() completes it. Several threads call it at
    /// once.
    virtual kernels::flare::Partial<T> open(int64_t chunk, int thread) = 0;
    virtual void close(int64_t chunk, int thread) = 0;

    /// Returns the largest |v| per head (H) that `thread` has found; null if not needed.
    virtual T* v_max(int thread) = 0;

    /// Computes z (H, M, D) and, unless null, log_sum (H, n_row) = log2 sum_n 2^S over all points;
    /// 0 if there are no points. If the bool argument is true, this rank sends NaN instead of its
    /// sums. Returns false if the sums of any rank are not finite; z is then not finite on any
    /// rank, and log_sum is unchanged. Collective.
    virtual bool reduce(Communicator& comm, bool poisoned, T* z, T* log_sum) = 0;

    virtual int64_t bytes() const = 0;

    /// Returns payload and calls of one reduce.
    virtual int64_t bytes_sent() const = 0;
    virtual int64_t collectives() const = 0;
};

/// Makes a reduction with any order of sums: two all-reduces, maxima then sums, 4 M (C + 2 H) bytes
/// in fp32.
template <class T>
std::unique_ptr<Reduction<T>> fast_reduction(const kernels::flare::Sizes& sizes, int n_thread);

/// Makes a reduction with exact sums over the chunks: the same z for any order, number of ranks and
/// threads. n_chunk on this rank, and over all ranks. Two all-reduces: maxima with a flag, and
/// integers.
template <class T>
std::unique_ptr<Reduction<T>> reproducible_reduction(const kernels::flare::Sizes& sizes,
                                                     int n_thread, int64_t n_chunk,
                                                     int64_t n_chunk_global);

}  // namespace surrogate::impl::flare
