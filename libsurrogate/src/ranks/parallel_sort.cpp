// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/parallel_sort.hpp"

#include <algorithm>
#include <numeric>

namespace surrogate::impl {

namespace {

bool is_less(std::span<const uint64_t> a, std::span<const uint64_t> b) {
    return std::ranges::lexicographical_compare(a, b);
}

/// Indices of the keys in their order.
std::vector<int64_t> sorted_items(const SortKeys& keys) {
    struct Item {
        uint64_t first_word;  // beside the index: most comparisons need no look at the keys
        int64_t index;
    };
    std::vector<Item> items(static_cast<size_t>(keys.size()));
    for (int64_t i = 0; i < keys.size(); ++i) items[static_cast<size_t>(i)] = {keys[i][0], i};
    std::ranges::sort(items, [&](const Item& a, const Item& b) {
        return a.first_word != b.first_word ? a.first_word < b.first_word
                                            : is_less(keys[a.index], keys[b.index]);
    });
    std::vector<int64_t> indices(items.size());
    std::ranges::transform(items, indices.begin(), &Item::index);
    return indices;
}

SortKeys taken(const SortKeys& keys, std::span<const int64_t> items) {
    SortKeys result(std::ssize(items), keys.width);
    for (int64_t i = 0; i < result.size(); ++i)
        std::ranges::copy(keys[items[static_cast<size_t>(i)]], result[i].begin());
    return result;
}

/// Evenly spaced keys of one rank, n_sample of them if it has any. Behind each key stands the
/// number of keys of the rank, which is the weight of the sample.
SortKeys samples_of(const SortKeys& sorted, int64_t n_sample) {
    SortKeys samples(n_sample, sorted.width + 1);
    const int64_t n = sorted.size();
    for (int64_t s = 0; s < n_sample && n > 0; ++s) {
        std::ranges::copy(sorted[n * (2 * s + 1) / (2 * n_sample)], samples[s].begin());
        samples[s].back() = static_cast<uint64_t>(n);
    }
    return samples;
}

/// n_share - 1 keys that cut the samples into shares of about equal weight.
SortKeys splitters_of(const SortKeys& samples, int n_share) {
    const std::vector<int64_t> order = sorted_items(samples);
    const auto weight = [&](int64_t s) { return static_cast<double>(samples[s].back()); };
    double total = 0, seen = 0;
    for (const int64_t s : order) total += weight(s);

    SortKeys splitters(n_share - 1, samples.width - 1);
    std::ranges::fill(splitters.words, ~uint64_t{0});  // without any samples
    int64_t n = 0;
    for (const int64_t s : order) {
        while (n < splitters.size() &&
               seen + weight(s) > total * static_cast<double>(n + 1) / n_share) {
            std::copy_n(samples[s].begin(), splitters.width, splitters[n++].begin());
        }
        seen += weight(s);
    }
    return splitters;
}

/// Keys of each share: share r begins at splitter r - 1, so equal keys are of one share.
std::vector<int64_t> share_sizes(const SortKeys& sorted, const SortKeys& splitters) {
    std::vector<int64_t> sizes(static_cast<size_t>(splitters.size() + 1));
    int64_t share = 0;
    for (int64_t i = 0; i < sorted.size(); ++i) {
        while (share < splitters.size() && !is_less(sorted[i], splitters[share])) ++share;
        ++sizes[static_cast<size_t>(share)];
    }
    return sizes;
}

/// One parallel sort; its steps are called in this order by all ranks.
class SampleSort {
public:
    explicit SampleSort(Communicator& comm) : comm_(comm) {}

    void sort_own(SortKeys keys) {
        constexpr int64_t n_sample = 32;
        SortKeys own;
        comm_.agree([&] {
            items_ = sorted_items(keys);
            sorted_ = taken(keys, items_);
            own = samples_of(sorted_, n_sample);
            samples_ = SortKeys(n_sample * comm_.size(), own.width);
        });
        comm_.all_gather(own.words.data(), samples_.words.data(),
                         static_cast<int64_t>(std::span(own.words).size_bytes()));
    }

    void send_to_shares() {
        comm_.agree([&] {
            n_send_ = share_sizes(sorted_, splitters_of(samples_, comm_.size()));
            n_receive_.resize(n_send_.size());
        });
        comm_.all_to_all_counts(n_send_, n_receive_);
        comm_.agree([&] {
            const int64_t n = std::accumulate(n_receive_.begin(), n_receive_.end(), int64_t{0});
            share_ = SortKeys(n, sorted_.width);
            comm_.reserve_rows(n_send_, n_receive_, key_bytes());
        });
        comm_.all_to_all(sorted_.words.data(), n_send_, share_.words.data(), n_receive_,
                         key_bytes());
    }

    void sort_share(const RefuseEqual& refuse_equal) {
        std::vector<int64_t> order;
        comm_.agree([&] {
            order = sorted_items(share_);
            for (size_t i = 1; i < order.size(); ++i) {
                if (std::ranges::equal(share_[order[i - 1]], share_[order[i]]))
                    refuse_equal(share_[order[i]]);
            }
            share_positions_.resize(order.size());
        });
        int64_t position = comm_.exclusive_sum(std::ssize(order));
        for (const int64_t i : order) share_positions_[static_cast<size_t>(i)] = position++;
    }

    /// Returns every position to the rank and item that sent the key.
    std::vector<int64_t> return_positions() {
        std::vector<int64_t> returned, positions;
        comm_.agree([&] {
            returned.resize(items_.size());
            positions.resize(items_.size());
        });
        comm_.all_to_all(share_positions_.data(), n_receive_, returned.data(), n_send_,
                         sizeof(int64_t));
        for (size_t i = 0; i < items_.size(); ++i)
            positions[static_cast<size_t>(items_[i])] = returned[i];
        return positions;
    }

private:
    int64_t key_bytes() const { return sorted_.width * static_cast<int64_t>(sizeof(uint64_t)); }

    Communicator& comm_;
    std::vector<int64_t> items_;  // of the keys in sorted_
    SortKeys sorted_, samples_;
    std::vector<int64_t> n_send_, n_receive_;  // keys to and from each rank
    SortKeys share_;
    std::vector<int64_t> share_positions_;
};

}  // namespace

std::vector<int64_t> sorted_positions(Communicator& comm, SortKeys keys,
                                      const RefuseEqual& refuse_equal) {
    SampleSort sort(comm);
    sort.sort_own(std::move(keys));
    sort.send_to_shares();
    sort.sort_share(refuse_equal);
    return sort.return_positions();
}

std::vector<int64_t> stable_sorted_positions(Communicator& comm, const SortKeys& keys) {
    const int64_t first = comm.exclusive_sum(keys.size());
    SortKeys distinct;
    comm.agree([&] {
        distinct = SortKeys(keys.size(), keys.width + 1);
        for (int64_t i = 0; i < keys.size(); ++i) {
            std::ranges::copy(keys[i], distinct[i].begin());
            distinct[i].back() = static_cast<uint64_t>(first + i);
        }
    });
    return sorted_positions(comm, std::move(distinct), [](std::span<const uint64_t>) {
        throw Error(Status::internal, "stable sort: two items have the same place");
    });
}

}  // namespace surrogate::impl
