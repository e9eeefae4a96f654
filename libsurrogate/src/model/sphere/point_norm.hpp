// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"

namespace surrogate::impl::sphere {

/// Sums over all points of a grid, channel by channel, for instance norms. One for all norms of a
/// grid and width.
template <class T>
class GridMoments {
public:
    /// Allocates for the rows of this rank. Local.
    GridMoments(const Frame& frame, const Bands& bands, int64_t n_channel);

    /// Computes mean and biased variance of each channel of x over the whole grid. Returns false,
    /// on all ranks, if one of them is not finite. Fast mode: one all-reduce of 2 n_channel
    /// doubles. Reproducible mode: an all-gather of the sums of all rows, which are then added from
    /// north to south on every rank. Collective.
    bool measure(Field<T>& x);
    /// Computes sums of dy and of dy x over the whole grid for backward, as measure(). Collective.
    bool measure_slopes(Field<T>& x, Field<T>& dy);

    double sum(int64_t channel) const { return total_[channel]; }
    double product(int64_t channel) const { return total_[n_channel_ + channel]; }
    double mean(int64_t channel) const { return total_[channel]; }
    double variance(int64_t channel) const { return total_[n_channel_ + channel]; }
    int64_t n_channel() const { return n_channel_; }
    int64_t bytes_sent() const;
    int64_t bytes() const { return own_.bytes() + gathered_.bytes(); }

    int64_t n_point() const { return bands_.grid().n_lat * bands_.grid().n_lon; }

private:
    void add_rows(const double* sums, int64_t n_row);
    bool join_rows();

    const Frame& frame_;
    const Bands& bands_;
    int64_t n_channel_;
    int64_t most_rows_ = 0;    // of a rank
    Buffer<double> own_;       // (most_rows, 2, n_channel)
    Buffer<double> gathered_;  // (rank, most_rows, 2, n_channel), reproducible mode
    Buffer<double> total_;     // (2, n_channel) sums, or mean and variance
    std::vector<int> owner_;   // (n_lat)
};

template <class T>
class NormBackward;

/// The norm in front of a layer of a block: over channels, over the grid, or none.
template <class T>
class PointNorm {
public:
    PointNorm(const Frame& frame, BlockNorm kind, const Weights<T>& weights,
              const std::string& name, double eps, GridMoments<T>* moments);

    /// Computes the moments, see GridMoments::measure; does nothing for other norms. Collective.
    bool measure(Field<T>& x);
    /// Normalizes x; y may be x.
    void apply(Tile<const T> x, Tile<T> y) const;

    LayerCost cost(const std::string& name) const;

private:
    friend class NormBackward<T>;
    const Frame& frame_;
    BlockNorm kind_;
    double eps_;
    kernels::Norm<T> layer_;                       // layer norm
    const T *weight_ = nullptr, *bias_ = nullptr;  // instance norm
    GridMoments<T>* moments_;
    Buffer<T> scale_, shift_;
    Buffer<double> mean_, inverse_;  // of the last measure(): mean and 1 / sqrt(variance + eps)
};

}  // namespace surrogate::impl::sphere
