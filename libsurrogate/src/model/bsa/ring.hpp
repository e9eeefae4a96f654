// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// Full attention: keys and values of each rank visit all others. In fast mode around the ring, a
/// chunk travels while the one before it is used; in reproducible mode each rank gives its own to
/// all in the order of ranks, so that keys come in the order of slots.
template <class T>
class Ring {
public:
    /// All must outlive it.
    Ring(const Config& config, const kernels::Queue& queue, Communicator& comm, Workspace<T>& work,
         bool is_reproducible);

    /// Local; after the workspace's. slot_begins (size + 1).
    void resize(std::span<const int64_t> slot_begins);

    /// From now on run() also writes logarithms of sums (H), as log_sums() gives them.
    void keep(const kernels::Tiles<T>& log_sum) { log_sum_ = log_sum; }

    /// Collective: y from q, k and v.
    void run();

    int64_t bytes_sent() const;
    int64_t collectives() const;
    int64_t bytes() const;

private:
    /// Slots of a rank.
    int64_t n_slot(int rank) const {
        return begins_[static_cast<size_t>(rank) + 1] - begins_[static_cast<size_t>(rank)];
    }
    int64_t chunk_bytes(int rank) const;
    void attend(int rank, T* chunk);
    void run_in_order();
    void run_around();

    const Config& config_;
    kernels::Queue queue_;
    Communicator& comm_;
    Workspace<T>& work_;
    bool is_reproducible_;
    kernels::Tiles<T> log_sum_;
    std::vector<int64_t> begins_;
    kernels::Buffer<T> visitor_;               // keys and values of another rank
    kernels::Buffer<T> states_;                // (n_piece, SoftmaxState::size())
    std::vector<kernels::Buffer<T>> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa
