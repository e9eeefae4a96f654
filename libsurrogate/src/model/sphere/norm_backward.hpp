// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/norm/moments_backward.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/gradient_slot.hpp"
#include "libsurrogate/src/model/sphere/point_norm.hpp"

namespace surrogate::impl::sphere {

/// Backward of a PointNorm, with the moments that its last measure() found.
template <class T>
class NormBackward {
public:
    /// Keeps a reference: the norm must outlive it; name as given to it. Local.
    NormBackward(const Frame& frame, const PointNorm<T>& norm, const MasterWeights& master,
                 const std::string& name);

    /// Adds the norm's gradient at x of dy to g (rows, n_channel). Instance norms add up rows as
    /// GridMoments does, and rank 0 adds the gradients of their parameters, which every rank has;
    /// layer norms add one chunk per row. Returns false, on all ranks, if sums over the grid were
    /// not finite. Collective.
    bool back(Field<T>& x, Field<T>& dy, Field<T>& g, GradientSums& sums);

    LayerCost cost(const std::string& name) const { return norm_.cost(name); }

private:
    bool back_over_grid(Field<T>& x, Field<T>& dy, Field<T>& g, GradientSums& sums);

    const Frame& frame_;
    const PointNorm<T>& norm_;
    GradientPair slots_;
    Buffer<kernels::ChannelSlope<T>> slopes_;  // of instance norms
};

}  // namespace surrogate::impl::sphere
