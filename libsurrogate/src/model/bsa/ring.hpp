// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// Computes full attention: keys and values of each rank are sent to all other ranks. In fast mode
/// they are sent around a ring; a chunk is sent while the previous one is used. In reproducible
/// mode each rank broadcasts its chunk, in the order of ranks, so that keys are processed in the
/// order of slots.
template <class T>
class Ring {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    Ring(const Config& config, const kernels::Queue& queue, Communicator& comm, Workspace<T>& work,
         bool is_reproducible);

    /// Sets the partition slot_begins (size + 1); call it after the workspace's resize(). Local.
    void resize(std::span<const int64_t> slot_begins);

    /// Sets the field (H) to which run() also writes logarithms of sums, see log_sums().
    void keep(const kernels::Tiles<T>& log_sum) { log_sum_ = log_sum; }

    /// Computes y from q, k and v. Collective.
    void run();

    int64_t bytes_sent() const;
    int64_t collectives() const;
    int64_t bytes() const;

private:
    /// Returns the number of slots of a rank.
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
