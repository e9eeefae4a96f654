// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/row_cells.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "libsurrogate/src/model/hept/block_cuts.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

RowSlabs slabs_of(const Config& config, std::span<const float> regions, int64_t row) {
    const int64_t table = row / config.num_heads, head = row % config.num_heads;
    const auto entry = [&](int64_t axis) {
        return regions[static_cast<size_t>((table * 2 + axis) * config.num_heads + head)];
    };
    return {{entry(0), entry(1)}};
}

RowCells::RowCells(const Config& config, std::span<const int64_t> cloud_sizes,
                   const OwnTokens& tokens)
    : config_(config), cloud_sizes_(cloud_sizes), tokens_(tokens) {
    keys_.resize(static_cast<size_t>(tokens.size()));
    slab_of_.resize(tokens.points.size());
    members_.resize(keys_.size());
    scratch_.resize(keys_.size());
}

/// Computes the regions of this rank along coordinate 1, and the regions of each point: along
/// coordinate 1 in slab_of_, along coordinate 0 in keys_.
void RowCells::set_slabs(RowSlabs slabs) {
    slabs_.clear();
    n_along_ = 1;
    int64_t cloud = -1, end = 0, size[2] = {1, 1};
    for (size_t i = 0; i < slab_of_.size(); ++i) {
        const Place& point = tokens_.points[i];
        if (point.cloud != cloud) {
            cloud = point.cloud;
            const int64_t n = n_ranked_of(config_, cloud_sizes_[static_cast<size_t>(cloud)]);
            for (int axis : {0, 1}) size[axis] = slab_size(slabs.along[axis], n);
            end = 0;
        }
        if (point.rank[1] >= end) {
            slabs_.push_back({cloud, point.rank[1] / size[1]});
            end = (slabs_.back().number + 1) * size[1];
        }
        slab_of_[i] = static_cast<int32_t>(slabs_.size() - 1);
        keys_[i] = static_cast<uint64_t>(point.rank[0] / size[0]);
        n_along_ = std::max(n_along_, keys_[i] + 1);
    }
}

namespace {

/// Sorts items by their keys, which are below n_key. The sort is stable.
void sort_by_key(std::span<const uint64_t> keys, uint64_t n_key, std::vector<int32_t>& items,
                 std::vector<int32_t>& scratch) {
    constexpr int digit_bits = 11;  // counters fit in the L1 cache, and two digits are common
    constexpr uint64_t n_digit = uint64_t{1} << digit_bits;
    for (int shift = 0; shift < 64 && n_key > 1 && (n_key - 1) >> shift != 0; shift += digit_bits) {
        const auto digit = [&](int32_t item) {
            return (keys[static_cast<size_t>(item)] >> shift) % n_digit;
        };
        std::array<size_t, n_digit> next{};
        for (const int32_t item : items) ++next[digit(item)];
        std::exclusive_scan(next.begin(), next.end(), next.begin(), size_t{0});
        for (const int32_t item : items) scratch[next[digit(item)]++] = item;
        items.swap(scratch);
    }
}

}  // namespace

void RowCells::sort_members() {
    const size_t n_point = slab_of_.size();
    for (size_t i = 0; i < n_point; ++i) keys_[i] += static_cast<uint64_t>(slab_of_[i]) * n_along_;
    for (size_t i = 0; i < tokens_.copied.size(); ++i)
        keys_[n_point + i] = keys_[static_cast<size_t>(tokens_.copied[i])];
    std::ranges::copy(tokens_.by_key, members_.begin());
    sort_by_key(keys_, slabs_.size() * n_along_, members_, scratch_);
}

/// Computes the cells as if this rank had all tokens of its regions.
void RowCells::set_cells() {
    cells_.clear();
    for (size_t i = 0; i < members_.size(); ++i) {
        if (cells_.empty() || keys_[static_cast<size_t>(members_[i])] != key(cells_.back())) {
            const auto begin = static_cast<int32_t>(i);
            cells_.push_back({tokens_.n_before + begin, 0, begin, begin});
        }
        ++cells_.back().size;
        ++cells_.back().end;
    }
}

/// Returns this rank's tokens in the cells of its first and its last region.
std::vector<RowCells::Share> RowCells::shares() const {
    std::vector<Share> list;
    const uint64_t n_slab = slabs_.size();
    int64_t place = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
        const uint64_t slab = key(cells_[i]) / n_along_;
        if (i == 0 || slab != key(cells_[i - 1]) / n_along_) place = cells_[i].place;
        if (slab != 0 && slab != n_slab - 1) continue;
        list.push_back({slabs_[slab], key(cells_[i]) % n_along_, cells_[i].size, place});
    }
    return list;
}

/// Updates the cells of one region of this rank with the tokens of all ranks.
void RowCells::add_up(std::span<const Share> all, int64_t slab) {
    std::vector<Share> list;
    std::ranges::copy_if(all, std::back_inserter(list), [&](const Share& share) {
        return share.slab == slabs_[static_cast<size_t>(slab)];
    });
    std::ranges::sort(list, {}, &Share::number);
    int64_t place = std::ranges::min(list, {}, &Share::place).place;
    auto next = list.begin();
    for (Cell& cell : cells_) {
        if (static_cast<int64_t>(key(cell) / n_along_) != slab) continue;
        const uint64_t number = key(cell) % n_along_;
        for (; next != list.end() && next->number < number; ++next) place += next->n;
        cell.place = place;
        cell.size = 0;
        for (; next != list.end() && next->number == number; ++next) cell.size += next->n;
        place += cell.size;
    }
}

void RowCells::connect(Communicator& comm, RowSlabs slabs) {
    std::vector<Share> own, all;
    std::vector<int64_t> n_bytes;
    comm.agree([&] {
        set_slabs(slabs);
        sort_members();
        set_cells();
        own = shares();
        n_bytes.resize(static_cast<size_t>(comm.size()));
    });
    if (comm.size() == 1) return;
    const int64_t n_own = std::ssize(own) * static_cast<int64_t>(sizeof(Share));
    comm.all_gather(&n_own, n_bytes.data(), sizeof(int64_t));
    comm.agree([&] {
        const int64_t n = std::accumulate(n_bytes.begin(), n_bytes.end(), int64_t{0});
        all.resize(static_cast<size_t>(n) / sizeof(Share));
    });
    comm.all_gather_v(own.data(), all.data(), n_bytes);
    comm.agree([&] {
        if (slabs_.empty()) return;
        add_up(all, 0);
        if (slabs_.size() > 1) add_up(all, std::ssize(slabs_) - 1);
    });
}

}  // namespace surrogate::impl::hept
