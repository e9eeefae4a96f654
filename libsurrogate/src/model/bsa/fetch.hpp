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

/// Keys and values of chosen blocks that other ranks have. Each rank asks for every (block, head)
/// that some group of its own has chosen once: counts first, then requests, then replies, the
/// exchange whose counts depend on data (share/doc/develop/communication.md). Replies come in as
/// many rounds as the fullest rank needs for its room.
template <class T>
class Fetch {
public:
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };

    /// All must outlive it.
    Fetch(const Config& config, const kernels::Queue& queue, Communicator& comm,
          Workspace<T>& work);

    /// Local: memory for the most that can be asked for. slot_begins (size + 1). Throws limit.
    void resize(std::span<const int64_t> slot_begins);

    /// Collective: brings what work.chosen() names. is_good: this rank's choices mean something.
    /// Returns false, on all ranks, if those of some rank do not: nothing was then sent.
    bool exchange(bool is_good);

    /// Keys and values of a chosen block, wherever they come from.
    kernels::bsa::KeyBlock<const T> block(int64_t head, int64_t block) const;

    /// Traffic of the last exchange; before the first one the maximum of an exchange.
    const Traffic& traffic() const { return traffic_; }
    int64_t bytes() const;

private:
    using Counts = std::vector<int64_t>;  // one a rank

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
    int64_t reply_size_;  // numbers of a reply: keys (D, l), then values
    Range own_;           // blocks of this rank
    Counts begins_;       // blocks of each rank (size + 1)
    Counts n_want_, n_asked_, n_send_, n_receive_;
    int64_t room_ = 0;                    // replies that a round sends, besides one for each rank
    kernels::Buffer<uint64_t> wanted_;    // bit block * H + head
    kernels::Buffer<int64_t> before_;     // wanted bits before each word
    kernels::Buffer<int32_t> requests_;   // of this rank, by owner: pair less the owner's first
    kernels::Buffer<int32_t> asked_;      // of the others
    kernels::Buffer<int32_t> place_;      // row of `received_` of each request
    kernels::Buffer<T> sent_, received_;  // replies
    Traffic traffic_;
};

}  // namespace surrogate::impl::bsa
