// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/id_order.hpp"
#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/select_values.hpp"
#include "libsurrogate/src/ranks/split_order.hpp"
#include "libsurrogate/src/ranks/split_record.hpp"

namespace surrogate::impl {

/// Cuts large nodes, level by level, all ranks and threads at once: their points stay on their
/// ranks, in the order of the nodes.
template <class Record>
class SplitLevels {
public:
    using Word = typename Record::Word;

    /// records, spare (n_local): the points, and room for as many. Ids of all ranks are from
    /// first_id on, below first_id + 2^n_id_bit.
    SplitLevels(Communicator& comm, const kernels::Queue& queue, const SplitRule& rule,
                const IdOrder& ids, int64_t first_id, int n_id_bit)
        : comm_(comm),
          queue_(queue),
          rule_(rule),
          ids_(ids),
          first_id_(first_id),
          n_id_bit_(n_id_bit) {}

    /// The nodes that are left when all nodes for which is_open(node) holds have been cut, in the
    /// order of their positions. Collective; throws no_memory.
    template <class IsOpen>
    std::vector<SplitNode> cut(std::vector<SplitNode> nodes, std::span<Record> records,
                               std::span<Record> spare, const IsOpen& is_open) {
        records_ = records;
        spare_ = spare;
        comm_.agree([&] { values_ = kernels::Buffer<uint64_t>(std::ssize(records)); });
        for (;;) {
            comm_.agree([&] { take_open(nodes, is_open); });
            if (cuts_.empty()) return nodes;
            find_axes();
            find_bounds();
            comm_.agree([&] { find_tied(); });
            select_values(comm_, queue_, tied_);
            comm_.agree([&] { nodes = children(nodes); });
        }
    }

private:
    /// A node that is cut at this level.
    struct Cut {
        size_t node;  // its index
        int64_t n_left = 0;
        int axis = 0;
        Word low = 0;     // smallest key on the axis
        int n_bit = 0;    // of the keys, less the smallest
        Word bound = 0;   // points below it are left
        Word number = 0;  // so are those at the bound with smaller numbers
        size_t tied = 0;  // index in tied_, if there are points at the bound on both sides
        bool is_tied = false;
    };

    template <class IsOpen>
    void take_open(const std::vector<SplitNode>& nodes, const IsOpen& is_open) {
        cuts_.clear();
        for (size_t i = 0; i < nodes.size(); ++i) {
            const int64_t left = rule_.left(nodes[i].n_point, nodes[i].depth);
            if (left > 0 && left < nodes[i].n_point && is_open(nodes[i]))
                cuts_.push_back({.node = i, .n_left = left});
        }
        nodes_ = nodes;
        boxes_.resize(cuts_.size() * box_size);
        shares_.resize(static_cast<size_t>(queue_.n_thread()));
        selections_.resize(cuts_.size());
        tied_.clear();
        tied_.reserve(cuts_.size());
    }

    /// body(points of the share, share) for shares of a node's points on this rank.
    template <class Body>
    void for_shares(const SplitNode& node, const Body& body) {
        const int n_share = queue_.n_thread();
        queue_.parallel_for(n_share, [&](int64_t share, int) {
            const Range range = balanced_range(node.n_own, static_cast<int>(share), n_share);
            body(Range{node.begin + range.begin, node.begin + range.end},
                 static_cast<size_t>(share));
        });
    }

    std::span<const Record> points(Range range) const {
        return records_.subspan(static_cast<size_t>(range.begin),
                                static_cast<size_t>(range.size()));
    }

    const SplitNode& node_of(const Cut& cut) const { return nodes_[cut.node]; }

    // Keys as integers with sign, for reductions.
    static int64_t signed_key(Word key) {
        return static_cast<int64_t>(static_cast<uint64_t>(key) ^ uint64_t{1} << 63);
    }
    static Word key_of_signed(int64_t key) {
        return static_cast<Word>(static_cast<uint64_t>(key) ^ uint64_t{1} << 63);
    }

    void find_axes() {
        for (size_t c = 0; c < cuts_.size(); ++c) {
            for_shares(node_of(cuts_[c]), [&](Range range, size_t share) {
                shares_[share].box = Box<Record>(points(range));
            });
            int64_t* const ends = boxes_.data() + c * box_size;
            for (int axis = 0; axis < Record::n_axis; ++axis) {
                Word low = std::numeric_limits<Word>::max(), high = 0;
                for (const Share& share : shares_) {
                    low = std::min(low, share.box.low[axis]);
                    high = std::max(high, share.box.high[axis]);
                }
                ends[2 * axis] = signed_key(high);
                ends[2 * axis + 1] = ~signed_key(low);
            }
        }
        comm_.all_reduce_max(std::span(boxes_));
        for (size_t c = 0; c < cuts_.size(); ++c) {
            const int64_t* const ends = boxes_.data() + c * box_size;
            Box<Record> box;
            for (int axis = 0; axis < Record::n_axis; ++axis) {
                box.high[axis] = key_of_signed(ends[2 * axis]);
                box.low[axis] = key_of_signed(~ends[2 * axis + 1]);
            }
            Cut& cut = cuts_[c];
            cut.axis = box.widest();
            cut.low = box.low[cut.axis];
            cut.n_bit = std::bit_width(static_cast<Word>(box.high[cut.axis] - cut.low));
        }
    }

    void find_bounds() {
        for (size_t c = 0; c < cuts_.size(); ++c) {
            const Cut& cut = cuts_[c];
            const SplitNode& node = node_of(cut);
            for_shares(node, [&](Range range, size_t) {
                for (int64_t i = range.begin; i < range.end; ++i)
                    values_[i] = records_[static_cast<size_t>(i)].x[cut.axis] - cut.low;
            });
            selections_[c] = {
                .values = values_of(node, node.n_own), .n_bit = cut.n_bit, .n_left = cut.n_left};
        }
        select_values(comm_, queue_, selections_);
        for (size_t c = 0; c < cuts_.size(); ++c)
            cuts_[c].bound = static_cast<Word>(cuts_[c].low + selections_[c].bound);
    }

    std::span<uint64_t> values_of(const SplitNode& node, int64_t n) {
        return {values_.data() + node.begin, static_cast<size_t>(n)};
    }

    /// Points whose coordinate is the bound, where their ids decide.
    void find_tied() {
        for (size_t c = 0; c < cuts_.size(); ++c) {
            Cut& cut = cuts_[c];
            if (selections_[c].n_below == cut.n_left) continue;
            const SplitNode& node = node_of(cut);
            uint64_t* const values = values_.data() + node.begin;
            int64_t n = 0;
            for (const Record& point : points({node.begin, node.end()})) {
                if (point.x[cut.axis] != cut.bound) continue;
                values[n++] =
                    static_cast<uint64_t>(ids_.id(point.number)) - static_cast<uint64_t>(first_id_);
            }
            cut.tied = tied_.size();
            cut.is_tied = true;
            tied_.push_back({.values = values_of(node, n),
                             .n_bit = n_id_bit_,
                             .n_left = cut.n_left - selections_[c].n_below});
        }
    }

    std::vector<SplitNode> children(const std::vector<SplitNode>& nodes) {
        std::vector<SplitNode> result;
        result.reserve(nodes.size() + cuts_.size());
        size_t next = 0;
        for (size_t i = 0; i < nodes.size(); ++i) {
            if (next == cuts_.size() || cuts_[next].node != i) {
                result.push_back(nodes[i]);
                continue;
            }
            Cut& cut = cuts_[next++];
            if (cut.is_tied) {
                cut.number = static_cast<Word>(ids_.n_below(static_cast<int64_t>(
                    static_cast<uint64_t>(first_id_) + tied_[cut.tied].bound)));
            }
            const SplitNode& node = nodes[i];
            const int64_t n_left = partition(node, cut);
            result.push_back(
                {node.first, cut.n_left, node.depth + 1, cut.axis, node.begin, n_left});
            result.push_back({node.first + cut.n_left, node.n_point - cut.n_left, node.depth + 1,
                              cut.axis, node.begin + n_left, node.n_own - n_left});
        }
        return result;
    }

    /// Left points to the front, each side in the order it was. Returns how many are left.
    int64_t partition(const SplitNode& node, const Cut& cut) {
        const auto bound = Record::join(cut.bound, cut.number);
        const auto is_left = [&](const Record& point) { return point.key(cut.axis) < bound; };
        for_shares(node, [&](Range range, size_t share) {
            int64_t n = 0;
            for (const Record& point : points(range)) n += is_left(point);
            shares_[share].left = n;
            shares_[share].right = range.size() - n;
        });
        int64_t left = node.begin;
        for (Share& share : shares_) left += std::exchange(share.left, left);
        int64_t right = left;
        for (Share& share : shares_) right += std::exchange(share.right, right);
        for_shares(node, [&](Range range, size_t share) {
            int64_t to_left = shares_[share].left, to_right = shares_[share].right;
            for (const Record& point : points(range)) {
                const bool goes_left = is_left(point);
                spare_[static_cast<size_t>(goes_left ? to_left : to_right)] = point;
                to_left += goes_left;
                to_right += !goes_left;
            }
        });
        for_shares(node, [&](Range range, size_t) {
            std::copy(spare_.begin() + range.begin, spare_.begin() + range.end,
                      records_.begin() + range.begin);
        });
        return left - node.begin;
    }

    struct Share {
        Box<Record> box;
        int64_t left = 0, right = 0;
    };
    static constexpr size_t box_size = 2 * Record::n_axis;

    Communicator& comm_;
    const kernels::Queue& queue_;
    const SplitRule& rule_;
    const IdOrder& ids_;
    int64_t first_id_;
    int n_id_bit_;
    std::span<Record> records_, spare_;
    kernels::Buffer<uint64_t> values_;  // (n_local)
    std::vector<SplitNode> nodes_;
    std::vector<Cut> cuts_;
    std::vector<int64_t> boxes_;  // (n_cut, n_axis, 2): the largest key, and that of its complement
    std::vector<Share> shares_;
    std::vector<Selection> selections_, tied_;  // by coordinate, by id
};

}  // namespace surrogate::impl
