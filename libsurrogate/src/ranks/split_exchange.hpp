// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "libsurrogate/src/ranks/split_share.hpp"

namespace surrogate::impl {

/// Sends points to the ranks that finish their nodes, and returns positions to the senders. All
/// ranks must call the functions in the order of declaration.
template <class Record>
class SplitExchange {
public:
    using Word = typename Record::Word;

    /// Counts and packs the records of `own`, which gives them up. worker[i]: the rank that
    /// finishes node i of `own`; it does not descend. Collective.
    SplitExchange(Communicator& comm, const kernels::Queue& queue, SplitShare<Record>& own,
                  std::span<const int> worker)
        : comm_(comm), queue_(queue) {
        comm_.agree([&] {
            count_nodes(own.nodes, worker);
            pack(own);
            comm_.reserve_rows(n_node_, n_mine_, sizeof(int64_t));
        });
    }

    /// Sends the records and returns the nodes of this rank with all their points. Collective.
    SplitShare<Record> send() {
        comm_.all_to_all(n_of_node_.data(), n_node_, n_arriving_.data(), n_mine_, sizeof(int64_t));
        comm_.agree([&] {
            count_arrivals();
            arrived_ = kernels::Buffer<Travelling>(
                std::accumulate(n_receive_.begin(), n_receive_.end(), int64_t{0}));
            comm_.reserve_rows(n_send_, n_receive_, sizeof(Travelling));
        });
        comm_.all_to_all(sent_.data(), n_send_, arrived_.data(), n_receive_, sizeof(Travelling));
        SplitShare<Record> share;
        comm_.agree([&] { unpack(share); });
        return share;
    }

    /// Returns the positions of the numbers of `own`. positions: positions of the rows that send()
    /// returned.
    std::vector<int64_t> give_back(std::span<const int64_t> positions) {
        std::vector<int64_t> returned, by_number;
        comm_.agree([&] {
            returned.resize(sent_numbers_.size());
            by_number.resize(sent_numbers_.size());
            comm_.reserve_rows(n_receive_, n_send_, sizeof(int64_t));
        });
        comm_.all_to_all(positions.data(), n_receive_, returned.data(), n_send_, sizeof(int64_t));
        for (size_t i = 0; i < returned.size(); ++i) by_number[sent_numbers_[i]] = returned[i];
        return by_number;
    }

private:
    struct Travelling {
        int64_t id;
        Word x[Record::n_axis];
    };

    void count_nodes(const std::vector<SplitNode>& nodes, std::span<const int> worker) {
        const auto size = static_cast<size_t>(comm_.size());
        n_send_.assign(size, 0);
        n_receive_.assign(size, 0);
        n_node_.assign(size, 0);
        for (size_t i = 0; i < nodes.size(); ++i) {
            const auto to = static_cast<size_t>(worker[i]);
            ++n_node_[to];
            n_send_[to] += nodes[i].n_own;
            n_of_node_.push_back(nodes[i].n_own);
            if (worker[i] == comm_.rank()) nodes_.push_back(nodes[i]);
        }
        n_mine_.assign(size, std::ssize(nodes_));
        n_arriving_.resize(size * nodes_.size());
    }

    void pack(SplitShare<Record>& own) {
        const int64_t n = own.records.size();
        sent_ = kernels::Buffer<Travelling>(n);
        sent_numbers_.resize(static_cast<size_t>(n));
        for (const SplitNode& node : own.nodes) {
            const Record* const points = own.points(node);
            for_thread_shares(queue_, node.n_own, [&](Range range, size_t) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                    Travelling& sent = sent_[node.begin + i];
                    sent.id = own.ids.id(points[i].number);
                    std::copy_n(points[i].x, Record::n_axis, sent.x);
                    sent_numbers_[static_cast<size_t>(node.begin + i)] = points[i].number;
                }
            });
        }
        own.records = {};
        own.spare = {};
    }

    void count_arrivals() {
        for (size_t r = 0; r < n_receive_.size(); ++r) {
            const auto counts = std::span(n_arriving_).subspan(r * nodes_.size(), nodes_.size());
            n_receive_[r] = std::accumulate(counts.begin(), counts.end(), int64_t{0});
        }
    }

    /// Sorts received data, which is in the order of ranks, by node.
    void unpack(SplitShare<Record>& share) {
        sent_ = {};
        const int64_t n = arrived_.size();
        arrived_ids_.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) arrived_ids_[static_cast<size_t>(i)] = arrived_[i].id;
        share.ids = IdOrder(arrived_ids_);
        share.records = kernels::Buffer<Record>(n);
        share.spare = kernels::Buffer<Record>(n);
        std::vector<int64_t> next;
        int64_t begin = 0;
        for (SplitNode& node : nodes_) {
            next.push_back(begin);
            node.begin = begin;
            node.n_own = node.n_point;
            node.is_in_spare = false;
            begin += node.n_point;
        }
        int64_t row = 0;
        for (size_t run = 0; run < n_arriving_.size(); ++run) {
            int64_t& to = next[run % next.size()];
            for (int64_t i = 0; i < n_arriving_[run]; ++i, ++row, ++to) {
                std::copy_n(arrived_[row].x, Record::n_axis, share.records[to].x);
                share.records[to].number = static_cast<Word>(share.ids.number(row));
            }
        }
        share.nodes = std::move(nodes_);
        arrived_ = {};
    }

    Communicator& comm_;
    const kernels::Queue& queue_;
    std::vector<SplitNode> nodes_;             // of this rank
    std::vector<int64_t> n_node_, n_of_node_;  // nodes of each rank; own points of each node
    std::vector<int64_t> n_mine_;              // nodes of this rank, once for each rank
    std::vector<int64_t> n_arriving_;          // (size, nodes of this rank): their points there
    std::vector<int64_t> n_send_, n_receive_;  // points to and from each rank
    kernels::Buffer<Travelling> sent_, arrived_;
    std::vector<Word> sent_numbers_;
    std::vector<int64_t> arrived_ids_;  // the share's order of ids sees them
};

}  // namespace surrogate::impl
