// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_rows.hpp"

#include <algorithm>
#include <numeric>

namespace surrogate::impl::bsa {

namespace {

size_t owner_of(std::span<const int64_t> begins, int64_t slot) {
    return static_cast<size_t>(std::ranges::upper_bound(begins, slot) - begins.begin() - 1);
}

}  // namespace

int64_t SlotMoves::n_row_taken() const {
    return std::accumulate(n_taken.begin(), n_taken.end(), int64_t{0});
}

int64_t SlotMoves::n_row_given() const {
    return std::accumulate(n_given.begin(), n_given.end(), int64_t{0});
}

std::vector<int64_t> points_of_slots(const Slots& slots, Range own,
                                     std::span<const int64_t> points) {
    const int64_t first = slots.points_before(own.begin);
    std::vector<int64_t> of_slots;
    of_slots.reserve(static_cast<size_t>(own.size()));
    for (int64_t slot = own.begin; slot < own.end; ++slot) {
        const Slots::Entry entry = slots.at(slot);
        const int64_t point = points[static_cast<size_t>(entry.position - first)];
        of_slots.push_back(entry.is_original ? point : ~point);
    }
    return of_slots;
}

std::vector<float> point_rows(const kernels::Tiles<const float>& tiles) {
    std::vector<float> rows;
    rows.reserve(static_cast<size_t>(tiles.n_point * tiles.n_channel));
    for (int64_t i = 0; i < tiles.n_point; ++i)
        for (int64_t c = 0; c < tiles.n_channel; ++c) rows.push_back(tiles(c, i));
    return rows;
}

SlotMoves slot_moves(std::span<const int64_t> targets, std::span<const int64_t> sources,
                     std::span<const int64_t> begins, int rank) {
    const size_t n_rank = begins.size() - 1, own = static_cast<size_t>(rank);
    SlotMoves moves;
    moves.n_given.resize(n_rank);
    moves.n_taken.resize(n_rank);
    // Sender and receiver list the rows between two ranks in the order of their new positions.
    moves.given.resize(targets.size());
    std::iota(moves.given.begin(), moves.given.end(), 0);
    const auto key = [&](int32_t slot) {
        const int64_t target = targets[static_cast<size_t>(slot)];
        return std::pair(owner_of(begins, target) == own, target);
    };
    std::ranges::sort(moves.given, {}, key);
    for (const int64_t target : targets) ++moves.n_given[owner_of(begins, target)];
    for (const int64_t source : sources) ++moves.n_taken[owner_of(begins, source)];
    moves.n_given[own] = moves.n_taken[own] = 0;

    std::vector<int64_t> next(n_rank);
    std::exclusive_scan(moves.n_taken.begin(), moves.n_taken.end(), next.begin(), int64_t{0});
    next[own] = moves.n_row_taken() + moves.n_row_given();
    for (const int64_t source : sources)
        moves.taken.push_back(static_cast<int32_t>(next[owner_of(begins, source)]++));
    return moves;
}

std::vector<int32_t> rows_of_parts(std::span<const int64_t> begins, int64_t n_each,
                                   int64_t part_rows) {
    std::vector<int32_t> rows;
    for (size_t r = 0; r + 1 < begins.size(); ++r) {
        const int64_t n = (begins[r + 1] - begins[r]) * n_each;
        for (int64_t i = 0; i < n; ++i)
            rows.push_back(static_cast<int32_t>(static_cast<int64_t>(r) * part_rows + i));
    }
    return rows;
}

int64_t most_rows(std::span<const int64_t> begins) {
    int64_t most = 0;
    for (size_t r = 1; r < begins.size(); ++r) most = std::max(most, begins[r] - begins[r - 1]);
    return most;
}

}  // namespace surrogate::impl::bsa
