// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/row_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

namespace surrogate::impl {

namespace {

/// What points are ordered by: their id, or the bits of their coordinates.
using Key = std::array<uint64_t, 3>;

Key key_of(const PointDomain& domain, int64_t i) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    Key key{};
    if (domain.has_ids()) {
        key[0] = static_cast<uint64_t>(domain.ids()[i]) ^ sign;
        return key;
    }
    for (int axis = 0; axis < domain.n_axis(); ++axis) {
        // + 0.0 makes one zero of two: points at 0 and -0 are equal.
        const auto bits = std::bit_cast<uint64_t>(domain.coordinate(axis)[i] + 0.0);
        key[static_cast<size_t>(axis)] = bits & sign ? ~bits : bits | sign;
    }
    return key;
}

std::string key_text(const PointDomain& domain, const Key& key) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    if (domain.has_ids()) return "global id " + std::to_string(static_cast<int64_t>(key[0] ^ sign));
    std::string text = "coordinates (";
    for (int axis = 0; axis < domain.n_axis(); ++axis) {
        const uint64_t k = key[static_cast<size_t>(axis)];
        text +=
            (axis ? ", " : "") + std::to_string(std::bit_cast<double>(k & sign ? k ^ sign : ~k));
    }
    return text + ")";
}

template <class Value>
std::vector<Value> sized(int64_t n) {
    return std::vector<Value>(static_cast<size_t>(n));
}

int64_t sum(std::span<const int64_t> values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
}

/// Counts that the others will send us, from those we send: one number to each rank.
std::vector<int64_t> exchange_counts(Communicator& comm, std::span<const int64_t> n_send) {
    std::vector<int64_t> n_receive, one;
    comm.agree([&] {
        n_receive.resize(n_send.size());
        one.resize(n_send.size(), 1);
    });
    comm.all_to_all(n_send.data(), one, n_receive.data(), one, sizeof(int64_t));
    return n_receive;
}

/// size - 1 keys that cut all points into about equal shares, the same on every rank: weighted
/// samples of all ranks.
std::vector<Key> find_splitters(Communicator& comm, std::span<const Key> sorted) {
    constexpr int64_t n_sample = 32;
    struct Sample {
        Key key;
        double weight;
    };
    std::vector<Sample> all;
    std::vector<Key> splitters;
    comm.agree([&] {
        all.resize(static_cast<size_t>(n_sample * comm.size()));
        splitters.reserve(static_cast<size_t>(comm.size() - 1));
    });
    std::array<Sample, n_sample> own{};
    const auto n = static_cast<int64_t>(sorted.size());
    for (int64_t s = 0; s < n_sample && n > 0; ++s) {
        const size_t at = static_cast<size_t>(n * (2 * s + 1) / (2 * n_sample));
        own[static_cast<size_t>(s)] = {sorted[at], static_cast<double>(n) / n_sample};
    }
    comm.all_gather(own.data(), all.data(), n_sample * static_cast<int64_t>(sizeof(Sample)));
    std::sort(all.begin(), all.end(),
              [](const Sample& a, const Sample& b) { return a.key < b.key; });

    double total = 0, seen = 0;
    for (const Sample& sample : all) total += sample.weight;
    for (const Sample& sample : all) {
        while (std::ssize(splitters) < comm.size() - 1 && sample.weight > 0 &&
               seen + sample.weight >
                   total * static_cast<double>(splitters.size() + 1) / comm.size()) {
            splitters.push_back(sample.key);
        }
        seen += sample.weight;
    }
    splitters.resize(static_cast<size_t>(comm.size() - 1),
                     Key{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}});
    return splitters;
}

/// Sorts the keys of one share; throws if two are equal.
std::vector<int64_t> sort_share(const PointDomain& domain, std::span<const Key> keys) {
    std::vector<int64_t> order = sized<int64_t>(std::ssize(keys));
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto key = [&](int64_t i) -> const Key& { return keys[static_cast<size_t>(i)]; };
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
    for (size_t i = 1; i < order.size(); ++i) {
        if (key(order[i - 1]) != key(order[i])) continue;
        throw Error(
            Status::invalid_argument,
            "reproducible mode needs an order of the points, but two of them have the same " +
                key_text(domain, key(order[i])) +
                (domain.has_ids() ? "; leave ghost points out"
                                  : "; give global ids, or leave ghost points out"));
    }
    return order;
}

}  // namespace

std::vector<int64_t> canonical_positions(const PointDomain& domain) {
    Communicator& comm = domain.context().comm();
    const int64_t n = domain.n_local();
    std::vector<Key> sorted;
    std::vector<int64_t> order, n_send;
    comm.agree([&] {
        n_send = sized<int64_t>(comm.size());
        if (!domain.has_ids() && domain.n_axis() == 0 && domain.n_global() > 1) {
            throw Error(Status::invalid_argument,
                        "reproducible mode needs an order of the points: give the domain global "
                        "ids or coordinates");
        }
        std::vector<Key> keys = sized<Key>(n);
        for (int64_t i = 0; i < n; ++i) keys[static_cast<size_t>(i)] = key_of(domain, i);
        order = sized<int64_t>(n);
        std::iota(order.begin(), order.end(), int64_t{0});
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
        });
        sorted = sized<Key>(n);
        for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = keys[static_cast<size_t>(order[i])];
    });

    // Each key to the rank that sorts its share; equal keys meet there.
    const std::vector<Key> splitters = find_splitters(comm, sorted);
    for (const Key& key : sorted) {
        const auto share =
            std::upper_bound(splitters.begin(), splitters.end(), key) - splitters.begin();
        ++n_send[static_cast<size_t>(share)];
    }
    const std::vector<int64_t> n_receive = exchange_counts(comm, n_send);
    std::vector<Key> share;
    std::vector<int64_t> share_position, sorted_position, position;
    comm.agree([&] {
        share = sized<Key>(sum(n_receive));
        share_position = sized<int64_t>(sum(n_receive));
        sorted_position = sized<int64_t>(n);
        position = sized<int64_t>(n);
        comm.reserve_rows(n_send, n_receive, sizeof(Key));
    });
    comm.all_to_all(sorted.data(), n_send, share.data(), n_receive, sizeof(Key));

    std::vector<int64_t> share_order;
    comm.agree([&] { share_order = sort_share(domain, share); });
    const int64_t first = comm.exclusive_sum(std::ssize(share));
    for (size_t i = 0; i < share_order.size(); ++i) {
        share_position[static_cast<size_t>(share_order[i])] = first + static_cast<int64_t>(i);
    }
    comm.all_to_all(share_position.data(), n_receive, sorted_position.data(), n_send,
                    sizeof(int64_t));
    for (size_t i = 0; i < order.size(); ++i)
        position[static_cast<size_t>(order[i])] = sorted_position[i];
    return position;
}

RowOrder::RowOrder(const PointDomain& domain, int64_t block_rows) {
    const std::vector<int64_t> position = canonical_positions(domain);
    set_routes(domain.context().comm(), position, domain.n_global(), block_rows);
}

void RowOrder::set_routes(Communicator& comm, std::span<const int64_t> position, int64_t n_global,
                          int64_t block_rows) {
    n_block_global_ = (n_global + block_rows - 1) / block_rows;
    const Range blocks = balanced_range(n_block_global_, comm.rank(), comm.size());
    rows_ = {std::min(blocks.begin * block_rows, n_global),
             std::min(blocks.end * block_rows, n_global)};

    std::vector<int64_t> sent;
    comm.agree([&] {
        send_row_ = sized<int64_t>(std::ssize(position));
        std::iota(send_row_.begin(), send_row_.end(), int64_t{0});
        const auto place = [&](int64_t row) { return position[static_cast<size_t>(row)]; };
        std::sort(send_row_.begin(), send_row_.end(),
                  [&](int64_t a, int64_t b) { return place(a) < place(b); });
        n_send_ = sized<int64_t>(comm.size());
        sent = sized<int64_t>(std::ssize(position));
        for (size_t i = 0; i < sent.size(); ++i) {
            sent[i] = place(send_row_[i]);
            ++n_send_[static_cast<size_t>(
                balanced_owner(n_block_global_, sent[i] / block_rows, comm.size()))];
        }
        receive_row_ = sized<int64_t>(rows_.size());
    });
    n_receive_ = exchange_counts(comm, n_send_);
    comm.agree([&] { reserve(comm, sizeof(int64_t)); });
    comm.all_to_all(sent.data(), n_send_, receive_row_.data(), n_receive_, sizeof(int64_t));
    for (int64_t& row : receive_row_) row -= rows_.begin;
}

namespace {

/// to[i] = from[rows[i]], or to[rows[i]] = from[i].
void gather_rows(const void* from, std::span<const int64_t> rows, void* to, int64_t row_bytes) {
    for (size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(static_cast<char*>(to) + static_cast<int64_t>(i) * row_bytes,
                    static_cast<const char*>(from) + rows[i] * row_bytes,
                    static_cast<size_t>(row_bytes));
    }
}

void scatter_rows(const void* from, std::span<const int64_t> rows, void* to, int64_t row_bytes) {
    for (size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(static_cast<char*>(to) + rows[i] * row_bytes,
                    static_cast<const char*>(from) + static_cast<int64_t>(i) * row_bytes,
                    static_cast<size_t>(row_bytes));
    }
}

}  // namespace

void RowOrder::reserve(Communicator& comm, int64_t row_bytes) const {
    comm.reserve_rows(n_send_, n_receive_, row_bytes);
}

void RowOrder::to_canonical(Communicator& comm, const void* solver, void* scratch, void* canonical,
                            int64_t row_bytes) const {
    char* const packed = static_cast<char*>(scratch);
    char* const received = packed + std::ssize(send_row_) * row_bytes;
    gather_rows(solver, send_row_, packed, row_bytes);
    comm.all_to_all(packed, n_send_, received, n_receive_, row_bytes);
    scatter_rows(received, receive_row_, canonical, row_bytes);
}

void RowOrder::to_solver(Communicator& comm, const void* canonical, void* scratch, void* solver,
                         int64_t row_bytes) const {
    char* const packed = static_cast<char*>(scratch);
    char* const received = packed + std::ssize(receive_row_) * row_bytes;
    gather_rows(canonical, receive_row_, packed, row_bytes);
    comm.all_to_all(packed, n_receive_, received, n_send_, row_bytes);
    scatter_rows(received, send_row_, solver, row_bytes);
}

int64_t RowOrder::bytes() const {
    return 8 * (std::ssize(send_row_) + std::ssize(receive_row_) + std::ssize(n_send_) +
                std::ssize(n_receive_));
}

}  // namespace surrogate::impl
