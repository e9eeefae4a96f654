// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/partition.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

Range hull(Range a, Range b) {
    if (a.size() == 0) return b;
    if (b.size() == 0) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range intersection(Range a, Range b) {
    const int64_t begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

Range balanced_range(int64_t n, int rank, int size) {
    const int64_t share = n / size, rest = n % size;
    const int64_t begin = rank * share + std::min<int64_t>(rank, rest);
    return {begin, begin + share + (rank < rest ? 1 : 0)};
}

std::vector<int64_t> block_begins(int64_t n, int64_t block_rows, int size) {
    const int64_t n_block = (n + block_rows - 1) / block_rows;
    std::vector<int64_t> begins(static_cast<size_t>(size + 1), n);
    for (int rank = 0; rank < size; ++rank) {
        const int64_t first = balanced_range(n_block, rank, size).begin;
        begins[static_cast<size_t>(rank)] = std::min(first * block_rows, n);
    }
    return begins;
}

std::vector<int64_t> block_begins(std::span<const int64_t> group_begins, int64_t block_rows,
                                  int size) {
    const int64_t n = group_begins.back();
    std::vector<int64_t> begins(static_cast<size_t>(size + 1), n);
    for (int rank = 0; rank < size; ++rank) {
        const int64_t even = balanced_range(n, rank, size).begin;
        const auto next = std::ranges::upper_bound(group_begins, even);
        if (next == group_begins.end()) continue;  // even is n
        const int64_t group = *(next - 1);
        const int64_t below = group + (even - group) / block_rows * block_rows;
        const int64_t above = std::min(below + block_rows, *next);
        begins[static_cast<size_t>(rank)] = even - below <= above - even ? below : above;
    }
    return begins;
}

namespace {

/// Steele, Lea and Flood's splitmix64: the same stream on every machine, unlike the standard
/// library's shuffles.
struct SplitMix {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

std::vector<int64_t> range_rows(Range range) {
    std::vector<int64_t> rows(static_cast<size_t>(range.size()));
    std::iota(rows.begin(), rows.end(), range.begin);
    return rows;
}

std::vector<int64_t> scattered_rows(int64_t n, int rank, int size) {
    std::vector<int64_t> order = range_rows({0, n});
    SplitMix random{2026};
    for (int64_t i = n - 1; i > 0; --i) {
        const auto j = static_cast<int64_t>(random.next() % static_cast<uint64_t>(i + 1));
        std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
    }
    std::vector<int64_t> rows;
    for (int64_t i = rank; i < n; i += size) rows.push_back(order[static_cast<size_t>(i)]);
    return rows;
}

/// Rank 0 nothing, rank 1 half, the others equal shares of the rest.
Range uneven_range(int64_t n, int rank, int size) {
    if (size == 1) return {0, n};
    const int64_t half = size == 2 ? n : n / 2 + n % 2;
    if (rank == 0) return {0, 0};
    if (rank == 1) return {0, half};
    const Range rest = balanced_range(n - half, rank - 2, size - 2);
    return {half + rest.begin, half + rest.end};
}

void require_rank(int64_t n_rows, int rank, int size) {
    if (n_rows >= 0 && size >= 1 && rank >= 0 && rank < size) return;
    throw Error(Status::invalid_argument, "partition of " + std::to_string(n_rows) +
                                              " rows for rank " + std::to_string(rank) + " of " +
                                              std::to_string(size));
}

[[noreturn]] void refuse_kind(std::string_view kind) {
    const std::vector<std::string> known = {"contiguous", "scattered", "uneven"};
    throw Error(Status::unknown_name, no_such_text("partition", kind, known));
}

}  // namespace

std::vector<int64_t> partition_rows(std::string_view kind, int64_t n_rows, int rank, int size) {
    require_rank(n_rows, rank, size);
    if (kind == "contiguous") return range_rows(balanced_range(n_rows, rank, size));
    if (kind == "scattered") return scattered_rows(n_rows, rank, size);
    if (kind == "uneven") return range_rows(uneven_range(n_rows, rank, size));
    refuse_kind(kind);
}

std::array<int64_t, 4> partition_sphere(std::string_view kind, int64_t n_lat, int64_t n_lon,
                                        int rank, int size) {
    require_rank(std::min(n_lat, n_lon), rank, size);
    const auto block = [](Range rows, Range columns) {
        return std::array{rows.begin, rows.size(), columns.begin, columns.size()};
    };
    if (kind == "contiguous") return block(balanced_range(n_lat, rank, size), {0, n_lon});
    if (kind == "uneven") return block(uneven_range(n_lat, rank, size), {0, n_lon});
    if (kind != "scattered") refuse_kind(kind);
    int n_band = 1;  // the largest divisor of size whose square is at most size
    for (int n = 1; n <= size / n; ++n)
        if (size % n == 0) n_band = n;
    const int n_sector = size / n_band;
    return block(balanced_range(n_lat, rank / n_sector, n_band),
                 balanced_range(n_lon, rank % n_sector, n_sector));
}

}  // namespace surrogate::impl
