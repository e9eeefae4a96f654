// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl::bsa {

/// Shows tiles of all slots to all ranks, a few at a time and in ascending order. Sums of a rank
/// over these tiles are therefore bitwise identical on any number of ranks. This is how gradients
/// of keys and values reach their owner: the owner adds the contributions of all queries itself.
class Visits {
public:
    /// Keeps a reference to `comm`, which must outlive this object. Local.
    explicit Visits(Communicator& comm) : comm_(comm) {}

    /// Sets the partition slot_begins (size + 1). Local.
    void resize(std::span<const int64_t> slot_begins) {
        begins_.assign(slot_begins.begin(), slot_begins.end());
    }
    /// Allocates memory for tiles of `tile_slots` slots, which divide the slots of every rank, and
    /// of tile_bytes bytes. Local.
    void reserve(int64_t tile_slots, int64_t tile_bytes) {
        int64_t most = 0;
        for (int rank = 0; rank < comm_.size(); ++rank)
            most = std::max(most, n_tile(rank, tile_slots));
        memory_.resize(std::max(memory_.size(), std::min(most, at_once(tile_bytes)) * tile_bytes));
    }

    /// Calls use(tiles, n) for n consecutive tiles, with the same arguments on all ranks. The owner
    /// of a tile, its tile number i, has written it with pack(i, to), on all threads. Collective.
    /// Does not allocate.
    template <class Pack, class Use>
    void run(const kernels::Queue& queue, int64_t tile_slots, int64_t tile_bytes, const Pack& pack,
             const Use& use) {
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const int64_t n_all = n_tile(rank, tile_slots), most = at_once(tile_bytes);
            for (int64_t first = 0; first < n_all; first += most) {
                const int64_t n = std::min(most, n_all - first);
                if (rank == comm_.rank()) {
                    queue.parallel_for(n, [&](int64_t i, int) {
                        pack(first + i, memory_.data() + i * tile_bytes);
                    });
                }
                if (comm_.size() > 1) comm_.broadcast(memory_.data(), n * tile_bytes, rank);
                use(memory_.data(), n);
            }
        }
    }

    /// Returns the bytes that this rank sends in a run(), and the number of broadcasts.
    int64_t bytes_sent(int64_t tile_slots, int64_t tile_bytes) const {
        return comm_.size() > 1 ? n_tile(comm_.rank(), tile_slots) * tile_bytes : 0;
    }
    int64_t collectives(int64_t tile_slots, int64_t tile_bytes) const {
        int64_t n = 0;
        for (int rank = 0; rank < comm_.size() && comm_.size() > 1; ++rank)
            n += (n_tile(rank, tile_slots) + at_once(tile_bytes) - 1) / at_once(tile_bytes);
        return n;
    }
    int64_t bytes() const { return memory_.bytes(); }

private:
    /// Returns the tiles at once: 1 MiB stays in cache for all keys of a thread.
    static int64_t at_once(int64_t tile_bytes) {
        return std::max<int64_t>(1, (int64_t{1} << 20) / tile_bytes);
    }
    int64_t n_tile(int rank, int64_t tile_slots) const {
        const auto r = static_cast<size_t>(rank);
        return (begins_[r + 1] - begins_[r]) / tile_slots;
    }

    Communicator& comm_;
    std::vector<int64_t> begins_;
    kernels::Buffer<std::byte> memory_;
};

}  // namespace surrogate::impl::bsa
