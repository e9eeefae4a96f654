// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"

/// Labeled pairs of points in the layout of the pair loss: grouped by their first point.
namespace surrogate::kernels::losses {

/// Pairs (u, v) grouped by u, the negative ones of a point before its positive ones:
///   negative of u: point[offset[u] .. positive[u]), positive: point[positive[u] .. offset[u + 1])
/// The caller owns the memory. Points from n_row on have no row: other ranks own them, and they
/// occur as v only.
struct PairRows {
    int64_t n_row = 0;
    const int64_t* offset = nullptr;    ///< (n_row + 1)
    const int64_t* positive = nullptr;  ///< (n_row)
    const int32_t* point = nullptr;     ///< (offset[n_row]) second points

    int64_t n_pair() const { return n_row > 0 ? offset[n_row] : 0; }
    int64_t n_positive(int64_t u) const { return offset[u + 1] - positive[u]; }
};

/// PairRows that owns its memory. A pair is positive if both points have the same label, not -1. In
/// each row second points ascend, among negative and among positive pairs: the rows do not depend
/// on the order in which pairs are listed. A pair that is listed twice counts twice.
class PairTable {
public:
    PairTable() = default;
    /// Builds the table of pairs (first[k], second[k]) of points with `label` (n_point), of which
    /// the first n_row are first points. Time is linear in the number of pairs. Allocates 4 bytes
    /// per pair beyond the result during the call. Throws invalid_argument for points out of range,
    /// limit from 2^31 points on, shape if the lengths of the two lists differ.
    PairTable(int64_t n_row, std::span<const int32_t> label, std::span<const int32_t> first,
              std::span<const int32_t> second);

    PairRows rows() const {
        return {positive_.size(), offset_.data(), positive_.data(), point_.data()};
    }

private:
    Buffer<int64_t> offset_, positive_;
    Buffer<int32_t> point_;
};

/// Returns true if with each pair (u, v) its reverse (v, u) is listed, equally often. Allocates 8
/// bytes per row.
bool is_symmetric(const PairRows& rows);

/// Adds to counts[l] the number of positive pairs whose first point has label l; label (n_row),
/// counts (n_label). Ranks sum the counts before pair_weights().
void count_positive(const PairRows& rows, std::span<const int32_t> label,
                    std::span<int64_t> counts);

/// Computes weight[i] = 1 / (particles counts[label[i]]), with particles the number of labels whose
/// count is not 0; 0 where the label is -1 or its count 0. label, weight (n_point).
template <class T>
void pair_weights(std::span<const int64_t> counts, std::span<const int32_t> label,
                  std::span<T> weight);

}  // namespace surrogate::kernels::losses
