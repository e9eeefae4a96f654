// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/cloud_reduction.hpp"
#include "libsurrogate/src/model/flare/cloud_tiles.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/latent_blocks.hpp"
#include "libsurrogate/src/model/flare/sweep.hpp"

namespace surrogate::impl::flare {

/// Runs FLARE on several clouds from its input tiles to its output tiles. Batches of whole clouds
/// run through the whole network on one thread; divided clouds then run block by block on all
/// threads, as Passes runs one cloud.
template <class T>
class CloudPasses {
public:
    /// Keeps references: all arguments must outlive it. Points come in the tiles of `ports`.
    CloudPasses(const Config& config, const Layers<T>& layers, Communicator& comm,
                const kernels::Queue& queue, bool reproducible, PointPorts<T>& ports,
                const CloudTiles& tiles);

    /// Allocates for the tiles of the ports, and again when points have moved, for more points and
    /// clouds than ever before. Local.
    void allocate();

    /// Computes predictions; nothing if not alive. Returns whether all sums were finite, sums of
    /// shared clouds on all ranks. Collective if clouds are shared.
    bool run(bool alive);

    /// Adds the cost of the reductions and of the latents in a block.
    void describe(Work& work) const;
    int64_t bytes() const;

private:
    /// Memory of one thread.
    struct Scratch {
        kernels::Buffer<T> partial, v_max;  // of a whole cloud; v_max (H)
        kernels::Buffer<T> z;               // (clouds of a batch, H, M, D)
        kernels::Buffer<T> k, v;            // tiles (C): points of one cloud in a shared tile
        bool is_finite = true;
        LatentBlocks<T> latent_blocks;
    };

    bool run_whole();
    void run_batch(const Range& batch, int thread);
    bool run_cloud(int64_t s, const CloudTiles::Unit& unit, int thread, T* z);
    bool run_shared_tile(int64_t s, const CloudTiles::Unit& unit, int thread, T* z);
    void decode(int64_t i, int64_t tile, const Range& columns, int thread, const T* z);
    void encode(int64_t i, int64_t tile, const Range& columns, int thread);
    bool make_latents(int64_t i, int thread, T* z);
    void begin_cloud(int thread);
    bool run_divided(bool alive);
    void sweep_divided(int64_t s);
    void run_tiles(int64_t s, const Range& tiles, int thread, const T* z,
                   kernels::flare::Partial<T> partial, T* v_max);
    kernels::flare::Partial<T> partial(int thread) {
        return {sizes_, scratch(thread).partial.data()};
    }
    T* v_max(int thread) { return reproducible_ ? scratch(thread).v_max.data() : nullptr; }
    Scratch& scratch(int thread) { return scratch_[static_cast<size_t>(thread)]; }
    int64_t n_z() const { return sizes_.n_channel() * sizes_.n_latent; }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::flare::Sizes sizes_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    const CloudTiles& tiles_;
    Sweep<T> sweep_;
    std::unique_ptr<CloudReduction<T>> reduction_;
    std::vector<Scratch> scratch_;  // (n_thread)
    kernels::Buffer<T> z_;          // (divided clouds, H, M, D)
};

}  // namespace surrogate::impl::flare
