// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/id_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl {

IdOrder::IdOrder(std::span<const int64_t> ids) : sorted_(ids) {
    if (std::ranges::is_sorted(ids)) return;
    storage_.resize(ids.size());
    numbers_.resize(ids.size());
    sorted_ = storage_;
    if (!number_dense(ids)) number_sorted(ids);
}

/// By a table of all numbers from the smallest id to the largest one. Gives up if they are many
/// more than there are ids, or if two ids are equal.
bool IdOrder::number_dense(std::span<const int64_t> ids) {
    const auto [low, high] = std::ranges::minmax(ids);
    const auto origin = static_cast<uint64_t>(low);
    const uint64_t extent = static_cast<uint64_t>(high) - origin;
    if (extent / 4 >= ids.size()) return false;
    constexpr size_t none = 0;
    std::vector<size_t> rows(extent + 1, none);  // one more than the row
    for (size_t row = 0; row < ids.size(); ++row) {
        size_t& taken = rows[static_cast<uint64_t>(ids[row]) - origin];
        if (taken != none) return false;
        taken = row + 1;
    }
    uint64_t number = 0;
    for (uint64_t i = 0; i <= extent; ++i) {
        if (rows[i] == none) continue;
        storage_[number] = static_cast<int64_t>(origin + i);
        numbers_[rows[i] - 1] = number++;
    }
    return true;
}

void IdOrder::number_sorted(std::span<const int64_t> ids) {
    struct Item {
        int64_t id;
        size_t row;
    };
    std::vector<Item> items(ids.size());
    for (size_t row = 0; row < ids.size(); ++row) items[row] = {ids[row], row};
    std::ranges::sort(items, {}, &Item::id);
    for (size_t number = 0; number < items.size(); ++number) {
        storage_[number] = items[number].id;
        numbers_[items[number].row] = number;
    }
}

uint64_t IdOrder::n_below(int64_t id) const {
    return static_cast<uint64_t>(std::ranges::lower_bound(sorted_, id) - sorted_.begin());
}

namespace {

[[noreturn]] void refuse_equal(int64_t id) {
    throw Error(Status::invalid_argument,
                "global id " + std::to_string(id) + " is given twice; leave ghost points out");
}

/// The ids of a rank: n of them, in low .. high.
struct IdRange {
    int64_t n, low, high;
};

class DistinctIds {
public:
    DistinctIds(Communicator& comm, std::span<const int64_t> sorted)
        : comm_(comm), sorted_(sorted) {}

    /// Gathers the ranges of ids of all ranks. Throws if two ids of one rank are equal.
    void exchange_ranges() {
        const IdRange own = sorted_.empty()
                                ? IdRange{}
                                : IdRange{std::ssize(sorted_), sorted_.front(), sorted_.back()};
        comm_.agree([&] {
            const auto twice = std::ranges::adjacent_find(sorted_);
            if (twice != sorted_.end()) refuse_equal(*twice);
            ranges_.resize(static_cast<size_t>(comm_.size()));
        });
        comm_.all_gather(&own, ranges_.data(), sizeof own);
        std::erase_if(ranges_, [](const IdRange& range) { return range.n == 0; });
        std::ranges::sort(ranges_, {}, &IdRange::low);
    }

    bool overlap() const {
        return std::ranges::adjacent_find(ranges_, [](const IdRange& a, const IdRange& b) {
                   return a.high >= b.low;
               }) != ranges_.end();
    }

    /// Numbers from the smallest id to the largest one, less one.
    uint64_t extent() const {
        const int64_t high = std::ranges::max(ranges_, {}, &IdRange::high).high;
        return static_cast<uint64_t>(high) - static_cast<uint64_t>(ranges_.front().low);
    }

    bool is_dense() const {
        int64_t n = 0;
        for (const IdRange& range : ranges_) n += range.n;
        return extent() / 16 < static_cast<uint64_t>(n);
    }

    /// Rank r looks at `width` numbers, from r width on.
    void compare_by_number() {
        const auto low = static_cast<uint64_t>(ranges_.front().low);
        const uint64_t width = extent() / static_cast<uint64_t>(comm_.size()) + 1;
        std::vector<int64_t> n_send, n_receive, received;
        comm_.agree([&] {
            n_send.resize(static_cast<size_t>(comm_.size()));
            n_receive.resize(n_send.size());
            for (const int64_t id : sorted_) ++n_send[(static_cast<uint64_t>(id) - low) / width];
        });
        comm_.all_to_all_counts(n_send, n_receive);
        comm_.agree([&] {
            received.resize(static_cast<size_t>(
                std::accumulate(n_receive.begin(), n_receive.end(), int64_t{0})));
            comm_.reserve_rows(n_send, n_receive, sizeof(int64_t));
        });
        comm_.all_to_all(sorted_.data(), n_send, received.data(), n_receive, sizeof(int64_t));
        comm_.agree([&] {
            std::vector<bool> is_used(width);
            const uint64_t first = low + static_cast<uint64_t>(comm_.rank()) * width;
            for (const int64_t id : received) {
                const uint64_t number = static_cast<uint64_t>(id) - first;
                if (is_used[number]) refuse_equal(id);
                is_used[number] = true;
            }
        });
    }

    void compare_sorted() {
        SortKeys keys;
        comm_.agree([&] {
            keys = SortKeys(std::ssize(sorted_), 1);
            for (size_t i = 0; i < sorted_.size(); ++i)
                keys.words[i] = static_cast<uint64_t>(sorted_[i]);
        });
        sorted_positions(comm_, std::move(keys), [](std::span<const uint64_t> key) {
            refuse_equal(static_cast<int64_t>(key[0]));
        });
    }

private:
    Communicator& comm_;
    std::span<const int64_t> sorted_;
    std::vector<IdRange> ranges_;  // of the ranks that have ids, by their lowest id
};

}  // namespace

void require_distinct(Communicator& comm, const IdOrder& order) {
    DistinctIds ids(comm, order.sorted());
    ids.exchange_ranges();
    if (!ids.overlap()) return;
    if (ids.is_dense()) return ids.compare_by_number();
    ids.compare_sorted();
}

}  // namespace surrogate::impl
