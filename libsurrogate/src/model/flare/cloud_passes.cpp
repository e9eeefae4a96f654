// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_passes.hpp"

#include <algorithm>

#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl::flare {

using kernels::Queue;
using kernels::flare::Partial;

template <class T>
CloudPasses<T>::CloudPasses(const Config& config, const Layers<T>& layers, Communicator& comm,
                            const Queue& queue, bool reproducible, PointPorts<T>& ports,
                            const CloudTiles& tiles)
    : config_(config),
      layers_(layers),
      sizes_{config.num_heads, config.num_latents, config.head_dim()},
      comm_(comm),
      queue_(queue),
      reproducible_(reproducible),
      tiles_(tiles),
      sweep_(config, layers, queue, ports),
      reduction_(reproducible ? reproducible_cloud_reduction<T>(sizes_, queue, tiles)
                              : fast_cloud_reduction<T>(sizes_, queue, tiles)) {
    const Queue one_thread(queue.backend(), queue.level(), 1);
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({kernels::Buffer<T>(Partial<T>::size(sizes_)),
                            kernels::Buffer<T>(sizes_.n_head),
                            {},
                            true,
                            LatentBlocks<T>(config, one_thread)});
    }
}

template <class T>
void CloudPasses<T>::allocate() {
    sweep_.resize(tiles_.n_stream_slot(), tiles_.stream_slots());
    reduction_->resize();
    for (Scratch& own : scratch_) own.z.resize(tiles_.most_in_batch() * n_z());
    z_.resize(std::ssize(tiles_.divided()) * n_z());
}

template <class T>
bool CloudPasses<T>::run(bool alive) {
    const bool is_finite = !alive || run_whole();
    return run_divided(alive && is_finite) && is_finite;
}

template <class T>
bool CloudPasses<T>::run_whole() {
    for (Scratch& own : scratch_) own.is_finite = true;
    for_thread_shares(queue_, std::ssize(tiles_.batches()), [&](Range batches, size_t thread) {
        for (int64_t b = batches.begin; b < batches.end; ++b)
            run_batch(tiles_.batches()[static_cast<size_t>(b)], static_cast<int>(thread));
    });
    return std::ranges::all_of(scratch_, [](const Scratch& own) { return own.is_finite; });
}

template <class T>
void CloudPasses<T>::run_batch(const Range& batch, int thread) {
    Scratch& own = scratch(thread);
    for (int64_t s = 0; s <= config_.num_blocks && own.is_finite; ++s) {
        for (int64_t c = batch.begin; c < batch.end && own.is_finite; ++c) {
            T* const z = own.z.data() + (c - batch.begin) * n_z();
            own.is_finite = run_cloud(s, tiles_.whole()[static_cast<size_t>(c)], thread, z);
        }
    }
}

/// Sweep s of one whole cloud: reads z of block s - 1 and writes z of block s.
template <class T>
bool CloudPasses<T>::run_cloud(int64_t s, const CloudTiles::Chunk& cloud, int thread, T* z) {
    Scratch& own = scratch(thread);
    const Partial<T> partial{sizes_, own.partial.data()};
    T* const v_max = reproducible_ ? own.v_max.data() : nullptr;
    reset(partial);
    std::ranges::fill(own.v_max, T(0));
    run_tiles(s, cloud, thread, z, partial, v_max);
    if (s == config_.num_blocks) return true;
    if (!latents_of(partial, v_max, z)) return false;
    own.latent_blocks.run(layers_.blocks[static_cast<size_t>(s)], z);
    return true;
}

template <class T>
bool CloudPasses<T>::run_divided(bool alive) {
    const int64_t n = std::ssize(tiles_.divided());
    if (n == 0) return true;
    bool is_finite = true;
    for (int64_t s = 0; s <= config_.num_blocks; ++s) {
        if (alive) sweep_divided(s);
        if (s == config_.num_blocks) break;
        is_finite = reduction_->reduce(comm_, !alive, z_.data()) && is_finite;
        alive = alive && is_finite;
        if (!alive) continue;
        for_thread_shares(queue_, n, [&](Range clouds, size_t thread) {
            for (int64_t c = clouds.begin; c < clouds.end; ++c) {
                if (tiles_.divided()[static_cast<size_t>(c)].n_point == 0) continue;
                scratch_[thread].latent_blocks.run(layers_.blocks[static_cast<size_t>(s)],
                                                   z_.data() + c * n_z());
            }
        });
    }
    return is_finite;
}

template <class T>
void CloudPasses<T>::sweep_divided(int64_t s) {
    const bool encodes = s < config_.num_blocks;
    for_thread_shares(queue_, std::ssize(tiles_.chunks()), [&](Range own, size_t index) {
        const int thread = static_cast<int>(index);
        for (int64_t c = own.begin; c < own.end; ++c) {
            const CloudTiles::Chunk& chunk = tiles_.chunks()[static_cast<size_t>(c)];
            const Partial<T> partial = encodes ? reduction_->open(c, thread) : Partial<T>{};
            run_tiles(s, chunk, thread, z_.data() + chunk.part * n_z(), partial,
                      encodes ? reduction_->v_max(c) : nullptr);
            if (encodes) reduction_->close(c, thread);
        }
    });
}

template <class T>
void CloudPasses<T>::run_tiles(int64_t s, const CloudTiles::Chunk& chunk, int thread, const T* z,
                               Partial<T> partial, T* v_max) {
    for (int64_t tile = chunk.first_tile; tile < chunk.first_tile + chunk.n_tile; ++tile)
        sweep_.run(s, tile, thread, s > 0 ? z : nullptr, partial, v_max);
}

template <class T>
void CloudPasses<T>::describe(Work& work) const {
    const auto n_cloud = static_cast<double>(tiles_.whole().size() + tiles_.divided().size());
    work.reduction_bytes = reduction_->bytes_sent();
    work.reductions = reduction_->collectives();
    work.latent_flops = n_cloud * scratch_[0].latent_blocks.flops();
    work.latent_exponentials = n_cloud * scratch_[0].latent_blocks.exponentials();
}

template <class T>
int64_t CloudPasses<T>::bytes() const {
    int64_t n_byte = sweep_.bytes() + reduction_->bytes() + z_.bytes();
    for (const Scratch& own : scratch_)
        n_byte += own.partial.bytes() + own.v_max.bytes() + own.z.bytes() + own.latent_blocks.bytes();
    return n_byte;
}

template class CloudPasses<float>;
template class CloudPasses<double>;

}  // namespace surrogate::impl::flare
