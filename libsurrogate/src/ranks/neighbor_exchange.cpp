// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

#include <numeric>

namespace surrogate::impl {

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
    const auto size = static_cast<size_t>(comm.size());
    std::vector<int64_t> ones;
    own_rank_ = comm.rank();
    comm.agree([&] {
        receive_.rank_segments.assign(size, 0);
        send_.rank_segments.assign(size, 0);
        ones.assign(size, 1);
        for (const Want& want : wants) ++receive_.rank_segments[static_cast<size_t>(want.rank)];
        std::vector<int64_t> place(size);
        std::exclusive_scan(receive_.rank_segments.begin(), receive_.rank_segments.end(),
                            place.begin(), int64_t{0});
        receive_.segments.resize(wants.size());
        for (const Want& want : wants) {
            int64_t& next = place[static_cast<size_t>(want.rank)];
            receive_.segments[static_cast<size_t>(next++)] = want.segment;
        }
        receive_.set_offsets();
    });
    comm.all_to_all(receive_.rank_segments.data(), ones, send_.rank_segments.data(), ones,
                    sizeof(int64_t));
    comm.agree([&] {
        const auto n =
            std::accumulate(send_.rank_segments.begin(), send_.rank_segments.end(), int64_t{0});
        send_.segments.resize(static_cast<size_t>(n));
        comm.reserve_rows(receive_.rank_segments, send_.rank_segments, sizeof(Segment));
    });
    comm.all_to_all(receive_.segments.data(), receive_.rank_segments, send_.segments.data(),
                    send_.rank_segments, sizeof(Segment));
    int64_t n_message = 0;
    comm.agree([&] {
        send_.set_offsets();
        send_.set_messages(own_rank_, item_bytes);
        receive_.set_messages(own_rank_, item_bytes);
        n_message = std::ssize(send_.messages) + std::ssize(receive_.messages);
        comm.reserve_messages(send_.messages, receive_.messages);
    });
    const auto own = static_cast<size_t>(own_rank_);
    const auto sum = [own](const std::vector<int64_t>& values) {
        return std::accumulate(values.begin(), values.begin() + static_cast<ptrdiff_t>(own),
                               int64_t{0});
    };
    own_receive_begin_ = static_cast<size_t>(sum(receive_.rank_segments));
    own_receive_end_ = own_receive_begin_ + static_cast<size_t>(receive_.rank_segments[own]);
    own_offset_ = sum(send_.rank_items) - sum(receive_.rank_items);
    comm.all_reduce_max(std::span(&n_message, 1));
    has_messages_ = n_message > 0;
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
