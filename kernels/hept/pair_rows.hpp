// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"

/// Labelled pairs of points as the pair loss reads them: grouped by their first point.
namespace surrogate::kernels::hept {

/// Pairs (u, v) grouped by u, the negative ones of a point before its positive ones:
///   negative of u: point[offset[u] .. positive[u]), positive: point[positive[u] .. offset[u + 1])
/// Memory belongs to somebody else. Points from n_row on have no row: they are those that other
/// ranks own, and come as v only.
struct PairRows {
    int64_t n_row = 0;
    const int64_t* offset = nullptr;    ///< (n_row + 1)
    const int64_t* positive = nullptr;  ///< (n_row)
    const int32_t* point = nullptr;     ///< (offset[n_row]) the second points

    int64_t n_pair() const { return n_row > 0 ? offset[n_row] : 0; }
    int64_t n_positive(int64_t u) const { return offset[u + 1] - positive[u]; }
};

/// label[i] = the rank of id[i] among the different ids of points that positive pairs may have:
/// is_reconstructable[i] is not 0 and pt[i] > pt_least. Other points get -1. All spans (n_point).
/// Returns the number of labels. A pair is positive if both points have the same label, not -1.
int64_t pair_labels(std::span<const int64_t> id, std::span<const uint8_t> is_reconstructable,
                    std::span<const float> pt, double pt_least, std::span<int32_t> label);

/// PairRows with their memory. In each row second points ascend, among negative and among positive
/// pairs: the rows do not depend on the order in which pairs are listed. A pair that is listed
/// twice counts twice.
class PairTable {
public:
    PairTable() = default;
    /// Pairs (first[k], second[k]) of points with `label` (n_point), of which the first n_row are
    /// first points. Linear in the number of pairs; takes 4 bytes a pair beyond the result for the
    /// time of the call. Throws invalid_argument for points out of range, limit from 2^31 points
    /// on, shape where the two lists are not of one length.
    PairTable(int64_t n_row, std::span<const int32_t> label, std::span<const int32_t> first,
              std::span<const int32_t> second);

    PairRows rows() const {
        return {positive_.size(), offset_.data(), positive_.data(), point_.data()};
    }

private:
    Buffer<int64_t> offset_, positive_;
    Buffer<int32_t> point_;
};

/// With each pair (u, v) its reverse (v, u) is listed, as often. Takes 8 bytes a row.
bool is_symmetric(const PairRows& rows);

/// counts[l] += positive pairs whose first point has label l; label (n_row), counts (n_label). What
/// ranks sum before pair_weights().
void count_positive(const PairRows& rows, std::span<const int32_t> label,
                    std::span<int64_t> counts);

/// weight[i] = 1 / (particles counts[label[i]]), with particles the number of labels whose count is
/// not 0; 0 where the label is -1 or its count 0. label, weight (n_point).
template <class T>
void pair_weights(std::span<const int64_t> counts, std::span<const int32_t> label,
                  std::span<T> weight);

}  // namespace surrogate::kernels::hept
