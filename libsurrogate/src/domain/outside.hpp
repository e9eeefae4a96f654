// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"

namespace surrogate::impl {

/// Values of one input outside the range that the card says: extrapolation. Values that are not
/// finite are not counted here.
struct Outside {
    int64_t n = 0;
    double worst = 0;     ///< of n > 0: the value farthest outside, of two the larger
    double distance = 0;  ///< of that value from the range; half of it, which cannot overflow

    void add(double value, double min, double max) {
        join({1, value, value > max ? value / 2 - max / 2 : min / 2 - value / 2});
    }
    void join(const Outside& other) {
        if (other.n == 0) return;
        const bool is_worse = n == 0 || other.distance > distance ||
                              (other.distance == distance && other.worst > worst);
        n += other.n;
        if (!is_worse) return;
        worst = other.worst;
        distance = other.distance;
    }
};

/// The same for all columns of a run, counted by its threads.
class OutsideCounts {
public:
    OutsideCounts() = default;
    OutsideCounts(int n_thread, int64_t n_column)
        : n_column_(n_column),
          stride_((n_column + per_line) / per_line * per_line),
          counts_(n_thread * stride_) {}

    void clear() { std::fill(counts_.begin(), counts_.end(), Outside{}); }
    /// Returns the counters (n_column) of a thread.
    Outside* of(int thread) { return counts_.data() + thread * stride_; }
    /// Joins the counters (n_column) of all threads into the first thread's and returns them.
    std::span<const Outside> join() {
        for (int64_t i = stride_; i < counts_.size(); ++i) {
            counts_[i % stride_].join(counts_[i]);
            counts_[i] = {};
        }
        return {counts_.data(), static_cast<size_t>(n_column_)};
    }
    std::span<const Outside> joined() const {
        return {counts_.data(), static_cast<size_t>(n_column_)};
    }
    int64_t bytes() const { return counts_.bytes(); }

private:
    static constexpr int64_t per_line = 8;  // threads keep off each other's cache lines
    int64_t n_column_ = 0, stride_ = 0;
    kernels::Buffer<Outside> counts_;  // (n_thread, stride)
};

}  // namespace surrogate::impl
