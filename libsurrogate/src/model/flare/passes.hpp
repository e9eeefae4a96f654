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

/// Runs FLARE from its input tiles to its output tiles: sweeps over this rank's points and, between
/// them, the reductions over the ranks.
template <class T>
class Passes {
public:
    using OfSequence = typename Sweep<T>::OfSequence;

    /// Keeps references: all arguments must outlive it. Points come in the tiles of `ports` or, if
    /// there is a sequence, in the tiles of the sequence.
    Passes(const Config& config, const Layers<T>& layers, Communicator& comm,
           const kernels::Queue& queue, bool reproducible, PointPorts<T>& ports,
           const OfSequence& sequence = {}, Keeps keeps = Keeps::nothing);

    /// Allocates once the ports are allocated, and again when points have moved. The reproducible
    /// mode adds up chunks of chunk_tiles tiles, n_chunk_global of them over all ranks. Local.
    void allocate(int64_t chunk_tiles, int64_t n_chunk_global);
    /// Sets the weights of the points, after allocate(), as Sweep::weigh(). Local.
    void weigh(const T* log_weights) { sweep_->weigh(log_weights); }
    /// Sets the dropout of points, after allocate(), as Sweep::set_dropout(). Local.
    void set_dropout(const AttentionDropout& dropout) { sweep_->set_dropout(dropout); }

    /// Computes predictions; nothing if not alive. Returns whether all sums were finite.
    /// Collective.
    bool run(bool alive);

    /// Returns the tiles; sums over points begin in chunks of chunk_tiles() tiles.
    int64_t n_tile() const;
    int64_t n_chunk() const { return n_chunk_; }
    int64_t chunk_tiles() const { return chunk_tiles_; }

    /// Returns results of the last run's blocks: z (H, M, D) and log_sum (H, n_row) of
    /// Reduction::reduce().
    Streams<T>& streams() { return sweep_->streams(); }
    const T* z(int64_t block) const { return z_.data() + slot(block) * n_z(); }
    /// Returns z before the latent blocks of a block; without latent blocks it is z.
    const T* encoded(int64_t block) const {
        return encoded_.size() > 0 ? encoded_.data() + block * n_z() : z(block);
    }
    LatentBlocks<T>& latent_blocks() { return latent_blocks_; }
    const T* log_sum(int64_t block) const { return log_sum_.data() + block * n_log_sum(); }

    /// Adds the cost of the reductions and of the latents in a block.
    void describe(Work& work) const;
    int64_t bytes() const;
    /// Returns the bytes of the kept blocks, which bytes() includes.
    int64_t kept_bytes() const {
        return sweep_->kept_bytes() + z_.bytes() + encoded_.bytes() + log_sum_.bytes();
    }

private:
    void sweep(int64_t s);
    int64_t slot(int64_t block) const { return keeps_ == Keeps::nothing ? 0 : block; }
    int64_t n_z() const { return sizes_.n_channel() * sizes_.n_latent; }
    int64_t n_log_sum() const { return sizes_.n_head * sizes_.n_row(); }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::flare::Sizes sizes_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    PointPorts<T>& ports_;
    OfSequence sequence_;
    Keeps keeps_;
    LatentBlocks<T> latent_blocks_;
    std::optional<Sweep<T>> sweep_;
    std::unique_ptr<Reduction<T>> reduction_;
    int64_t chunk_tiles_ = 1, n_chunk_ = 0;
    kernels::Buffer<T> z_;        // (H, M, D) of the block under way, or of all that are kept
    kernels::Buffer<T> encoded_;  // (num_blocks, H, M, D) before latent blocks, kept
    kernels::Buffer<T> log_sum_;  // (num_blocks, H, n_row), kept
};

}  // namespace surrogate::impl::flare
