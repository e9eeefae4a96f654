// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/convolution_gradient.hpp"
#include "libsurrogate/src/model/sphere/gradient_slot.hpp"
#include "libsurrogate/src/model/sphere/resample_gradient.hpp"
#include "libsurrogate/src/model/sphere/segformer.hpp"

namespace surrogate::impl::sphere {

/// Runs the backward pass of an Upsampler: from the gradient of the output, which this rank has on
/// all rows that depend on its rows of the level, to the gradient of the level's features. No data
/// is exchanged.
template <class T>
class UpsamplerGradient {
public:
    /// Keeps references. first_channel, n_all: of the segmentation head, the columns of this level
    /// and all. Local.
    UpsamplerGradient(const Frame& frame, const Segformer& config, const Weights<T>& weights,
                      size_t index, Upsampler<T>& forward, int64_t first_channel, int64_t n_all);
    void require(Scratch<T>& scratch) const;

    /// Returns the output rows that are read, besides the rank's own.
    Range out_rows() const;
    /// Writes g (own rows of the level, n_channel). dy: the output's gradient; fine: own rows of
    /// the output. Gradients of weights have one chunk per row.
    void back(Scratch<T>& scratch, Field<T>& dy, Range fine, Field<T>& g, GradientSums& sums);

    void add_costs_to(std::vector<LayerCost>& list, const std::string& name) const;
    int64_t bytes() const;

private:
    void back_from_interpolation(Scratch<T>& scratch, Field<T>& dy, Field<T>& g,
                                 GradientSums& sums);
    void back_from_convolution(Scratch<T>& scratch, Field<T>& dy, Range fine, Field<T>& g,
                               GradientSums& sums);
    void add_head(const double* own, int thread, GradientSums& sums) const;
    void unfold(const double* folded, int thread, GradientSums& sums) const;
    double* sums_of(int thread) { return sums_.data() + thread * n_sum_; }

    const Frame& frame_;
    Upsampler<T>& forward_;
    int64_t n_out_, n_, first_channel_, n_all_;
    GradientPair mlp_;
    GradientSlot head_, weight_slot_;
    Field<T> part_;  // own rows of the level: gradient of the forward's part_
    std::optional<ResampleGradient<T>> resample_;
    std::optional<ConvolutionGradient<T>> convolution_;  // of the folded weights
    typename ConvolutionGradient<T>::Workspace rows_;
    Field<T> ring_;  // gradient of what the convolution read from its rings
    const T* weight_ = nullptr;
    int64_t n_entry_ = 0, n_sum_ = 0;  // of a row of weights; numbers of a thread in sums_
    Buffer<double> sums_;              // of a row: head (n_out, n), or folded weights
};

}  // namespace surrogate::impl::sphere
