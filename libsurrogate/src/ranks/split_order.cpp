// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/split_order.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "libsurrogate/src/ranks/split_exchange.hpp"
#include "libsurrogate/src/ranks/split_finish.hpp"

namespace surrogate::impl {

namespace {

/// One computation of positions, with records that suit the points.
template <class Record>
class SplitOrder {
public:
    using Word = typename Record::Word;

    SplitOrder(Communicator& comm, const kernels::Queue& queue, const SplitRule& rule,
               std::span<const int64_t> begins, const SplitSurvey& survey)
        : comm_(comm), queue_(queue), rule_(rule), begins_(begins), survey_(survey) {}

    std::vector<int64_t> positions(const SplitPoints& points) {
        SplitShare<Record> own;
        load(points, own);
        return comm_.size() == 1 ? finished(own) : split_over_ranks(own);
    }

private:
    void load(const SplitPoints& points, SplitShare<Record>& own) {
        comm_.agree([&] { own.ids = IdOrder(points.ids); });
        require_distinct(comm_, own.ids);
        const int64_t n = std::ssize(points.ids);
        comm_.agree([&] {
            own.records = kernels::Buffer<Record>(n);
            own.spare = kernels::Buffer<Record>(n);
            own.nodes.assign(1, {.n_point = survey_.n_point, .n_own = n});
        });
        for_thread_shares(queue_, n, [&](Range rows, size_t) {
            for (int64_t row = rows.begin; row < rows.end; ++row) {
                Record& record = own.records[row];
                for (int axis = 0; axis < Record::n_axis; ++axis)
                    record.x[axis] = key_of<Word>(points.x[static_cast<size_t>(axis * n + row)]);
                record.number = static_cast<Word>(own.ids.number(row));
            }
        });
    }

    std::vector<int64_t> finished(SplitShare<Record>& share) {
        std::vector<int64_t> positions;
        comm_.agree([&] {
            positions = share.in_rows(queue_, finish_share(queue_, rule_, survey_, share));
        });
        return positions;
    }

    /// Nodes that span ranks are cut, until they are small beside a rank's share.
    std::vector<int64_t> split_over_ranks(SplitShare<Record>& own) {
        const int64_t limit = survey_.n_point / (8 * comm_.size());
        SplitLevels<Record>(comm_, queue_, rule_, survey_, own).cut([&](const SplitNode& node) {
            const int64_t last = node.first + node.n_point - 1;
            return node.n_point > limit && holder(node.first) != holder(last);
        });
        std::vector<int> worker;
        comm_.agree([&] {
            for (const SplitNode& node : own.nodes)
                worker.push_back(holder(node.first + node.n_point / 2));
        });
        SplitExchange<Record> exchange(comm_, queue_, own, worker);
        SplitShare<Record> share = exchange.send();
        std::vector<int64_t> by_number = exchange.give_back(finished(share));
        std::vector<int64_t> positions;
        comm_.agree([&] { positions = own.in_rows(queue_, std::move(by_number)); });
        return positions;
    }

    /// The rank that holds a position.
    int holder(int64_t position) const {
        return static_cast<int>(std::ranges::upper_bound(begins_, position) - begins_.begin()) - 1;
    }

    Communicator& comm_;
    const kernels::Queue& queue_;
    const SplitRule& rule_;
    std::span<const int64_t> begins_;
    const SplitSurvey& survey_;
};

}  // namespace

std::vector<int64_t> split_positions(Communicator& comm, const kernels::Queue& queue,
                                     const SplitPoints& points, const SplitRule& rule,
                                     std::span<const int64_t> begins) {
    const SplitSurvey survey = surveyed(comm, queue, points);
    comm.agree([&] {
        if (std::ssize(begins) == comm.size() + 1 && begins.back() == survey.n_point) return;
        throw Error(Status::internal, "a tree of " + std::to_string(survey.n_point) +
                                          " points: the ranks' positions are others");
    });
    if (survey.n_point == 0) return {};
    const auto run = [&]<class Record>(Record) {
        return SplitOrder<Record>(comm, queue, rule, begins, survey).positions(points);
    };
    const auto run_words = [&]<class Word>(Word) {
        return points.n_axis == 1   ? run(SplitRecord<Word, 1>{})
               : points.n_axis == 2 ? run(SplitRecord<Word, 2>{})
                                    : run(SplitRecord<Word, 3>{});
    };
    return survey.is_single ? run_words(uint32_t{}) : run_words(uint64_t{});
}

}  // namespace surrogate::impl
