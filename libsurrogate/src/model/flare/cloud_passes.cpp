// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_passes.hpp"

#include <algorithm>

#include "libsurrogate/src/model/flare/latent_quotients.hpp"
#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl::flare {

using kernels::Queue;
using kernels::Tile;
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
    const int64_t tile_size = config.channel_dim * kernels::tile_points;
    const Queue one_thread(queue.backend(), queue.level(), 1);
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({kernels::Buffer<T>(Partial<T>::size(sizes_)),
                            kernels::Buffer<T>(sizes_.n_head),
                            {},
                            kernels::Buffer<T>(tile_size),
                            kernels::Buffer<T>(tile_size),
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
    for (int64_t s = 0; s <= config_.num_blocks; ++s) {
        T* z = own.z.data();
        for (int64_t u = batch.begin; u < batch.end && own.is_finite; ++u) {
            const CloudTiles::Unit& unit = tiles_.units()[static_cast<size_t>(u)];
            own.is_finite = unit.clouds.size() == 1 ? run_cloud(s, unit, thread, z)
                                                    : run_shared_tile(s, unit, thread, z);
            z += unit.clouds.size() * n_z();
        }
    }
}

/// Sweep s of one cloud: reads z of block s - 1 and writes z of block s.
template <class T>
bool CloudPasses<T>::run_cloud(int64_t s, const CloudTiles::Unit& unit, int thread, T* z) {
    begin_cloud(thread);
    run_tiles(s, {unit.first_tile, unit.first_tile + unit.n_tile}, thread, z, partial(thread),
              v_max(thread));
    return s == config_.num_blocks || make_latents(s, thread, z);
}

/// Sweep s of several clouds: z (clouds, H, M, D).
template <class T>
bool CloudPasses<T>::run_shared_tile(int64_t s, const CloudTiles::Unit& unit, int thread, T* z) {
    const int64_t tile = unit.first_tile, n = unit.clouds.size();
    const auto columns = tiles_.columns().subspan(static_cast<size_t>(unit.clouds.begin));
    if (s == 0) {
        sweep_.enter(tile, thread);
    } else {
        for (int64_t c = 0; c < n; ++c)
            decode(s - 1, tile, columns[static_cast<size_t>(c)], thread, z + c * n_z());
        sweep_.finish_block(s - 1, tile, thread);
    }
    if (s == config_.num_blocks) {
        sweep_.leave(tile, thread);
        return true;
    }
    sweep_.project(s, tile, thread);
    bool is_finite = true;
    for (int64_t c = 0; c < n && is_finite; ++c) {
        begin_cloud(thread);
        encode(s, tile, columns[static_cast<size_t>(c)], thread);
        is_finite = make_latents(s, thread, z + c * n_z());
    }
    return is_finite;
}

namespace {

/// Copies columns of a tile to or from the first columns of another one.
template <class T>
void copy_columns(Tile<const T> from, Tile<T> to) {
    for (int64_t c = 0; c < from.shape[0]; ++c) std::copy_n(&from(c, 0), from.shape[1], &to(c, 0));
}

template <class T>
Tile<T> columns_of(Tile<T> tile, const Range& columns) {
    return {tile.data + columns.begin, {tile.shape[0], columns.size()}, tile.stride};
}

}  // namespace

/// The columns of one cloud: kernels take tiles that begin at a multiple of lane_count.
template <class T>
void CloudPasses<T>::decode(int64_t i, int64_t tile, const Range& columns, int thread, const T* z) {
    const Tile<T> k = columns_of(sweep_.keys(i, tile), columns),
                  own_k{scratch(thread).k.data(), k.shape, k.stride},
                  y{scratch(thread).v.data(), k.shape, k.stride};
    copy_columns<T>(k, own_k);
    kernels::flare::decode<T>(queue_, layers_.blocks[static_cast<size_t>(i)].queries, own_k, z, y);
    copy_columns<T>(y, columns_of(sweep_.decoded(tile, thread), columns));
}

template <class T>
void CloudPasses<T>::encode(int64_t i, int64_t tile, const Range& columns, int thread) {
    const Tile<T> k = columns_of(sweep_.keys(i, tile), columns),
                  v = columns_of(sweep_.values(tile, thread), columns),
                  own_k{scratch(thread).k.data(), k.shape, k.stride},
                  own_v{scratch(thread).v.data(), v.shape, v.stride};
    copy_columns<T>(k, own_k);
    copy_columns<T>(v, own_v);
    kernels::flare::encode<T>(queue_, layers_.blocks[static_cast<size_t>(i)].queries, own_k, own_v,
                              partial(thread));
    if (reproducible_) raise_maxima<T>(own_v, config_.num_heads, v_max(thread));
}

template <class T>
void CloudPasses<T>::begin_cloud(int thread) {
    reset(partial(thread));
    std::ranges::fill(scratch(thread).v_max, T(0));
}

/// z of block i of the cloud whose points are encoded.
template <class T>
bool CloudPasses<T>::make_latents(int64_t i, int thread, T* z) {
    if (!latents_of(partial(thread), v_max(thread), z)) return false;
    scratch(thread).latent_blocks.run(layers_.blocks[static_cast<size_t>(i)], z);
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
            run_tiles(s, {chunk.first_tile, chunk.first_tile + chunk.n_tile}, thread,
                      z_.data() + chunk.part * n_z(), partial,
                      encodes ? reduction_->v_max(c) : nullptr);
            if (encodes) reduction_->close(c, thread);
        }
    });
}

template <class T>
void CloudPasses<T>::run_tiles(int64_t s, const Range& tiles, int thread, const T* z,
                               Partial<T> partial, T* v_max) {
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile)
        sweep_.run(s, tile, thread, s > 0 ? z : nullptr, partial, v_max);
}

template <class T>
void CloudPasses<T>::describe(Work& work) const {
    const auto n_cloud = static_cast<double>(tiles_.columns().size() + tiles_.divided().size());
    work.reduction_bytes = reduction_->bytes_sent();
    work.reductions = reduction_->collectives();
    work.latent_flops = n_cloud * scratch_[0].latent_blocks.flops();
    work.latent_exponentials = n_cloud * scratch_[0].latent_blocks.exponentials();
}

template <class T>
int64_t CloudPasses<T>::bytes() const {
    int64_t n_byte = sweep_.bytes() + reduction_->bytes() + z_.bytes();
    for (const Scratch& own : scratch_)
        n_byte += own.partial.bytes() + own.v_max.bytes() + own.z.bytes() + own.k.bytes() +
                  own.v.bytes() + own.latent_blocks.bytes();
    return n_byte;
}

template class CloudPasses<float>;
template class CloudPasses<double>;

}  // namespace surrogate::impl::flare
