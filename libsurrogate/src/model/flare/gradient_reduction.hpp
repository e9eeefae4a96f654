// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/flare/gradient.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl::flare {

/// From sums over chunks of points to dz of a block on all ranks: where FLARE's ranks meet in
/// backward. Chunks and calls as in Reduction.
template <class T>
class GradientReduction {
public:
    virtual ~GradientReduction() = default;

    virtual void begin() = 0;
    virtual kernels::flare::LatentSums<T> open(int64_t chunk, int thread) = 0;
    virtual void close(int64_t chunk, int thread) = 0;

    /// Sums dz (H, D, n_row; padding zero) over the ranks. If the bool argument is true, this rank
    /// sends NaN instead of its sums. Returns false on all ranks if the sums of any rank are not
    /// finite; dz is then undefined. Collective.
    virtual bool reduce(Communicator& comm, bool poisoned, T* dz) = 0;

    virtual int64_t bytes() const = 0;

    /// Returns payload and calls of one reduce.
    virtual int64_t bytes_sent() const = 0;
    virtual int64_t collectives() const = 0;
};

/// Makes a reduction with any order of sums: one all-reduce, 4 M C bytes in fp32.
template <class T>
std::unique_ptr<GradientReduction<T>> fast_gradient_reduction(const kernels::flare::Sizes& sizes,
                                                              int n_thread);

/// Makes a reduction with exact sums over the chunks: the same dz for any order, number of ranks
/// and threads. Two all-reduces: the largest |sum of a chunk| per head with a flag, and integers.
template <class T>
std::unique_ptr<GradientReduction<T>> reproducible_gradient_reduction(
    const kernels::flare::Sizes& sizes, int64_t n_chunk, int64_t n_chunk_global);

}  // namespace surrogate::impl::flare
