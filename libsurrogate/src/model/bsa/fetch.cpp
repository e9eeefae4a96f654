// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/fetch.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

namespace surrogate::impl::bsa {

using kernels::bsa::KeyBlock;

namespace {

constexpr int64_t word_bits = 64;

/// Returns the first of the rows of round `round`, if n rows are divided into n_round rounds.
/// slice() returns their number.
int64_t slice_begin(int64_t n, int64_t round, int64_t n_round) {
    return n * round / n_round;
}
int64_t slice(int64_t n, int64_t round, int64_t n_round) {
    return slice_begin(n, round + 1, n_round) - slice_begin(n, round, n_round);
}

int64_t sum_of(const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

/// Largest numbers of requests between ranks: k blocks for each group and head, but not more than
/// exist. Every rank computes them for all ranks.
struct Bounds {
    std::span<const int64_t> slot_begins;
    int64_t l, g, n_head, n_choice;

    int64_t n_slot(size_t rank) const { return slot_begins[rank + 1] - slot_begins[rank]; }
    int64_t choices(size_t rank) const { return n_slot(rank) / g * n_head * n_choice; }
    int64_t pairs(size_t rank) const { return n_slot(rank) / l * n_head; }
    int64_t asked(size_t owner, size_t asker) const {
        return owner == asker ? 0 : std::min(choices(asker), pairs(owner));
    }
    int64_t n_asked(size_t owner) const {
        int64_t n = 0;
        for (size_t asker = 0; asker + 1 < slot_begins.size(); ++asker) n += asked(owner, asker);
        return n;
    }
    /// Returns the replies per round: they need no more memory than the rank's keys and values.
    int64_t room(size_t owner) const {
        return std::max<int64_t>(1, std::min(n_asked(owner), pairs(owner)));
    }
    int64_t rounds(size_t owner) const { return (n_asked(owner) + room(owner) - 1) / room(owner); }
    /// Returns the largest number of rounds. Ranks have at most two sizes: the size of the first
    /// and of the last rank.
    int64_t most_rounds() const { return std::max(rounds(0), rounds(slot_begins.size() - 2)); }
};

}  // namespace

template <class T>
Fetch<T>::Fetch(const Config& config, const kernels::Queue& queue, Communicator& comm,
                Workspace<T>& work)
    : config_(config),
      queue_(queue),
      comm_(comm),
      work_(work),
      reply_size_(2 * config.block_size * config.head_dim()) {}

template <class T>
void Fetch<T>::resize(std::span<const int64_t> slot_begins) {
    begins_.assign(slot_begins.begin(), slot_begins.end());
    for (int64_t& begin : begins_) begin /= config_.block_size;
    const auto rank = static_cast<size_t>(comm_.rank());
    own_ = {begins_[rank], begins_[rank + 1]};
    traffic_ = {};
    if (comm_.size() == 1) return;
    for (Counts* counts : {&n_want_, &n_asked_, &n_send_, &n_receive_})
        counts->assign(static_cast<size_t>(comm_.size()), 0);
    for (size_t r = 0; r + 1 < begins_.size(); ++r) {
        if ((begins_[r + 1] - begins_[r]) * config_.n_head <= std::numeric_limits<int32_t>::max())
            continue;
        throw Error(Status::limit, "rank " + std::to_string(r) + " has " +
                                       std::to_string(begins_[r + 1] - begins_[r]) +
                                       " blocks, expected at most 2^31 / " +
                                       std::to_string(config_.n_head) + " (heads); use more ranks");
    }
    const int64_t n_word = (begins_.back() * config_.n_head + word_bits - 1) / word_bits;
    wanted_.resize(n_word);
    before_.resize(n_word + 1);
    plan_room(slot_begins);
}

/// Allocates memory for the largest possible numbers of requests and replies.
template <class T>
void Fetch<T>::plan_room(std::span<const int64_t> slot_begins) {
    const Bounds bounds{slot_begins, config_.block_size, config_.group_size, config_.n_head,
                        work_.n_choice()};
    const auto me = static_cast<size_t>(comm_.rank());
    Counts ask(n_want_.size()), asked(n_want_.size());
    for (size_t r = 0; r < ask.size(); ++r) {
        ask[r] = bounds.asked(r, me);
        asked[r] = bounds.asked(me, r);
    }
    const int64_t n_ask = std::min(sum_of(ask), bounds.choices(me)), n_asked = sum_of(asked);
    if (n_ask > std::numeric_limits<int32_t>::max()) {
        throw Error(Status::limit,
                    "a rank may request " + std::to_string(n_ask) +
                        " blocks of keys, expected at most 2^31 - 1; use more ranks");
    }
    room_ = bounds.room(me);
    requests_.resize(n_ask);
    place_.resize(n_ask);
    asked_.resize(n_asked);
    // vector loads may read beyond a row
    received_.resize(n_ask * reply_size_ + kernels::lane_count);
    sent_.resize((room_ + comm_.size()) * reply_size_);
    const auto reply_bytes = reply_size_ * static_cast<int64_t>(sizeof(T));
    comm_.reserve_rows(ask, asked, sizeof(int32_t));
    comm_.reserve_rows(asked, ask, reply_bytes);
    traffic_ = {8 * (comm_.size() + 1) + 4 * n_ask + reply_bytes * n_asked,
                3 + bounds.most_rounds()};
}

template <class T>
bool Fetch<T>::exchange(bool is_good) {
    if (comm_.size() == 1) return is_good;
    std::fill(wanted_.begin(), wanted_.end(), uint64_t{0});
    if (is_good) mark_wanted();
    count_wanted();
    if (!is_good) std::fill(n_want_.begin(), n_want_.end(), int64_t{-1});
    comm_.all_to_all_counts(n_want_, n_asked_);
    if (std::ranges::find(n_asked_, -1) != n_asked_.end()) return false;

    int64_t n_round = (sum_of(n_asked_) + room_ - 1) / room_;
    comm_.all_reduce_max(std::span(&n_round, 1));
    list_requests();
    comm_.all_to_all(requests_.data(), n_want_, asked_.data(), n_asked_, sizeof(int32_t));
    for (int64_t round = 0; round < n_round; ++round) answer(round, n_round);
    const auto reply_bytes = reply_size_ * static_cast<int64_t>(sizeof(T));
    traffic_ = {8 * (comm_.size() + 1) + 4 * sum_of(n_want_) + reply_bytes * sum_of(n_asked_),
                3 + n_round};
    return true;
}

/// Sets a bit for every (block, head) that a group has chosen and that another rank owns.
template <class T>
void Fetch<T>::mark_wanted() {
    constexpr int64_t groups_at_once = 64;
    const int64_t n_group = work_.n_group();
    queue_.parallel_for((n_group + groups_at_once - 1) / groups_at_once, [&](int64_t item, int) {
        const int64_t end = std::min((item + 1) * groups_at_once, n_group);
        for (int64_t group = item * groups_at_once; group < end; ++group) {
            for (int64_t head = 0; head < config_.n_head; ++head) {
                for (int64_t i = 0; i < work_.n_choice(); ++i) {
                    const int64_t block = work_.chosen(group, head)[i];
                    if (is_own(block)) continue;
                    const int64_t pair = block * config_.n_head + head;
                    const std::atomic_ref word(wanted_[pair / word_bits]);
                    word.fetch_or(uint64_t{1} << pair % word_bits, std::memory_order_relaxed);
                }
            }
        }
    });
}

/// Sets before_ and n_want_.
template <class T>
void Fetch<T>::count_wanted() {
    before_[0] = 0;
    for (int64_t word = 0; word < wanted_.size(); ++word)
        before_[word + 1] = before_[word] + std::popcount(wanted_[word]);
    for (size_t r = 0; r < n_want_.size(); ++r) {
        n_want_[r] =
            index_of(begins_[r + 1] * config_.n_head) - index_of(begins_[r] * config_.n_head);
    }
}

/// Returns the number of requested pairs before this one.
template <class T>
int64_t Fetch<T>::index_of(int64_t pair) const {
    const int64_t word = pair / word_bits, bit = pair % word_bits;
    if (bit == 0) return before_[word];
    return before_[word] + std::popcount(wanted_[word] & ((uint64_t{1} << bit) - 1));
}

/// Lists the requests in ascending order, hence by owner.
template <class T>
void Fetch<T>::list_requests() {
    int64_t n = 0;
    size_t owner = 0;
    for (int64_t word = 0; word < wanted_.size(); ++word) {
        for (uint64_t bits = wanted_[word]; bits != 0; bits &= bits - 1) {
            const int64_t pair = word * word_bits + std::countr_zero(bits);
            while (pair >= begins_[owner + 1] * config_.n_head) ++owner;
            requests_[n++] = static_cast<int32_t>(pair - begins_[owner] * config_.n_head);
        }
    }
}

/// Exchanges the replies of one round. Sender and receiver of a pair of ranks compute the same
/// rows. Collective.
template <class T>
void Fetch<T>::answer(int64_t round, int64_t n_round) {
    int64_t n_row = 0, first = 0, n_want = 0, n_before = 0;
    for (size_t r = 0; r < n_asked_.size(); ++r) {
        n_send_[r] = slice(n_asked_[r], round, n_round);
        const int32_t* const pairs =
            asked_.data() + first + slice_begin(n_asked_[r], round, n_round);
        queue_.parallel_for(n_send_[r],
                            [&, to = sent_.data() + n_row * reply_size_](int64_t i, int) {
                                pack(pairs[i], to + i * reply_size_);
                            });
        n_row += n_send_[r];
        first += n_asked_[r];
        // Replies of earlier rounds are stored before the replies of this round.
        n_before += slice_begin(n_want_[r], round, n_round);
    }
    int64_t place = n_before;
    for (size_t r = 0; r < n_want_.size(); ++r) {
        n_receive_[r] = slice(n_want_[r], round, n_round);
        const int64_t begin = n_want + slice_begin(n_want_[r], round, n_round);
        for (int64_t i = 0; i < n_receive_[r]; ++i)
            place_[begin + i] = static_cast<int32_t>(place++);
        n_want += n_want_[r];
    }
    comm_.all_to_all(sent_.data(), n_send_, received_.data() + n_before * reply_size_, n_receive_,
                     reply_size_ * static_cast<int64_t>(sizeof(T)));
}

/// Copies keys (D, l) and values (D, l) of a (block, head) of this rank.
template <class T>
void Fetch<T>::pack(int64_t pair, T* to) const {
    const int64_t l = config_.block_size;
    const KeyBlock<const T> from = block(pair % config_.n_head, own_.begin + pair / config_.n_head);
    for (const T* field : {from.k, from.v}) {
        for (int64_t c = 0; c < config_.head_dim(); ++c)
            to = std::copy_n(field + c * from.row, l, to);
    }
}

template <class T>
KeyBlock<const T> Fetch<T>::block(int64_t head, int64_t block) const {
    const int64_t d = config_.head_dim(), l = config_.block_size;
    if (is_own(block)) {
        const kernels::Tiles<T> k = work_.k(), v = work_.v();
        const int64_t slot = (block - own_.begin) * l, channel = head * d * k.row;
        return {k.column(slot) + channel, v.column(slot) + channel, k.row};
    }
    const T* const reply =
        received_.data() +
        static_cast<int64_t>(place_[index_of(block * config_.n_head + head)]) * reply_size_;
    return {reply, reply + d * l, l};
}

template <class T>
int64_t Fetch<T>::bytes() const {
    return wanted_.bytes() + before_.bytes() + requests_.bytes() + asked_.bytes() + place_.bytes() +
           sent_.bytes() + received_.bytes();
}

template class Fetch<float>;
template class Fetch<double>;

}  // namespace surrogate::impl::bsa
