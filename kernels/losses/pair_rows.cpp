// SPDX-License-Identifier: Apache-2.0
#include "kernels/losses/pair_rows.hpp"

#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::losses {
namespace {

void check_points(const char* what, std::span<const int32_t> points, int64_t end) {
    for (size_t k = 0; k < points.size(); ++k) {
        if (points[k] >= 0 && points[k] < end) continue;
        throw Error(Status::invalid_argument,
                    "the " + std::string(what) + " point of pair " + std::to_string(k) + " is " +
                        std::to_string(points[k]) + ", expected 0 to " + std::to_string(end - 1));
    }
}

/// The first points of all pairs, grouped by second point: those for v are in [offset[v], offset[v
/// + 1]).
struct BySecond {
    Buffer<int64_t> offset;
    Buffer<int32_t> first;

    BySecond(int64_t n_point, std::span<const int32_t> firsts, std::span<const int32_t> seconds)
        : offset(n_point + 2), first(static_cast<int64_t>(firsts.size())) {
        // Counts stored two elements further become starts one element further, and, while pairs
        // are inserted, starts.
        for (int32_t v : seconds) ++offset[v + 2];
        for (int64_t v = 2; v < offset.size(); ++v) offset[v] += offset[v - 1];
        for (size_t k = 0; k < firsts.size(); ++k) first[offset[seconds[k] + 1]++] = firsts[k];
    }
};

}  // namespace

PairTable::PairTable(int64_t n_row, std::span<const int32_t> label, std::span<const int32_t> first,
                     std::span<const int32_t> second) {
    const auto n_point = static_cast<int64_t>(label.size());
    if (first.size() != second.size())
        throw Error(Status::shape, "pairs have " + std::to_string(first.size()) + " first and " +
                                       std::to_string(second.size()) +
                                       " second points, expected lists of one length");
    if (n_point > INT32_MAX)
        throw Error(Status::limit, "pairs of " + std::to_string(n_point) +
                                       " points: at most 2^31 - 1 are possible on a rank");
    if (n_row < 0 || n_row > n_point)
        throw Error(Status::shape, "pairs in " + std::to_string(n_row) + " rows of " +
                                       std::to_string(n_point) +
                                       " points: there are at most as many rows as points");
    check_points("first", first, n_row);
    check_points("second", second, n_point);

    const BySecond by_second(n_point, first, second);
    const auto is_positive = [&](int64_t u, int64_t v) {
        return label[u] >= 0 && label[u] == label[v];
    };
    offset_ = Buffer<int64_t>(n_row + 1);
    positive_ = Buffer<int64_t>(n_row);
    point_ = Buffer<int32_t>(static_cast<int64_t>(first.size()));
    for (size_t k = 0; k < first.size(); ++k) {
        ++offset_[first[k] + 1];
        if (!is_positive(first[k], second[k])) ++positive_[first[k]];
    }
    for (int64_t u = 0; u < n_row; ++u) {
        offset_[u + 1] += offset_[u];
        positive_[u] += offset_[u];
    }
    // Second points are processed in ascending order, so they ascend in each row.
    Buffer<int64_t> next_negative(n_row), next_positive(n_row);
    std::copy(offset_.begin(), offset_.begin() + n_row, next_negative.begin());
    std::copy(positive_.begin(), positive_.end(), next_positive.begin());
    for (int64_t v = 0; v < n_point; ++v) {
        for (int64_t k = by_second.offset[v]; k < by_second.offset[v + 1]; ++k) {
            const int32_t u = by_second.first[k];
            int64_t& next = is_positive(u, v) ? next_positive[u] : next_negative[u];
            point_[next++] = static_cast<int32_t>(v);
        }
    }
}

bool is_symmetric(const PairRows& rows) {
    // First points ascend: the reverses of the pairs that end in v must occur in the order of row
    // v.
    Buffer<int64_t> next_negative(rows.n_row), next_positive(rows.n_row);
    std::copy(rows.offset, rows.offset + rows.n_row, next_negative.begin());
    std::copy(rows.positive, rows.positive + rows.n_row, next_positive.begin());
    for (int64_t u = 0; u < rows.n_row; ++u) {
        for (int64_t k = rows.offset[u]; k < rows.offset[u + 1]; ++k) {
            const int32_t v = rows.point[k];
            if (v >= rows.n_row) return false;
            const bool is_positive = k >= rows.positive[u];
            const int64_t end = is_positive ? rows.offset[v + 1] : rows.positive[v];
            int64_t& next = is_positive ? next_positive[v] : next_negative[v];
            if (next == end || rows.point[next++] != u) return false;
        }
    }
    return true;
}

void count_positive(const PairRows& rows, std::span<const int32_t> label,
                    std::span<int64_t> counts) {
    for (int64_t u = 0; u < rows.n_row; ++u) {
        if (rows.n_positive(u) > 0)
            counts[static_cast<size_t>(label[static_cast<size_t>(u)])] += rows.n_positive(u);
    }
}

template <class T>
void pair_weights(std::span<const int64_t> counts, std::span<const int32_t> label,
                  std::span<T> weight) {
    const auto n_zero = std::count(counts.begin(), counts.end(), int64_t{0});
    const auto n_particle = static_cast<double>(static_cast<int64_t>(counts.size()) - n_zero);
    for (size_t i = 0; i < label.size(); ++i) {
        const int64_t count = label[i] < 0 ? 0 : counts[static_cast<size_t>(label[i])];
        weight[i] = count == 0 ? T(0) : T(1 / (n_particle * static_cast<double>(count)));
    }
}

template void pair_weights(std::span<const int64_t>, std::span<const int32_t>, std::span<float>);
template void pair_weights(std::span<const int64_t>, std::span<const int32_t>, std::span<double>);

}  // namespace surrogate::kernels::losses
