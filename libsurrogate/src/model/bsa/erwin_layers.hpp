// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/bsa/erwin_config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"

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

/// Sums of the gradients of a NormedLinear in double, one set per thread: of the combined layer.
/// move_to() converts them to gradients of the file's tensors, with the statistics of the norm as
/// constants.
template <class T>
class NormedSums {
public:
    /// Allocates. name: prefix of the tensors "proj" and "norm"; n_norm: channels of the norm.
    NormedSums(const Weights<T>& weights, const std::string& name, int64_t n_norm, int n_thread);

    /// Returns the sums of the combined layer, and of s without its part in them (n_norm).
    kernels::LinearGradient combined(int thread) {
        return {set(thread), set(thread) + linear_.n_in * linear_.n_out};
    }
    double* scale(int thread) { return combined(thread).bias + linear_.n_out; }

    /// Adds the sums of a thread to the gradients of the tensors, closes these, and clears the
    /// sums. Does not allocate.
    void move_to(GradientSums& sums, int thread);

    int64_t bytes() const { return memory_.bytes(); }

private:
    int64_t set_size() const { return (linear_.n_in + 1) * linear_.n_out + n_norm_; }
    double* set(int thread) { return memory_.data() + thread * set_size(); }

    const MasterWeights& master_;
    WeightName proj_, norm_;
    kernels::Linear<T> linear_;
    const T *weight_, *mean_, *variance_;  // of the norm
    int64_t n_norm_;
    kernels::Buffer<double> memory_;  // (n_thread, set_size)
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
