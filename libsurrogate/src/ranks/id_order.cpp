// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/id_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl {

namespace {

struct Item {
    uint64_t key;
    int64_t row;
};
constexpr int digit_bits = 11;
constexpr uint64_t digit_mask = (uint64_t{1} << digit_bits) - 1;

/// One pass of a radix sort: items in the order of a digit, equal ones as they were.
void sort_by_digit(const std::vector<Item>& from, std::vector<Item>& to, int shift) {
    std::array<int64_t, digit_mask + 1> next{};
    for (const Item& item : from) ++next[(item.key >> shift) & digit_mask];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), int64_t{0});
    for (const Item& item : from)
        to[static_cast<size_t>(next[(item.key >> shift) & digit_mask]++)] = item;
}

/// Keys are ids less the smallest one: dense ids have few digits.
std::vector<Item> sorted_items(std::span<const int64_t> ids) {
    const auto [low, high] = std::ranges::minmax(ids);
    const auto origin = static_cast<uint64_t>(low);
    std::vector<Item> items(ids.size()), spare(ids.size());
    for (size_t i = 0; i < ids.size(); ++i)
        items[i] = {static_cast<uint64_t>(ids[i]) - origin, static_cast<int64_t>(i)};
    const uint64_t range = static_cast<uint64_t>(high) - origin;
    for (int shift = 0; shift < 64 && range >> shift > 0; shift += digit_bits) {
        sort_by_digit(items, spare, shift);
        items.swap(spare);
    }
    return items;
}

}  // namespace

IdOrder::IdOrder(std::span<const int64_t> ids) : sorted_(ids) {
    if (std::ranges::is_sorted(ids)) return;
    const std::vector<Item> items = sorted_items(ids);
    storage_.resize(ids.size());
    rows_.resize(ids.size());
    for (size_t i = 0; i < items.size(); ++i) {
        rows_[i] = items[i].row;
        storage_[i] = ids[static_cast<size_t>(items[i].row)];
    }
    sorted_ = storage_;
}

int64_t IdOrder::n_below(int64_t id) const {
    return std::ranges::lower_bound(sorted_, id) - sorted_.begin();
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

    /// Also refuses ids that are equal on one rank.
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
