// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_tiles.hpp"

#include <algorithm>

#include "kernels/base/view.hpp"

namespace surrogate::impl::flare {

using kernels::tile_points;

namespace {

/// Tiles of a batch: activations of so many stay in a second-level cache beside the weights of a
/// block, which each batch reads once.
constexpr int64_t batch_tiles = 16;

int64_t n_tile_of(int64_t n_point) {
    return (n_point + tile_points - 1) / tile_points;
}

template <class T>
int64_t bytes_of(const std::vector<T>& list) {
    return static_cast<int64_t>(list.capacity() * sizeof(T));
}

}  // namespace

void CloudTiles::set(std::span<const int64_t> clouds, std::span<const CloudPart> parts,
                     int64_t largest_chunk, bool is_exact, int n_thread) {
    int64_t n_tile = 0;
    for (const CloudPart& part : parts) n_tile += n_tile_of(part.n_point);
    const int64_t share = (n_tile + n_thread - 1) / n_thread;
    const int64_t chunk_tiles = is_exact ? largest_chunk : std::clamp<int64_t>(share, 1, largest_chunk);
    const auto is_whole = [&](const CloudPart& part) {
        return !part.is_shared && n_tile_of(part.n_point) <= chunk_tiles;
    };
    tile_sizes_.clear();
    whole_.clear();
    chunks_.clear();
    divided_.clear();
    std::vector<int64_t> first_tiles(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
        if (!is_whole(parts[p])) continue;
        first_tiles[p] = add_tiles(parts[p].n_point);
        whole_.push_back({first_tiles[p], n_tile_of(parts[p].n_point), 0});
    }
    for (size_t p = 0; p < parts.size(); ++p) {
        if (is_whole(parts[p])) continue;
        first_tiles[p] = add_tiles(parts[p].n_point);
        for (int64_t tile = first_tiles[p]; tile < std::ssize(tile_sizes_); tile += chunk_tiles) {
            const int64_t n = std::min(chunk_tiles, std::ssize(tile_sizes_) - tile);
            chunks_.push_back({tile, n, std::ssize(divided_)});
        }
        divided_.push_back(parts[p]);
    }
    set_slots(clouds, parts, first_tiles);
    set_batches(n_thread);
    set_stream_slots(n_thread);
}

/// Returns the first of the tiles.
int64_t CloudTiles::add_tiles(int64_t n_point) {
    const int64_t first = std::ssize(tile_sizes_);
    for (int64_t i = 0; i < n_point; i += tile_points)
        tile_sizes_.push_back(std::min(tile_points, n_point - i));
    return first;
}

void CloudTiles::set_slots(std::span<const int64_t> clouds, std::span<const CloudPart> parts,
                           std::span<const int64_t> first_tiles) {
    std::vector<int64_t> next(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) next[p] = first_tiles[p] * tile_points;
    slots_.resize(clouds.size());
    size_t part = 0;
    for (size_t i = 0; i < clouds.size(); ++i) {
        if (parts[part].cloud != clouds[i])
            part = static_cast<size_t>(
                std::ranges::lower_bound(parts, clouds[i], {}, &CloudPart::cloud) - parts.begin());
        slots_[i] = next[part]++;
    }
}

/// Batches of about equal work, as many for each thread.
void CloudTiles::set_batches(int n_thread) {
    batches_.clear();
    most_in_batch_ = 0;
    if (whole_.empty()) return;
    const int64_t n_tile = whole_.back().first_tile + whole_.back().n_tile;
    const int64_t a_thread = batch_tiles * n_thread;
    const int64_t n_batch = (n_tile + a_thread - 1) / a_thread * n_thread;
    Range batch;
    for (int64_t b = 0; b < n_batch; ++b, batch.begin = batch.end) {
        while (batch.end < std::ssize(whole_) &&
               whole_[static_cast<size_t>(batch.end)].first_tile * n_batch / n_tile == b)
            ++batch.end;
        batches_.push_back(batch);
        most_in_batch_ = std::max(most_in_batch_, batch.size());
    }
}

/// The batches of a thread use the same memory in turn; see CloudPasses.
void CloudTiles::set_stream_slots(int n_thread) {
    const auto tiles_of = [&](const Range& batch) -> Range {
        if (batch.size() == 0) return {};
        const Chunk& last = whole_[static_cast<size_t>(batch.end - 1)];
        return {whole_[static_cast<size_t>(batch.begin)].first_tile, last.first_tile + last.n_tile};
    };
    int64_t most = 0;
    for (const Range& batch : batches_) most = std::max(most, tiles_of(batch).size());
    stream_slots_.resize(tile_sizes_.size());
    for (int thread = 0; thread < n_thread; ++thread) {
        const Range own = balanced_range(std::ssize(batches_), thread, n_thread);
        for (int64_t b = own.begin; b < own.end; ++b) {
            const Range tiles = tiles_of(batches_[static_cast<size_t>(b)]);
            for (int64_t tile = tiles.begin; tile < tiles.end; ++tile)
                stream_slots_[static_cast<size_t>(tile)] = thread * most + tile - tiles.begin;
        }
    }
    n_stream_slot_ = n_thread * most;
    const int64_t n_whole = whole_.empty() ? 0 : whole_.back().first_tile + whole_.back().n_tile;
    for (int64_t tile = n_whole; tile < std::ssize(tile_sizes_); ++tile)
        stream_slots_[static_cast<size_t>(tile)] = n_stream_slot_++;
}

int64_t CloudTiles::bytes() const {
    return bytes_of(slots_) + bytes_of(tile_sizes_) + bytes_of(stream_slots_) + bytes_of(whole_) +
           bytes_of(chunks_) + bytes_of(batches_) + bytes_of(divided_);
}

}  // namespace surrogate::impl::flare
