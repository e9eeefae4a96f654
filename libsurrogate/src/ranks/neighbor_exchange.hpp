// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// A run of items first .. first + count - 1 of row `row`: columns of a row of a grid, in whatever
/// numbering the ranks of an exchange share.
struct Segment {
    int64_t row = 0, first = 0, count = 0;
};

/// Sparse neighbor exchange. Each rank declares the segments it reads; connect() plans the messages
/// once, then one packed message per neighbor and step. Neighbors may be any ranks, any number of
/// rows away. What a rank wants of itself is copied without a message.
///
/// Example: three ranks, rows of 4 items; rank r owns rows 2r and 2r + 1. Segments are written
/// row[items]. Each rank wants its first row and the rows next to its own, of row 4 only a half:
///
///   wants of rank 0   rank 0: 0[0-3]   rank 1: 2[0-3]
///   wants of rank 1   rank 0: 1[0-3]   rank 1: 2[0-3]   rank 2: 4[0-1]
///   wants of rank 2   rank 1: 3[0-3]   rank 2: 4[0-3]
///
/// Then rank 1 has these sides, in the order of ranks; numbers below are offsets in items:
///
///   receive   0: 1[0-3]   1: 2[0-3]   2: 4[0-1]      rank_items 4 4 2
///                0           4           8
///   send      0: 2[0-3]   1: 2[0-3]   2: 3[0-3]      rank_items 4 4 4
///                0           4           8
///
/// It sends a message of 4 items to rank 0 and one to rank 2, and receives one of 4 and one of 2.
/// Segment 1 of `receive` is its own: no message brings it, so it is read from the send buffer,
/// where it was packed. The own part of both buffers has the same segments in the same order, so
/// one number leads from any own offset in `receive` to that in `send`: own_offset_ = (items sent
/// to lower ranks) - (items received from lower ranks) = 4 - 4 = 0 here. On rank 2, which receives
/// 4 items from rank 1 and sends 2, it is 2 - 4 = -2.
class NeighborExchange {
public:
    struct Want {
        int rank = 0;  ///< owner of the segment
        Segment segment;
    };

    NeighborExchange() = default;

    /// Computes the messages of all ranks from their requests and allocates buffers for items of up
    /// to item_bytes. Collective; errors are agreed on.
    void connect(Communicator& comm, std::vector<Want> wants, int64_t item_bytes);

    /// Returns false if no rank has a message for another: begin and finish then only copy.
    bool has_messages() const { return has_messages_; }
    /// Returns messages and items that this rank sends to others.
    int64_t n_message() const;
    int64_t n_item_sent() const;
    int64_t collectives() const { return has_messages_ ? 1 : 0; }
    int64_t bytes() const;
    /// Returns the segments that this and other ranks read from this rank.
    const std::vector<Segment>& sent() const { return send_.segments; }

    /// Sends segments. pack(segment, to) writes n_channel x segment.count values, channel by
    /// channel, of a segment of this rank; all threads of the queue call it, in any order.
    /// Collective.
    template <class T, class Pack>
    void begin(Communicator& comm, const kernels::Queue& queue, int64_t n_channel,
               const Pack& pack) {
        T* buffer = reinterpret_cast<T*>(send_.buffer.data());
        queue.parallel_for(std::ssize(send_.segments), [&](int64_t i, int) {
            const auto s = static_cast<size_t>(i);
            pack(send_.segments[s], buffer + send_.offsets[s] * n_channel);
        });
        begin_messages(comm, n_channel * static_cast<int64_t>(sizeof(T)));
    }

    /// Waits for the messages. unpack(segment, from, thread) reads what pack() wrote. Collective.
    template <class T, class Unpack>
    void finish(Communicator& comm, const kernels::Queue& queue, int64_t n_channel,
                const Unpack& unpack) {
        if (has_messages_) comm.finish_exchange();
        queue.parallel_for(std::ssize(receive_.segments), [&](int64_t i, int thread) {
            const auto s = static_cast<size_t>(i);
            const bool is_own = s >= own_receive_begin_ && s < own_receive_end_;
            // Own segments were packed, and stay where they are.
            const int64_t offset = is_own ? receive_.offsets[s] + own_offset_ : receive_.offsets[s];
            const auto* buffer = is_own ? send_.buffer.data() : receive_.buffer.data();
            unpack(receive_.segments[s], reinterpret_cast<const T*>(buffer) + offset * n_channel,
                   thread);
        });
    }

private:
    /// Segments in the order of their ranks, and where they begin in the buffer, in items.
    struct Side {
        std::vector<Segment> segments;
        std::vector<int64_t> offsets;
        std::vector<int64_t> rank_segments;  // (n_rank)
        std::vector<int64_t> rank_items;     // (n_rank)
        int64_t n_item = 0;
        kernels::Buffer<std::byte> buffer;
        std::vector<Communicator::Message> messages;

        void set_segments(std::span<const Want> wants, int n_rank);
        void set_offsets();
        void set_messages(int own, int64_t item_bytes);
    };

    void send_wants(Communicator& comm);
    void find_own_segments();
    void begin_messages(Communicator& comm, int64_t item_bytes);

    Side send_, receive_;
    int own_rank_ = 0;
    bool has_messages_ = false;
    size_t own_receive_begin_ = 0, own_receive_end_ = 0;
    int64_t own_offset_ = 0;  // from a place in the receive buffer to that in the send buffer
};

}  // namespace surrogate::impl
