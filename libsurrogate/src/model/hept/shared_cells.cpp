// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/shared_cells.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace surrogate::impl::hept {

int SharedCells::rank_of(int64_t place) const {
    return static_cast<int>(std::ranges::upper_bound(places_, place) - places_.begin()) - 1;
}

bool SharedCells::is_shared(const RowCells::Cell& cell) const {
    const auto rank = static_cast<size_t>(rank_);
    return cell.place < places_[rank] || cell.place + cell.size > places_[rank + 1] ||
           cell.end - cell.begin != cell.size;
}

void SharedCells::add(int64_t row, const RowCells::Cell& cell, std::span<const int32_t> members) {
    own_.push_back({row, cell.place, cell.size, std::ssize(members_),
                    std::ssize(members_) + cell.end - cell.begin});
    members_.insert(members_.end(), members.begin() + cell.begin, members.begin() + cell.end);
}

namespace {

/// Items for each rank, in the order of ranks, and their number per rank; also used for received
/// items.
template <class T>
struct Parcel {
    std::vector<T> items;
    std::vector<int64_t> counts;  // (size)

    void begin_rank() { counts.push_back(-std::ssize(items)); }
    void end_rank() { counts.back() += std::ssize(items); }
};

template <class T>
Parcel<T> exchanged(Communicator& comm, const Parcel<T>& sent) {
    Parcel<T> received;
    comm.agree([&] { received.counts.resize(sent.counts.size()); });
    comm.all_to_all_counts(sent.counts, received.counts);
    comm.agree([&] {
        received.items.resize(static_cast<size_t>(
            std::accumulate(received.counts.begin(), received.counts.end(), int64_t{0})));
        comm.reserve_rows(sent.counts, received.counts, sizeof(T));
    });
    comm.all_to_all(sent.items.data(), sent.counts, received.items.data(), received.counts,
                    sizeof(T));
    return received;
}

}  // namespace

/// Data sent to other ranks. `begin` and `end` of a part refer to `members` sent by the same rank;
/// members are indices of the ghost tokens sent to the receiver.
struct SharedCells::Letter {
    Parcel<TokenKey> visitors;
    Parcel<Part> parts;
    Parcel<int32_t> members;
};

/// Lists for each rank the parts and the ghost tokens to send.
void SharedCells::list_receivers(int size, int64_t n_own) {
    told_.assign(static_cast<size_t>(size), {});
    sent_.assign(static_cast<size_t>(size), {});
    for (int64_t i = 0; i < std::ssize(own_); ++i) {
        const Part& part = own_[static_cast<size_t>(i)];
        const int last = rank_of(part.place + part.size - 1);
        for (int r = rank_of(part.place); r <= last; ++r)
            if (r != rank_) told_[static_cast<size_t>(r)].push_back(i);
    }
    std::vector<bool> is_sent(static_cast<size_t>(n_own));
    for (int r = 0; r < size; ++r) {
        std::vector<int32_t>& sent = sent_[static_cast<size_t>(r)];
        for (const int64_t i : told(r)) {
            for (const int32_t token : members(own_[static_cast<size_t>(i)])) {
                if (!is_sent[static_cast<size_t>(token)]) sent.push_back(token);
                is_sent[static_cast<size_t>(token)] = true;
            }
        }
        std::ranges::sort(sent);
        for (const int32_t token : sent) is_sent[static_cast<size_t>(token)] = false;
    }
}

SharedCells::Letter SharedCells::write(std::span<const TokenKey> keys) const {
    Letter letter;
    std::vector<int32_t> number(keys.size());  // index of a token among the tokens sent to a rank
    for (int r = 0; r < std::ssize(told_); ++r) {
        letter.visitors.begin_rank();
        for (int32_t n = 0; const int32_t token : sent(r)) {
            number[static_cast<size_t>(token)] = n++;
            letter.visitors.items.push_back(keys[static_cast<size_t>(token)]);
        }
        letter.visitors.end_rank();
        letter.parts.begin_rank();
        letter.members.begin_rank();
        int64_t begin = 0;
        for (const int64_t i : told(r)) {
            Part part = own_[static_cast<size_t>(i)];
            for (const int32_t token : members(part))
                letter.members.items.push_back(number[static_cast<size_t>(token)]);
            part.end = begin + part.end - part.begin;
            part.begin = begin;
            begin = part.end;
            letter.parts.items.push_back(part);
        }
        letter.parts.end_rank();
        letter.members.end_rank();
    }
    return letter;
}

void SharedCells::read(const Letter& letter, int64_t n_own) {
    visitors_ = letter.visitors.items;
    visiting_ = letter.parts.items;
    sources_.assign(letter.parts.counts.size(), {});
    int64_t visitor = 0, part = 0;
    auto from = letter.members.items.begin();
    for (size_t r = 0; r < sources_.size(); ++r) {
        Source& source = sources_[r];
        source = {visitor, visitor + letter.visitors.counts[r], part,
                  part + letter.parts.counts[r]};
        const int64_t first = std::ssize(members_);
        for (int64_t i = 0; i < letter.members.counts[r]; ++i)
            members_.push_back(static_cast<int32_t>(n_own + visitor + *from++));
        for (part = source.part_begin; part < source.part_end; ++part) {
            visiting_[static_cast<size_t>(part)].begin += first;
            visiting_[static_cast<size_t>(part)].end += first;
        }
        visitor = source.visitor_end;
    }
}

void SharedCells::exchange(Communicator& comm, std::span<const TokenKey> keys) {
    Letter letter;
    comm.agree([&] {
        list_receivers(comm.size(), std::ssize(keys));
        letter = write(keys);
    });
    const Letter received{exchanged(comm, letter.visitors), exchanged(comm, letter.parts),
                          exchanged(comm, letter.members)};
    comm.agree([&] {
        constexpr int64_t limit = int64_t{1} << 31;
        if (std::ssize(keys) + std::ssize(received.visitors.items) >= limit) {
            throw Error(Status::shape,
                        std::to_string(std::ssize(keys)) + " own tokens and " +
                            std::to_string(std::ssize(received.visitors.items)) +
                            " ghost tokens exceed the limit of one rank (2^31); use more ranks");
        }
        read(received, std::ssize(keys));
    });
}

}  // namespace surrogate::impl::hept
