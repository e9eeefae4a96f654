// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/split_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "libsurrogate/src/ranks/split_levels.hpp"
#include "libsurrogate/src/ranks/split_subtree.hpp"
#include "libsurrogate/src/ranks/split_survey.hpp"

namespace surrogate::impl {

namespace {

/// Positions of the points with each number: large nodes are cut by all threads, the others by one.
template <class Record>
std::vector<int64_t> finished(const kernels::Queue& queue, const SplitRule& rule,
                              const IdOrder& ids, const SplitSurvey& survey,
                              std::vector<SplitNode> nodes, std::span<Record> records,
                              std::span<Record> spare) {
    std::vector<int64_t> positions(records.size());
    if (queue.n_thread() > 1) {
        constexpr int64_t small = 2000;  // not worth a barrier
        const int64_t limit = std::max(small, std::ssize(records) / (8 * queue.n_thread()));
        const auto alone = self_communicator();
        nodes = SplitLevels<Record>(*alone, queue, rule, ids, survey.first_id, survey.n_id_bit)
                    .cut(std::move(nodes), records, spare,
                         [&](const SplitNode& node) { return node.n_point > limit; });
    }
    queue.parallel_for(std::ssize(nodes), [&](int64_t i, int) {
        const SplitNode& node = nodes[static_cast<size_t>(i)];
        SplitSubtree<Record>(rule, positions.data())
            .finish(node, records.data() + node.begin, spare.data() + node.begin);
    });
    return positions;
}

/// One computation of positions; its steps are called in this order by all ranks.
template <class Record>
class SplitOrder {
public:
    using Word = typename Record::Word;

    SplitOrder(Communicator& comm, const kernels::Queue& queue, const SplitPoints& points,
               const SplitRule& rule, std::span<const int64_t> begins, const SplitSurvey& survey)
        : comm_(comm),
          queue_(queue),
          points_(points),
          rule_(rule),
          begins_(begins),
          survey_(survey) {}

    void load() {
        comm_.agree([&] { ids_ = IdOrder(points_.ids); });
        require_distinct(comm_, ids_);
        comm_.agree([&] {
            const int64_t n = std::ssize(points_.ids);
            records_ = kernels::Buffer<Record>(n);
            spare_ = kernels::Buffer<Record>(n);
            queue_.parallel_for(n, [&](int64_t number, int) {
                const int64_t row = ids_.row(static_cast<uint64_t>(number));
                for (int axis = 0; axis < Record::n_axis; ++axis) {
                    records_[number].x[axis] =
                        key_of<Word>(points_.x[static_cast<size_t>(axis * n + row)]);
                }
                records_[number].number = static_cast<Word>(number);
            });
            nodes_.assign(1, {.n_point = survey_.n_point, .n_own = n});
        });
    }

    std::vector<int64_t> positions_alone() {
        std::vector<int64_t> positions;
        comm_.agree([&] {
            positions = in_rows(
                finished<Record>(queue_, rule_, ids_, survey_, nodes_, all(records_), all(spare_)));
        });
        return positions;
    }

    /// Nodes that span several ranks: of the others, each rank has about its share.
    void cut_large_nodes() {
        const int64_t limit = survey_.n_point / (8 * comm_.size());
        SplitLevels<Record> levels(comm_, queue_, rule_, ids_, survey_.first_id, survey_.n_id_bit);
        nodes_ =
            levels.cut(std::move(nodes_), all(records_), all(spare_), [&](const SplitNode& node) {
                return node.n_point > limit &&
                       holder(node.first) != holder(node.first + node.n_point - 1);
            });
    }

    void send_to_workers() {
        comm_.agree([&] { pack(); });
        comm_.all_to_all(n_own_.data(), n_node_, n_arriving_.data(), n_mine_, sizeof(int64_t));
        comm_.agree([&] {
            count_arrivals();
            arrived_ = kernels::Buffer<Travelling>(
                std::accumulate(n_receive_.begin(), n_receive_.end(), int64_t{0}));
            comm_.reserve_rows(n_send_, n_receive_, sizeof(Travelling));
        });
        comm_.all_to_all(sent_.data(), n_send_, arrived_.data(), n_receive_, sizeof(Travelling));
    }

    void finish_arrived() {
        comm_.agree([&] {
            unpack();
            arrived_positions_ = in_rows(
                finished<Record>(queue_, rule_, ids_, survey_, nodes_, all(records_), all(spare_)));
            returned_.resize(sent_rows_.size());
            positions_.resize(sent_rows_.size());
            comm_.reserve_rows(n_receive_, n_send_, sizeof(int64_t));
        });
    }

    std::vector<int64_t> return_positions() {
        comm_.all_to_all(arrived_positions_.data(), n_receive_, returned_.data(), n_send_,
                         sizeof(int64_t));
        for (size_t i = 0; i < sent_rows_.size(); ++i)
            positions_[static_cast<size_t>(sent_rows_[i])] = returned_[i];
        return std::move(positions_);
    }

private:
    /// A point on its way to the rank that finishes its node.
    struct Travelling {
        int64_t id;
        Word x[Record::n_axis];
    };

    static std::span<Record> all(kernels::Buffer<Record>& records) {
        return {records.data(), static_cast<size_t>(records.size())};
    }

    int holder(int64_t position) const {
        return static_cast<int>(std::ranges::upper_bound(begins_, position) - begins_.begin()) - 1;
    }
    /// The rank that finishes a node; nodes are in the order of their ranks.
    int worker(const SplitNode& node) const { return holder(node.first + node.n_point / 2); }

    /// From numbers of ids to rows.
    std::vector<int64_t> in_rows(std::vector<int64_t> by_number) const {
        if (ids_.is_in_rows()) return by_number;
        std::vector<int64_t> by_row(by_number.size());
        for (size_t number = 0; number < by_number.size(); ++number)
            by_row[static_cast<size_t>(ids_.row(number))] = by_number[number];
        return by_row;
    }

    void pack() {
        const auto size = static_cast<size_t>(comm_.size());
        n_send_.assign(size, 0);
        n_receive_.assign(size, 0);
        n_node_.assign(size, 0);
        n_own_.clear();
        for (const SplitNode& node : nodes_) {
            const auto to = static_cast<size_t>(worker(node));
            ++n_node_[to];
            n_send_[to] += node.n_own;
            n_own_.push_back(node.n_own);
        }
        n_mine_.assign(size, n_node_[static_cast<size_t>(comm_.rank())]);
        n_arriving_.resize(size * static_cast<size_t>(n_mine_[0]));
        comm_.reserve_rows(n_node_, n_mine_, sizeof(int64_t));
        sent_ = kernels::Buffer<Travelling>(records_.size());
        sent_rows_.resize(static_cast<size_t>(records_.size()));
        queue_.parallel_for(records_.size(), [&](int64_t i, int) {
            sent_[i].id = ids_.id(records_[i].number);
            std::copy_n(records_[i].x, Record::n_axis, sent_[i].x);
            sent_rows_[static_cast<size_t>(i)] = ids_.row(records_[i].number);
        });
        records_ = {};
        spare_ = {};
    }

    /// Of this rank's nodes: where their points begin, and how many there are from each rank.
    void count_arrivals() {
        std::erase_if(nodes_, [&](const SplitNode& node) { return worker(node) != comm_.rank(); });
        const size_t n_mine = nodes_.size();
        for (size_t r = 0; r < n_receive_.size(); ++r) {
            const auto counts = std::span(n_arriving_).subspan(r * n_mine, n_mine);
            n_receive_[r] = std::accumulate(counts.begin(), counts.end(), int64_t{0});
        }
        int64_t begin = 0;
        for (SplitNode& node : nodes_) {
            node.begin = begin;
            node.n_own = node.n_point;
            begin += node.n_point;
        }
    }

    /// What arrived, by node and not by rank.
    void unpack() {
        sent_ = {};
        const int64_t n = arrived_.size();
        arrived_ids_.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) arrived_ids_[static_cast<size_t>(i)] = arrived_[i].id;
        ids_ = IdOrder(arrived_ids_);
        std::vector<Word> numbers(static_cast<size_t>(n));
        for (int64_t number = 0; number < n; ++number) {
            numbers[static_cast<size_t>(ids_.row(static_cast<uint64_t>(number)))] =
                static_cast<Word>(number);
        }
        records_ = kernels::Buffer<Record>(n);
        spare_ = kernels::Buffer<Record>(n);
        std::vector<int64_t> next;
        for (const SplitNode& node : nodes_) next.push_back(node.begin);
        int64_t row = 0;
        for (size_t run = 0; run < n_arriving_.size(); ++run) {
            int64_t& to = next[run % next.size()];
            for (int64_t i = 0; i < n_arriving_[run]; ++i, ++row, ++to) {
                std::copy_n(arrived_[row].x, Record::n_axis, records_[to].x);
                records_[to].number = numbers[static_cast<size_t>(row)];
            }
        }
        arrived_ = {};
    }

    Communicator& comm_;
    const kernels::Queue& queue_;
    const SplitPoints& points_;
    const SplitRule& rule_;
    std::span<const int64_t> begins_;
    const SplitSurvey& survey_;

    IdOrder ids_;  // of this rank's points; once they have arrived, of those
    kernels::Buffer<Record> records_, spare_;
    std::vector<SplitNode> nodes_;
    std::vector<int64_t> n_send_, n_receive_;   // points to and from each rank
    std::vector<int64_t> n_node_, n_own_;       // nodes of each rank; points of each node
    std::vector<int64_t> n_mine_, n_arriving_;  // nodes here; points from each rank of each
    kernels::Buffer<Travelling> sent_, arrived_;
    std::vector<int64_t> sent_rows_, arrived_ids_, arrived_positions_, returned_, positions_;
};

template <class Word, int n_axis>
std::vector<int64_t> positions_of(Communicator& comm, const kernels::Queue& queue,
                                  const SplitPoints& points, const SplitRule& rule,
                                  std::span<const int64_t> begins, const SplitSurvey& survey) {
    SplitOrder<SplitRecord<Word, n_axis>> order(comm, queue, points, rule, begins, survey);
    order.load();
    if (comm.size() == 1) return order.positions_alone();
    order.cut_large_nodes();
    order.send_to_workers();
    order.finish_arrived();
    return order.return_positions();
}

}  // namespace

std::vector<int64_t> split_positions(Communicator& comm, const kernels::Queue& queue,
                                     const SplitPoints& points, const SplitRule& rule,
                                     std::span<const int64_t> begins) {
    const SplitSurvey survey = surveyed(comm, queue, points);
    comm.agree([&] {
        if (std::ssize(begins) == comm.size() + 1 && begins.back() == survey.n_point &&
            points.n_axis >= 1 && points.n_axis <= 3)
            return;
        throw Error(Status::internal, "a tree of " + std::to_string(survey.n_point) +
                                          " points in " + std::to_string(points.n_axis) +
                                          " axes, and begins that do not fit");
    });
    if (survey.n_point == 0) return {};
    const auto run = [&]<class Word>(Word) {
        if (points.n_axis == 1)
            return positions_of<Word, 1>(comm, queue, points, rule, begins, survey);
        if (points.n_axis == 2)
            return positions_of<Word, 2>(comm, queue, points, rule, begins, survey);
        return positions_of<Word, 3>(comm, queue, points, rule, begins, survey);
    };
    return survey.is_single ? run(uint32_t{}) : run(uint64_t{});
}

}  // namespace surrogate::impl
