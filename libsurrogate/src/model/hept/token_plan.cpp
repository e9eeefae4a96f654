// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/token_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "libsurrogate/src/model/hept/block_cuts.hpp"
#include "libsurrogate/src/model/hept/shared_cells.hpp"
#include "libsurrogate/src/model/hept/token_copies.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::hept {

namespace {

constexpr int64_t token_limit = int64_t{1} << 31;

void require_shape(const Config& config, const HomeOrder& home) {
    if (config.padding == Padding::zero && home.cloud_sizes.size() > 1) {
        throw Error(Status::shape, "padding 'zero' supports one cloud only, the domain has " +
                                       std::to_string(home.cloud_sizes.size()) +
                                       " clouds; use one domain per cloud");
    }
    if (home.places.size() >= token_limit) {
        throw Error(Status::shape,
                    std::to_string(home.places.size()) +
                        " points exceed the limit of one rank (2^31); use more ranks");
    }
}

std::vector<int32_t> sorted_tokens(std::span<const TokenKey> keys) {
    std::vector<int32_t> tokens(keys.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    std::ranges::sort(tokens, {}, [&](int32_t t) { return keys[static_cast<size_t>(t)]; });
    return tokens;
}

/// Returns blocks first .. end - 1 of a row.
std::vector<TokenPlan::Block> blocks_of(const Config& config, std::span<const int64_t> cloud_sizes,
                                        int64_t first, int64_t end) {
    std::vector<TokenPlan::Block> blocks;
    int64_t block = 0, to = 0;
    for (const int64_t n : cloud_sizes) {
        const int64_t n_token = n_token_of(config, n);
        const int64_t n_block = (n_token + config.block_size - 1) / config.block_size;
        for (int64_t b = std::max(block, first); b < std::min(block + n_block, end); ++b) {
            const int64_t n_left = n_token - (b - block) * config.block_size;
            const int64_t n_query = std::min(config.block_size, n_left);
            const int64_t n_zero =
                config.padding == Padding::zero ? config.block_size - n_query : 0;
            blocks.push_back({to, static_cast<int32_t>(n_query), static_cast<int32_t>(n_zero)});
            to += n_query;
        }
        block += n_block;
    }
    return blocks;
}

/// Returns the first points of the blocks of a rank's points, counted from its first one, and their
/// number; `own`: its points, whole blocks.
std::vector<int64_t> first_points(const Config& config, std::span<const int64_t> cloud_sizes,
                                  Range own) {
    std::vector<int64_t> firsts;
    int64_t begin = 0;  // of a cloud
    for (const int64_t n : cloud_sizes) {
        const int64_t skipped = std::max<int64_t>(0, own.begin - begin) / config.block_size;
        for (int64_t point = begin + skipped * config.block_size;
             point < std::min(begin + n, own.end); point += config.block_size)
            if (point >= own.begin) firsts.push_back(point - own.begin);
        begin += n;
    }
    firsts.push_back(own.size());
    return firsts;
}

}  // namespace

/// Temporary data of connect() that runs do not need.
struct TokenPlan::Making {
    std::span<const int64_t> cloud_sizes;
    BlockCuts cuts;
    Range places;  ///< sorted positions of this rank
    OwnTokens own;
    std::vector<TokenKey> keys;  ///< (n_own), finally (n_token)
};

void TokenPlan::connect(Communicator& comm, const Config& config, std::span<const float> regions,
                        const HomeOrder& home) {
    Making making;
    comm.agree([&] {
        require_shape(config, home);
        making.cloud_sizes = home.cloud_sizes;
        making.cuts = block_cuts(config, home.cloud_sizes, comm.size());
    });
    const std::vector<TokenCopy> copies = token_copies(comm, config, regions, home);
    comm.agree([&] {
        set_own(making, home, copies);
        set_ids(config, home, copies);
        set_blocks(making, config, comm.rank());
    });
    making.own.n_before = comm.exclusive_sum(n_own_);
    n_token_global_ = making.cuts.places.back();
    n_block_global_ = making.cuts.blocks.back();

    SharedCells shared(comm.rank(), making.cuts.places);
    std::optional<RowCells> cells;
    comm.agree([&] {
        cells.emplace(config, home.cloud_sizes, making.own);
        rows_.resize(static_cast<size_t>(config.n_row()));
    });
    for (int64_t row = 0; row < config.n_row(); ++row) {
        cells->connect(comm, slabs_of(config, regions, row));
        comm.agree([&] { take_cells(making, row, *cells, shared); });
    }
    cells.reset();
    shared.exchange(comm, making.keys);
    comm.agree([&] {
        n_token_ = n_own_ + std::ssize(shared.visitors());
        making.keys.insert(making.keys.end(), shared.visitors().begin(), shared.visitors().end());
        take_shared(making.keys, making.places.begin, shared);
        set_neighbors(config, shared);
        require_all_places();
    });
    sum_up(comm);
}

void TokenPlan::set_own(Making& making, const HomeOrder& home, std::span<const TokenCopy> copies) {
    n_point_ = home.places.size();
    n_own_ = n_point_ + std::ssize(copies);
    making.own.points = {home.places.data(), static_cast<size_t>(n_point_)};
    copied_.clear();
    for (int64_t i = 0; i < n_point_; ++i) making.keys.push_back({0, home.places[i].id});
    for (const TokenCopy& copy : copies) {
        copied_.push_back(copy.point);
        making.keys.push_back({copy.number + 1, home.places[copy.point].id});
    }
    making.own.copied = copied_;
    making.own.keys = making.keys;
    making.own.by_key = sorted_tokens(making.keys);
}

/// Sets the ids of the own tokens. Copies come by ascending point, so clouds ascend.
void TokenPlan::set_ids(const Config& config, const HomeOrder& home,
                        std::span<const TokenCopy> copies) {
    ids_.clear();
    for (int64_t i = 0; i < n_point_; ++i) ids_.push_back(home.places[i].id);
    int64_t first = 0, cloud = 0;  // id of the first copy of a cloud
    for (const int64_t n : home.cloud_sizes) first += n;
    for (const TokenCopy& copy : copies) {
        for (; cloud < home.places[copy.point].cloud; ++cloud) {
            const int64_t n = home.cloud_sizes[static_cast<size_t>(cloud)];
            first += n_token_of(config, n) - n;
        }
        ids_.push_back(first + copy.number);
    }
}

void TokenPlan::set_blocks(Making& making, const Config& config, int rank) {
    const auto r = static_cast<size_t>(rank);
    making.places = {making.cuts.places[r], making.cuts.places[r + 1]};
    n_place_ = making.places.size();
    if (n_place_ >= token_limit)
        throw Error(Status::shape,
                    std::to_string(n_place_) +
                        " tokens exceed the limit of one rank (2^31); use more ranks");
    blocks_ =
        blocks_of(config, making.cloud_sizes, making.cuts.blocks[r], making.cuts.blocks[r + 1]);
    block_points_ = first_points(config, making.cloud_sizes,
                                 {making.cuts.points[r], making.cuts.points[r + 1]});
}

/// Adds the cells that are complete on this rank. Shared cells are passed to `shared`.
void TokenPlan::take_cells(const Making& making, int64_t row, const RowCells& cells,
                           SharedCells& shared) {
    Row& to = rows_[static_cast<size_t>(row)];
    to.cells.clear();
    to.members.clear();
    size_t n_cell = 0;
    int64_t n_member = 0;
    for (const RowCells::Cell& cell : cells.cells()) {
        if (shared.is_shared(cell)) continue;
        ++n_cell;
        n_member += cell.size;
    }
    to.cells.reserve(n_cell);
    to.members.reserve(static_cast<size_t>(n_member));
    for (const RowCells::Cell& cell : cells.cells()) {
        if (shared.is_shared(cell)) {
            shared.add(row, cell, cells.members());
            continue;
        }
        const auto begin = static_cast<int32_t>(to.members.size());
        const auto n = static_cast<int32_t>(cell.size);
        to.members.insert(to.members.end(), cells.members().begin() + cell.begin,
                          cells.members().begin() + cell.end);
        to.cells.push_back(
            {begin, begin + n, 0, n, static_cast<int32_t>(cell.place - making.places.begin)});
    }
}

void TokenPlan::require_all_places() const {
    for (const Row& row : rows_) {
        int64_t n = 0;
        for (const Cell& cell : row.cells) n += cell.last - cell.first;
        if (n == n_place_) continue;
        throw Error(Status::internal, "the cells of a row have " + std::to_string(n) + " of " +
                                          std::to_string(n_place_) + " positions");
    }
}

void TokenPlan::sum_up(Communicator& comm) {
    largest_cell_ = 0;
    for (const Row& row : rows_) {
        for (const Cell& cell : row.cells)
            largest_cell_ = std::max<int64_t>(largest_cell_, cell.end - cell.begin);
    }
    int64_t sums[2] = {n_cut_cell_, 0};
    for (const Neighbor& neighbor : neighbors_) sums[1] += std::ssize(neighbor.sent);
    comm.all_reduce_sum(sums);
    n_cut_cell_ = sums[0];
    n_visit_ = sums[1];
}

int64_t TokenPlan::bytes() const {
    const auto held = [](const auto& list) {
        return static_cast<int64_t>(list.capacity() * sizeof(list[0]));
    };
    int64_t n = held(copied_) + held(ids_) + held(blocks_) + held(block_points_) +
                held(neighbors_) + held(rows_);
    for (const Row& row : rows_) n += held(row.cells) + held(row.members);
    for (const Neighbor& neighbor : neighbors_) {
        n += held(neighbor.sent) + held(neighbor.from_it) + held(neighbor.to_it);
        for (const auto& of_head : neighbor.from_it) n += held(of_head);
        for (const auto& of_head : neighbor.to_it) n += held(of_head);
    }
    return n;
}

}  // namespace surrogate::impl::hept
