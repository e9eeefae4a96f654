// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_tiles.hpp"

#include <algorithm>

#include "kernels/base/view.hpp"

namespace surrogate::impl::flare {

using kernels::tile_points;

namespace {

/// Tiles of a batch: activations of so many stay in a second-level cache beside the weights of a
/// block, which each batch reads once. Latents of two clouds count as a tile.
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
    const int64_t chunk_tiles =
        is_exact ? largest_chunk : std::clamp<int64_t>(share, 1, largest_chunk);
    const auto is_whole = [&](const CloudPart& part) {
        return !part.is_shared && n_tile_of(part.n_point) <= chunk_tiles;
    };
    tile_sizes_.clear();
    columns_.clear();
    units_.clear();
    chunks_.clear();
    divided_.clear();
    std::vector<int64_t> next(parts.size());  // slot of the next point
    // Clouds that share tiles are neighbors, whatever the sizes of the others.
    for (const bool is_small : {false, true}) {
        for (size_t p = 0; p < parts.size(); ++p) {
            if (is_whole(parts[p]) && is_small == (parts[p].n_point <= tile_points))
                next[p] = add_whole(parts[p].n_point);
        }
    }
    for (size_t p = 0; p < parts.size(); ++p)
        if (!is_whole(parts[p])) next[p] = add_divided(parts[p], chunk_tiles);
    set_slots(clouds, parts, next);
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

/// Returns the slot of the first point.
int64_t CloudTiles::add_whole(int64_t n_point) {
    const int64_t cloud = std::ssize(columns_);
    const bool has_open_tile = !units_.empty() && units_.back().n_tile == 1;
    const int64_t column = has_open_tile ? tile_sizes_.back() : tile_points;
    if (column + n_point > tile_points) {
        columns_.push_back({0, n_point});
        units_.push_back({add_tiles(n_point), n_tile_of(n_point), {cloud, cloud + 1}});
        return units_.back().first_tile * tile_points;
    }
    columns_.push_back({column, column + n_point});
    tile_sizes_.back() += n_point;
    units_.back().clouds.end = cloud + 1;
    return units_.back().first_tile * tile_points + column;
}

/// Returns the slot of the first point.
int64_t CloudTiles::add_divided(const CloudPart& part, int64_t chunk_tiles) {
    const int64_t first = add_tiles(part.n_point);
    for (int64_t tile = first; tile < std::ssize(tile_sizes_); tile += chunk_tiles) {
        const int64_t n = std::min(chunk_tiles, std::ssize(tile_sizes_) - tile);
        chunks_.push_back({tile, n, std::ssize(divided_)});
    }
    divided_.push_back(part);
    return first * tile_points;
}

/// next (parts): slot of the first point of each.
void CloudTiles::set_slots(std::span<const int64_t> clouds, std::span<const CloudPart> parts,
                           std::vector<int64_t>& next) {
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
    const auto work_of = [](const Unit& unit) {
        return std::max(unit.n_tile, (unit.clouds.size() + 1) / 2);
    };
    int64_t work = 0;
    for (const Unit& unit : units_) work += work_of(unit);
    const int64_t a_thread = batch_tiles * n_thread;
    const int64_t n_batch = (work + a_thread - 1) / a_thread * n_thread;
    Range batch;
    int64_t done = 0;
    for (int64_t b = 0; b < n_batch; ++b, batch.begin = batch.end) {
        int64_t n_cloud = 0;
        while (batch.end < std::ssize(units_) && done * n_batch / work == b) {
            const Unit& unit = units_[static_cast<size_t>(batch.end++)];
            done += work_of(unit);
            n_cloud += unit.clouds.size();
        }
        batches_.push_back(batch);
        most_in_batch_ = std::max(most_in_batch_, n_cloud);
    }
}

/// The batches of a thread use the same memory in turn; see CloudPasses.
void CloudTiles::set_stream_slots(int n_thread) {
    const auto tiles_of = [&](const Range& units) -> Range {
        if (units.size() == 0) return {};
        const Unit& last = units_[static_cast<size_t>(units.end - 1)];
        return {units_[static_cast<size_t>(units.begin)].first_tile, last.first_tile + last.n_tile};
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
    for (int64_t tile = tiles_of({0, std::ssize(units_)}).end; tile < std::ssize(tile_sizes_);
         ++tile)
        stream_slots_[static_cast<size_t>(tile)] = n_stream_slot_++;
}

int64_t CloudTiles::bytes() const {
    return bytes_of(slots_) + bytes_of(tile_sizes_) + bytes_of(stream_slots_) + bytes_of(columns_) +
           bytes_of(units_) + bytes_of(chunks_) + bytes_of(batches_) + bytes_of(divided_);
}

}  // namespace surrogate::impl::flare
