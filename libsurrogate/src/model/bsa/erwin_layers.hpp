// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/thread_sums.hpp"

namespace surrogate::impl::bsa::erwin {

/// Weights of a step of message passing: along an edge from j to i, and at a point.
template <class T>
struct StepWeights {
    kernels::Linear<T> message, update;
    kernels::Norm<T> message_norm, update_norm;
};

/// An affine layer followed by batch norm in evaluation mode, combined into one affine layer:
///   s (W u + b - mean) + beta,   s = weight / sqrt(var + 1e-5)
/// Row r of W belongs to channel r % n of the norm's n channels.
template <class T>
struct NormedLinear {
    kernels::Linear<T> linear;
    const T* scale = nullptr;  ///< s (n)
    Derived<T> derived;
};

/// Sums of the gradients of a NormedLinear: first of the combined layer, then of the tensors of the
/// file, with the statistics of the norm as constants.
template <class T>
struct NormedSums {
    /// Adds the tensors name + "proj" and name + "norm", whose norm has n_norm channels.
    NormedSums(ThreadSums& sums, const Weights<T>& weights, const std::string& name,
               int64_t n_norm);
    /// Computes the gradients of the tensors in the set of thread 0 from the sums of the
    /// combined layer.
    void separate(ThreadSums& sums) const;

    kernels::Linear<T> linear;
    const T *weight, *mean, *variance;  ///< of the norm
    ThreadSums::Layer combined;
    ThreadSums::Part scale;  ///< (n_norm) of s, without its part in `combined`
    ThreadSums::Layer proj, norm;
};

/// All weights of a U-net in one precision.
template <class T>
struct Layers {
    /// Derives the layers from `master`, which must have the names and shapes of layout(config).
    /// Local. Throws bad_file for a negative variance.
    Layers(const Config& config, const std::shared_ptr<const MasterWeights>& master);

    std::shared_ptr<const Weights<T>> weights;
    const T* fourier = nullptr;    ///< (c_in / 2, d)
    kernels::Linear<T> positions;  ///< linear features only
    kernels::Linear<T> embed;
    std::vector<StepWeights<T>> steps;
    std::vector<std::unique_ptr<const bsa::Layers<T>>> encoders, decoders;  ///< see Config
    std::vector<NormedLinear<T>> pools, unpools;                            ///< (L)
};

}  // namespace surrogate::impl::bsa::erwin
