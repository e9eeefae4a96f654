// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace surrogate::impl {

/// A half-open range of rows.
struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
};

/// Returns the smallest range that holds both; empty ranges do not count.
Range hull(Range a, Range b);

/// Returns the common part of two ranges; its size is 0 if there is none.
Range intersection(Range a, Range b);

/// Returns the range of `rank` when n items are dealt in order and balanced: the first n mod size
/// ranks get one more.
Range balanced_range(int64_t n, int rank, int size);

/// Returns the first row of each rank, and n at the end (size + 1), when n rows are divided into
/// blocks of block_rows rows, the last one shorter, and the blocks are distributed by
/// balanced_range.
std::vector<int64_t> block_begins(int64_t n, int64_t block_rows, int size);

/// Returns the same for rows in groups, of which group g begins at row group_begins[g]; its last
/// element is n. Blocks begin again with each group, and ranks get about n / size rows.
std::vector<int64_t> block_begins(std::span<const int64_t> group_begins, int64_t block_rows,
                                  int size);

/// Returns the rows of surrogate_partition. Throws unknown_name or invalid_argument.
std::vector<int64_t> partition_rows(std::string_view kind, int64_t n_rows, int rank, int size);

/// Returns {first row, rows, first column, columns} of surrogate_partition_sphere.
std::array<int64_t, 4> partition_sphere(std::string_view kind, int64_t n_lat, int64_t n_lon,
                                        int rank, int size);

}  // namespace surrogate::impl
