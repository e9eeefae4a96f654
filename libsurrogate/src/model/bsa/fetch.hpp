// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "kernels/bsa/bsa.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// Fetches keys and values of chosen blocks from other ranks. Each rank requests every
/// (block, head) that at least one of its groups has chosen, once: counts first, then requests,
/// then replies. Counts of this exchange depend on data (share/doc/develop/communication.md).
/// Replies are sent in as many rounds as the rank with the most replies needs for its buffer.
template <class T>
class Fetch {
public:
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };

    /// Keeps references to all arguments, which must outlive this object. Local.
    Fetch(const Config& config, const kernels::Queue& queue, Communicator& comm,
          Workspace<T>& work);

    /// Allocates memory for the largest number of requests. slot_begins (size + 1). Local. Throws
    /// limit.
    void resize(std::span<const int64_t> slot_begins);

    /// Fetches the blocks in work.chosen(). is_good: this rank's choices are valid. Returns false,
    /// on all ranks, if the choices of some rank are invalid; no blocks are sent then. Collective.
    bool exchange(bool is_good);

    /// Returns keys and values of a chosen block, of this rank or another one.
    kernels::bsa::KeyBlock<const T> block(int64_t head, int64_t block) const;

    /// Returns the traffic of the last exchange, or before the first exchange the largest possible
    /// traffic.
    const Traffic& traffic() const { return traffic_; }
    int64_t bytes() const;

private:
    using Counts = std::vector<int64_t>;  // one per rank

    bool is_own(int64_t block) const { return block >= own_.begin && block < own_.end; }
    void plan_room(std::span<const int64_t> group_begins);
    void mark_wanted();
    void count_wanted();
    void list_requests();
    void answer(int64_t round, int64_t n_round);
    void pack(int64_t pair, T* to) const;
    int64_t index_of(int64_t pair) const;

    const Config& config_;
    kernels::Queue queue_;
    Communicator& comm_;
    Workspace<T>& work_;
    int64_t reply_size_;  // numbers per reply: keys (D, l), then values
    Range own_;           // blocks of this rank
    Counts begins_;       // blocks of each rank (size + 1)
    Counts n_want_, n_asked_, n_send_, n_receive_;
    int64_t room_ = 0;                  // replies per round, plus up to one for each rank
    kernels::Buffer<uint64_t> wanted_;  // bit block * H + head
    kernels::Buffer<int64_t> before_;   // wanted bits before each word
    // of this rank, by owner: pair minus the owner's first pair
    kernels::Buffer<int32_t> requests_;
    kernels::Buffer<int32_t> asked_;      // requests of other ranks
    kernels::Buffer<int32_t> place_;      // row of `received_` for each request
    kernels::Buffer<T> sent_, received_;  // replies
    Traffic traffic_;
};

}  // namespace surrogate::impl::bsa
