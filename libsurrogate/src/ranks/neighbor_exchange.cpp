// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

#include <numeric>

namespace surrogate::impl {

namespace {

int64_t sum(std::span<const int64_t> values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
}

}  // namespace

/// Groups the segments by rank; the order of segments within a rank is preserved.
void NeighborExchange::Side::set_segments(std::span<const Want> wants, int n_rank) {
    rank_segments.assign(static_cast<size_t>(n_rank), 0);
    for (const Want& want : wants) ++rank_segments[static_cast<size_t>(want.rank)];
    std::vector<int64_t> place(rank_segments.size());
    std::exclusive_scan(rank_segments.begin(), rank_segments.end(), place.begin(), int64_t{0});
    segments.resize(wants.size());
    for (const Want& want : wants) {
        int64_t& next = place[static_cast<size_t>(want.rank)];
        segments[static_cast<size_t>(next++)] = want.segment;
    }
}

void NeighborExchange::Side::set_offsets() {
    offsets.clear();
    rank_items.assign(rank_segments.size(), 0);
    n_item = 0;
    size_t segment = 0;
    for (size_t rank = 0; rank < rank_segments.size(); ++rank) {
        for (int64_t i = 0; i < rank_segments[rank]; ++i, ++segment) {
            offsets.push_back(n_item);
            n_item += segments[segment].count;
            rank_items[rank] += segments[segment].count;
        }
    }
}

/// Messages of the widest items; begin_messages() sets the true widths, and takes no memory.
void NeighborExchange::Side::set_messages(int own, int64_t item_bytes) {
    buffer = kernels::Buffer<std::byte>(n_item * item_bytes);
    for (size_t rank = 0; rank < rank_items.size(); ++rank) {
        if (rank_items[rank] > 0 && static_cast<int>(rank) != own)
            messages.push_back({static_cast<int>(rank), nullptr, rank_items[rank] * item_bytes});
    }
}

void NeighborExchange::connect(Communicator& comm, std::vector<Want> wants, int64_t item_bytes) {
    own_rank_ = comm.rank();
    comm.agree([&] {
        receive_.set_segments(wants, comm.size());
        send_.rank_segments.resize(receive_.rank_segments.size());
    });
    send_wants(comm);
    comm.agree([&] {
        for (Side* side : {&send_, &receive_}) {
            side->set_offsets();
            side->set_messages(own_rank_, item_bytes);
        }
        comm.reserve_messages(send_.messages, receive_.messages);
    });
    find_own_segments();
    int64_t n_message = std::ssize(send_.messages) + std::ssize(receive_.messages);
    comm.all_reduce_max(std::span(&n_message, 1));
    has_messages_ = n_message > 0;
}

/// Every rank learns which of its segments the others want: receive_ of one is send_ of another.
void NeighborExchange::send_wants(Communicator& comm) {
    comm.all_to_all_counts(receive_.rank_segments, send_.rank_segments);
    comm.agree([&] {
        send_.segments.resize(static_cast<size_t>(sum(send_.rank_segments)));
        comm.reserve_rows(receive_.rank_segments, send_.rank_segments, sizeof(Segment));
    });
    comm.all_to_all(receive_.segments.data(), receive_.rank_segments, send_.segments.data(),
                    send_.rank_segments, sizeof(Segment));
}

void NeighborExchange::find_own_segments() {
    const auto own = static_cast<size_t>(own_rank_);
    const auto before_own = [own](std::span<const int64_t> of_rank) {
        return sum(of_rank.first(own));
    };
    own_receive_begin_ = static_cast<size_t>(before_own(receive_.rank_segments));
    own_receive_end_ = own_receive_begin_ + static_cast<size_t>(receive_.rank_segments[own]);
    own_offset_ = before_own(send_.rank_items) - before_own(receive_.rank_items);
}

int64_t NeighborExchange::n_message() const {
    return std::ssize(send_.messages);
}

int64_t NeighborExchange::n_item_sent() const {
    return send_.rank_items.empty()
               ? 0
               : send_.n_item - send_.rank_items[static_cast<size_t>(own_rank_)];
}

int64_t NeighborExchange::bytes() const {
    const auto side = [](const Side& s) {
        return s.buffer.bytes() +
               std::ssize(s.segments) * static_cast<int64_t>(sizeof(Segment) + 8);
    };
    return side(send_) + side(receive_);
}

void NeighborExchange::begin_messages(Communicator& comm, int64_t item_bytes) {
    if (!has_messages_) return;
    for (Side* side : {&send_, &receive_}) {
        int64_t item = 0;
        auto message = side->messages.begin();
        for (int rank = 0; rank < std::ssize(side->rank_items); ++rank) {
            const int64_t n_item = side->rank_items[static_cast<size_t>(rank)];
            if (n_item > 0 && rank != own_rank_) {
                *message++ = {rank, side->buffer.data() + item * item_bytes, n_item * item_bytes};
            }
            item += n_item;
        }
    }
    comm.begin_exchange(send_.messages, receive_.messages);
}

}  // namespace surrogate::impl
