// SPDX-License-Identifier: Apache-2.0
// The part of a TokenPlan that concerns other ranks.
#include <algorithm>
#include <string>
#include <utility>

#include "libsurrogate/src/model/hept/shared_cells.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::hept {

namespace {

/// Returns the parts of cells that have sorted positions in `places`, with the parts of a cell next
/// to each other.
std::vector<SharedCells::Part> parts_of(const SharedCells& shared, Range places) {
    std::vector<SharedCells::Part> parts;
    for (const auto& list : {shared.own(), shared.visiting()}) {
        std::ranges::copy_if(list, std::back_inserter(parts), [&](const SharedCells::Part& part) {
            return intersection({part.place, part.place + part.size}, places).size() > 0;
        });
    }
    std::ranges::stable_sort(
        parts, {}, [](const SharedCells::Part& part) { return std::pair(part.row, part.place); });
    return parts;
}

/// Reserves the exact capacity of the rows, because rows are most of a plan's memory.
template <class Row>
void reserve(std::span<const SharedCells::Part> parts, std::vector<Row>& rows) {
    for (auto part = parts.begin(); part != parts.end();) {
        const int64_t number = part->row;
        size_t n_cell = 0, n_member = 0;
        for (int64_t place = -1; part != parts.end() && part->row == number; ++part) {
            n_cell += part->place != place ? 1 : 0;
            n_member += static_cast<size_t>(part->end - part->begin);
            place = part->place;
        }
        Row& row = rows[static_cast<size_t>(number)];
        row.cells.reserve(row.cells.size() + n_cell);
        row.members.reserve(row.members.size() + n_member);
    }
}

}  // namespace

/// Adds the shared cells that this rank sorts, with their tokens from all ranks.
void TokenPlan::take_shared(const std::vector<TokenKey>& keys, int64_t first_place,
                            const SharedCells& shared) {
    const Range places{first_place, first_place + n_place_};
    const auto by_key = [&](int32_t token) { return keys[static_cast<size_t>(token)]; };
    n_cut_cell_ = 0;
    const std::vector<SharedCells::Part> parts = parts_of(shared, places);
    reserve<Row>(parts, rows_);
    for (auto part = parts.begin(); part != parts.end();) {
        const SharedCells::Part cell = *part;
        Row& row = rows_[static_cast<size_t>(cell.row)];
        const auto begin = static_cast<int32_t>(row.members.size());
        for (; part != parts.end() && part->row == cell.row && part->place == cell.place; ++part) {
            const auto tokens = shared.members(*part);
            const auto middle = std::ssize(row.members);
            row.members.insert(row.members.end(), tokens.begin(), tokens.end());
            std::ranges::inplace_merge(row.members.begin() + begin, row.members.begin() + middle,
                                       row.members.end(), {}, by_key);
        }
        const auto end = static_cast<int32_t>(row.members.size());
        if (end - begin != cell.size) {
            throw Error(Status::internal, "a cell of " + std::to_string(cell.size) +
                                              " tokens received " + std::to_string(end - begin));
        }
        const Range here = intersection({cell.place, cell.place + cell.size}, places);
        row.cells.push_back({begin, end, static_cast<int32_t>(here.begin - cell.place),
                             static_cast<int32_t>(here.end - cell.place),
                             static_cast<int32_t>(here.begin - places.begin)});
        if (here.begin == cell.place && here.size() < cell.size) ++n_cut_cell_;
    }
}

namespace {

using Parts = std::vector<std::vector<TokenPlan::Neighbor::Part>>;

void add_parts(const Config& config, int64_t row, std::span<const int32_t> tokens, Parts& to) {
    const auto table = static_cast<int32_t>(row / config.num_heads);
    for (const int32_t token : tokens)
        to[static_cast<size_t>(row % config.num_heads)].push_back({token, table});
}

void sort_parts(Parts& parts) {
    for (auto& of_head : parts) {
        std::ranges::sort(of_head, {}, [](const TokenPlan::Neighbor::Part& part) {
            return std::pair(part.token, part.table);
        });
    }
}

}  // namespace

void TokenPlan::set_neighbors(const Config& config, const SharedCells& shared) {
    neighbors_.clear();
    for (int r = 0; r < shared.n_rank(); ++r) {
        const SharedCells::Source& source = shared.source(r);
        if (shared.sent(r).empty() && source.visitor_begin == source.visitor_end) continue;
        Neighbor& neighbor = neighbors_.emplace_back();
        neighbor.rank = r;
        neighbor.sent.assign(shared.sent(r).begin(), shared.sent(r).end());
        neighbor.visitor_begin = n_own_ + source.visitor_begin;
        neighbor.visitor_end = n_own_ + source.visitor_end;
        neighbor.from_it.resize(static_cast<size_t>(config.num_heads));
        neighbor.to_it.resize(static_cast<size_t>(config.num_heads));
        for (const int64_t i : shared.told(r)) {
            const SharedCells::Part& part = shared.own()[static_cast<size_t>(i)];
            add_parts(config, part.row, shared.members(part), neighbor.from_it);
        }
        for (int64_t i = source.part_begin; i < source.part_end; ++i) {
            const SharedCells::Part& part = shared.visiting()[static_cast<size_t>(i)];
            add_parts(config, part.row, shared.members(part), neighbor.to_it);
        }
        sort_parts(neighbor.from_it);
        sort_parts(neighbor.to_it);
    }
}

}  // namespace surrogate::impl::hept
