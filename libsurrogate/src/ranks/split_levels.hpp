// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "libsurrogate/src/ranks/select_values.hpp"
#include "libsurrogate/src/ranks/split_order.hpp"
#include "libsurrogate/src/ranks/split_share.hpp"
#include "libsurrogate/src/ranks/split_survey.hpp"

namespace surrogate::impl {

/// Cuts large nodes level by level, all ranks and threads at once. The points stay on their ranks.
template <class Record>
class SplitLevels {
public:
    using Word = typename Record::Word;

    SplitLevels(Communicator& comm, const kernels::Queue& queue, const SplitRule& rule,
                const SplitSurvey& survey, SplitShare<Record>& share)
        : comm_(comm), queue_(queue), rule_(rule), survey_(survey), share_(share) {}

    /// Cuts all nodes for which is_open(node) holds, their children likewise. Collective; the nodes
    /// of all ranks are the same; throws no_memory.
    template <class IsOpen>
    void cut(const IsOpen& is_open) {
        comm_.agree([&] {
            values_ = kernels::Buffer<uint64_t>(share_.records.size());
            parts_.resize(static_cast<size_t>(queue_.n_thread()));
        });
        for (;;) {
            comm_.agree([&] { take_open(is_open); });
            if (cuts_.empty()) return;
            find_boxes();
            comm_.all_reduce_max(std::span(ends_));
            find_axes();
            select_values(comm_, queue_, by_coordinate_);
            comm_.agree([&] { find_tied(); });
            select_values(comm_, queue_, by_id_);
            comm_.agree([&] { make_children(); });
        }
    }

private:
    /// A node that is cut at this level.
    struct Cut {
        size_t node;  // its index
        int64_t n_left = 0;
        int axis = 0;
        Word low = 0;     // smallest key on the axis
        Word bound = 0;   // points below it are left
        Word number = 0;  // so are those at the bound with smaller numbers
    };

    template <class IsOpen>
    void take_open(const IsOpen& is_open) {
        cuts_.clear();
        for (size_t i = 0; i < share_.nodes.size(); ++i) {
            const SplitNode& node = share_.nodes[i];
            const int64_t left = rule_.left(node.n_point, node.depth);
            if (left > 0 && left < node.n_point && is_open(node))
                cuts_.push_back({.node = i, .n_left = left});
        }
        ends_.resize(cuts_.size() * n_end);
        by_coordinate_.resize(cuts_.size());
    }

    SplitNode& node_of(const Cut& cut) { return share_.nodes[cut.node]; }

    std::span<const Record> points_of(const SplitNode& node) {
        return {share_.points(node), static_cast<size_t>(node.n_own)};
    }
    std::span<const Record> points_of(const SplitNode& node, Range range) {
        return points_of(node).subspan(static_cast<size_t>(range.begin),
                                       static_cast<size_t>(range.size()));
    }

    // Keys as integers with sign, for reductions.
    static int64_t signed_key(Word key) {
        return static_cast<int64_t>(static_cast<uint64_t>(key) ^ uint64_t{1} << 63);
    }
    static Word key_of_signed(int64_t key) {
        return static_cast<Word>(static_cast<uint64_t>(key) ^ uint64_t{1} << 63);
    }

    void find_boxes() {
        for (size_t c = 0; c < cuts_.size(); ++c) {
            const SplitNode& node = node_of(cuts_[c]);
            for_thread_shares(queue_, node.n_own, [&](Range range, size_t part) {
                parts_[part].box = Box<Record>(points_of(node, range));
            });
            Box<Record> box;
            for (const Part& part : parts_) box.join(part.box);
            for (size_t axis = 0; axis < Record::n_axis; ++axis) {
                ends_[c * n_end + 2 * axis] = signed_key(box.high[axis]);
                ends_[c * n_end + 2 * axis + 1] = ~signed_key(box.low[axis]);
            }
        }
    }

    void find_axes() {
        for (size_t c = 0; c < cuts_.size(); ++c) {
            Box<Record> box;
            for (size_t axis = 0; axis < Record::n_axis; ++axis) {
                box.high[axis] = key_of_signed(ends_[c * n_end + 2 * axis]);
                box.low[axis] = key_of_signed(~ends_[c * n_end + 2 * axis + 1]);
            }
            Cut& cut = cuts_[c];
            const int axis = cut.axis = box.widest();
            const Word low = cut.low = box.low[axis];
            const SplitNode& node = node_of(cut);
            for_thread_shares(queue_, node.n_own, [&](Range range, size_t) {
                uint64_t* to = values_.data() + node.begin + range.begin;
                for (const Record& point : points_of(node, range)) *to++ = point.x[axis] - low;
            });
            by_coordinate_[c] = {.values = values_of(node, node.n_own),
                                 .n_bit = static_cast<int>(std::bit_width(
                                     static_cast<Word>(box.high[axis] - box.low[axis]))),
                                 .n_left = cut.n_left};
        }
    }

    std::span<uint64_t> values_of(const SplitNode& node, int64_t n) {
        return {values_.data() + node.begin, static_cast<size_t>(n)};
    }

    /// Returns whether points at the bound are on both sides of the cut.
    bool is_tied(size_t c) const { return by_coordinate_[c].n_below < cuts_[c].n_left; }

    void find_tied() {
        by_id_.clear();
        for (size_t c = 0; c < cuts_.size(); ++c) {
            Cut& cut = cuts_[c];
            cut.bound = static_cast<Word>(cut.low + by_coordinate_[c].bound);
            if (!is_tied(c)) continue;
            const SplitNode& node = node_of(cut);
            int64_t n = 0;
            for (const Record& point : points_of(node)) {
                if (point.x[cut.axis] != cut.bound) continue;
                values_[node.begin + n++] = static_cast<uint64_t>(share_.ids.id(point.number)) -
                                            static_cast<uint64_t>(survey_.first_id);
            }
            by_id_.push_back({.values = values_of(node, n),
                              .n_bit = survey_.n_id_bit,
                              .n_left = cut.n_left - by_coordinate_[c].n_below});
        }
    }

    void make_children() {
        std::vector<SplitNode> nodes;
        nodes.reserve(share_.nodes.size() + cuts_.size());
        size_t n_done = 0, n_tied = 0;
        for (size_t i = 0; i < share_.nodes.size(); ++i) {
            const SplitNode& node = share_.nodes[i];
            if (n_done == cuts_.size() || cuts_[n_done].node != i) {
                nodes.push_back(node);
                continue;
            }
            Cut& cut = cuts_[n_done];
            if (is_tied(n_done++)) {
                const uint64_t id =
                    static_cast<uint64_t>(survey_.first_id) + by_id_[n_tied++].bound;
                cut.number = static_cast<Word>(share_.ids.n_below(static_cast<int64_t>(id)));
            }
            const int64_t left = cut.n_left, own_left = partition(node, cut);
            nodes.push_back({node.first, left, node.depth + 1, cut.axis, node.begin, own_left,
                             !node.is_in_spare});
            nodes.push_back({node.first + left, node.n_point - left, node.depth + 1, cut.axis,
                             node.begin + own_left, node.n_own - own_left, !node.is_in_spare});
        }
        share_.nodes = std::move(nodes);
    }

    /// Copies the points of a node to the other buffer, left points first. Returns the number of
    /// left ones.
    int64_t partition(const SplitNode& node, const Cut& cut) {
        const auto bound = Record::join(cut.bound, cut.number);
        const auto is_left = [&](const Record& point) { return point.key(cut.axis) < bound; };
        for_thread_shares(queue_, node.n_own, [&](Range range, size_t part) {
            int64_t n = 0;
            for (const Record& point : points_of(node, range)) n += is_left(point);
            parts_[part].left = n;
            parts_[part].right = range.size() - n;
        });
        int64_t n_left = 0;
        for (Part& part : parts_) n_left += std::exchange(part.left, n_left);
        int64_t right = n_left;
        for (Part& part : parts_) right += std::exchange(part.right, right);
        Record* const to = share_.room(node);
        for_thread_shares(queue_, node.n_own, [&](Range range, size_t part) {
            int64_t to_left = parts_[part].left, to_right = parts_[part].right;
            for (const Record& point : points_of(node, range)) {
                // Arithmetic: a branch would be guessed wrong half of the time.
                const int64_t goes_left = is_left(point);
                to[to_right ^ ((to_left ^ to_right) & -goes_left)] = point;
                to_left += goes_left;
                to_right += 1 - goes_left;
            }
        });
        return n_left;
    }

    /// Counts of a thread's part of a node, and the destination of its points.
    struct Part {
        Box<Record> box;
        int64_t left = 0, right = 0;
    };
    static constexpr size_t n_end = 2 * Record::n_axis;

    Communicator& comm_;
    const kernels::Queue& queue_;
    const SplitRule& rule_;
    const SplitSurvey& survey_;
    SplitShare<Record>& share_;
    kernels::Buffer<uint64_t> values_;  // (n_local): what is selected from
    std::vector<Part> parts_;           // (n_thread)
    std::vector<Cut> cuts_;
    std::vector<int64_t>
        ends_;  // (n_cut, n_axis, 2): the largest key; the complement of the smallest
    std::vector<Selection> by_coordinate_, by_id_;  // the latter of cuts with ties
};

}  // namespace surrogate::impl
