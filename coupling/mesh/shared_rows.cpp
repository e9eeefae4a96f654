// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/shared_rows.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace surrogate::tool {

namespace {

using Bytes = std::vector<std::byte>;

template <class T>
std::vector<Bytes> packed(const std::vector<std::vector<T>>& lists) {
    std::vector<Bytes> result(lists.size());
    for (size_t r = 0; r < lists.size(); ++r) {
        result[r].resize(lists[r].size() * sizeof(T));
        if (!lists[r].empty()) std::memcpy(result[r].data(), lists[r].data(), result[r].size());
    }
    return result;
}

template <class T>
std::vector<std::vector<T>> exchanged(const Job& job, const std::vector<std::vector<T>>& lists) {
    const std::vector<Bytes> bytes = job.exchange(packed(lists));
    std::vector<std::vector<T>> result(bytes.size());
    for (size_t r = 0; r < bytes.size(); ++r) {
        result[r].resize(bytes[r].size() / sizeof(T));
        if (!result[r].empty()) std::memcpy(result[r].data(), bytes[r].data(), bytes[r].size());
    }
    return result;
}

/// A key as words, in which equal means bitwise identical: [words to match][values][ghost].
struct KeyLayout {
    size_t n_match, n_values;
    size_t width() const { return n_match + n_values + 1; }
};

uint64_t word(double value) {
    return std::bit_cast<uint64_t>(value + 0.0);  // -0 becomes 0
}

void append_key(const RowKeys& keys, size_t row, std::vector<uint64_t>& words) {
    if (keys.has_ids) {
        words.push_back(static_cast<uint64_t>(keys.ids[row]));
    } else {
        for (size_t c = 0; c < 3; ++c) words.push_back(word(keys.x[3 * row + c]));
        for (const auto& values : keys.values) words.push_back(word(values[row]));
    }
    words.push_back(keys.is_ghost[row]);
}

/// Mixing step of Steele, Lea and Flood ("SplitMix"), which distributes coordinates of a grid
/// evenly over the ranks.
uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

size_t keeper_of(const uint64_t* key, size_t n_match, size_t n_ranks) {
    uint64_t hash = 0;
    for (size_t k = 0; k < n_match; ++k) hash = mixed(hash + key[k] + 0x9e3779b97f4a7c15u);
    return static_cast<size_t>(hash % n_ranks);
}

/// A row on the rank that keeps its key: the sending rank, and the index of the row in its message.
struct Entry {
    int32_t rank;
    int64_t index;
};

}  // namespace

/// Groups equal keys on the rank that keeps them, and replies with the chosen row for each entry.
class SharedRows::Keeper {
public:
    Keeper(const KeyLayout& layout, const std::vector<std::vector<uint64_t>>& keys)
        : layout_(layout), keys_(keys) {
        for (size_t rank = 0; rank < keys.size(); ++rank) {
            const size_t n = keys[rank].size() / layout.width();
            answers.emplace_back(n);
            for (size_t i = 0; i < n; ++i)
                entries_.push_back({static_cast<int32_t>(rank), static_cast<int64_t>(i)});
        }
        // Stable: entries of equal keys stay in the order of ranks and rows.
        std::stable_sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
            return std::lexicographical_compare(key(a), key(a) + layout_.width(), key(b),
                                                key(b) + layout_.width());
        });
        for (size_t begin = 0; begin < entries_.size();) begin = answer_place(begin);
    }

    std::vector<std::vector<Choice>> answers;
    int64_t n_split = 0;

private:
    const uint64_t* key(const Entry& entry) const {
        return keys_[static_cast<size_t>(entry.rank)].data() +
               static_cast<size_t>(entry.index) * layout_.width();
    }
    bool is_ghost(const Entry& entry) const { return key(entry)[layout_.width() - 1] != 0; }
    bool is_equal(const Entry& a, const Entry& b, size_t n_words) const {
        return std::equal(key(a), key(a) + n_words, key(b));
    }
    void answer(const Entry& entry, const Entry& chosen) {
        answers[static_cast<size_t>(entry.rank)][static_cast<size_t>(entry.index)] = {chosen.rank,
                                                                                      chosen.index};
    }

    /// Processes all entries that match (one id, or one position) from `begin` on. Returns their
    /// end.
    size_t answer_place(size_t begin) {
        size_t end = begin;
        while (end < entries_.size() && is_equal(entries_[begin], entries_[end], layout_.n_match))
            ++end;
        const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(end);
        const auto original =
            std::find_if(first, last, [this](const Entry& e) { return !is_ghost(e); });
        int64_t n_groups = 0;
        for (auto group = first; group != last;) {
            const size_t n_words = layout_.n_match + layout_.n_values;
            auto group_end = group;
            while (group_end != last && is_equal(*group, *group_end, n_words)) ++group_end;
            // After sorting, the originals of a group precede its ghosts. A group of ghosts without
            // an original gets the values of an original at the same position, or counts as a row
            // of its own if there is none on any rank.
            const bool has_original = !is_ghost(*group);
            const Entry chosen = has_original || original == last ? *group : *original;
            for (auto e = group; e != group_end; ++e) answer(*e, chosen);
            n_groups += has_original ? 1 : 0;
            group = group_end;
        }
        n_split += std::max<int64_t>(0, n_groups - 1);
        return end;
    }

    KeyLayout layout_;
    const std::vector<std::vector<uint64_t>>& keys_;
    std::vector<Entry> entries_;
};

SharedRows::SharedRows(const Job& job, const RowKeys& keys, int64_t n) : n_(n) {
    const auto n_ranks = static_cast<size_t>(job.size());
    const KeyLayout layout = {keys.has_ids ? size_t{1} : size_t{3},
                              keys.has_ids ? size_t{0} : keys.values.size()};
    std::vector<std::vector<uint64_t>> to_keeper(n_ranks);
    std::vector<std::vector<int64_t>> sent_rows(n_ranks);  // local rows, in the order sent
    std::vector<uint64_t> key;
    for (int64_t row = 0; row < n; ++row) {
        if (keys.is_hidden[static_cast<size_t>(row)]) continue;
        key.clear();
        append_key(keys, static_cast<size_t>(row), key);
        const size_t keeper = keeper_of(key.data(), layout.n_match, n_ranks);
        to_keeper[keeper].insert(to_keeper[keeper].end(), key.begin(), key.end());
        sent_rows[keeper].push_back(row);
    }
    const auto kept = exchanged(job, to_keeper);
    const Keeper keeper(layout, kept);
    n_split_ = job.sum(keeper.n_split);
    settle(job, sent_rows, exchanged(job, keeper.answers));
}

/// Rows that are their own choice are evaluated here. For other rows, the result is requested from
/// the rank of the chosen row. The request contains the keeper and the index under which that rank
/// sent the row.
void SharedRows::settle(const Job& job, const Lists& sent_rows,
                        const std::vector<std::vector<Choice>>& answers) {
    const size_t n_ranks = answers.size();
    std::vector<std::vector<Choice>> requests(n_ranks);  // to the chosen rank: {keeper, index}
    wanted_.resize(n_ranks);
    for (size_t k = 0; k < n_ranks; ++k)
        for (size_t i = 0; i < answers[k].size(); ++i) {
            const Choice& choice = answers[k][i];
            const int64_t row = sent_rows[k][i];
            if (choice.rank == job.rank() &&
                sent_rows[k][static_cast<size_t>(choice.index)] == row) {
                chosen_.push_back(row);
                continue;
            }
            requests[static_cast<size_t>(choice.rank)].push_back(
                {static_cast<int64_t>(k), choice.index});
            wanted_[static_cast<size_t>(choice.rank)].push_back(row);
        }
    std::sort(chosen_.begin(), chosen_.end());
    const auto asked = exchanged(job, requests);
    given_.resize(n_ranks);
    for (size_t r = 0; r < n_ranks; ++r)
        for (const Choice& ask : asked[r]) {
            const int64_t row =
                sent_rows[static_cast<size_t>(ask.rank)][static_cast<size_t>(ask.index)];
            given_[r].push_back(std::lower_bound(chosen_.begin(), chosen_.end(), row) -
                                chosen_.begin());
        }
}

std::vector<double> SharedRows::spread(const Job& job, const std::vector<double>& of_chosen) const {
    std::vector<std::vector<double>> answers(given_.size());
    for (size_t r = 0; r < given_.size(); ++r)
        for (const int64_t at : given_[r]) answers[r].push_back(of_chosen[static_cast<size_t>(at)]);
    const auto received = exchanged(job, answers);
    std::vector<double> all(static_cast<size_t>(n_), std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 0; i < chosen_.size(); ++i) all[static_cast<size_t>(chosen_[i])] = of_chosen[i];
    for (size_t r = 0; r < wanted_.size(); ++r)
        for (size_t i = 0; i < wanted_[r].size(); ++i)
            all[static_cast<size_t>(wanted_[r][i])] = received[r][i];
    return all;
}

}  // namespace surrogate::tool
