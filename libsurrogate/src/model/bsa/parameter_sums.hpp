// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"

namespace surrogate::impl::bsa {

/// Sums of parameter gradients in double, one set per thread. The sets are added to each other,
/// then to the gradients of the file's tensors, an arena like MasterWeights::gradients().
class ParameterSums {
public:
    void clear();
    /// Adds `other`, which must have the same config.
    void add(const ParameterSums& other);
    int64_t bytes() const { return memory_.bytes(); }

protected:
    kernels::Buffer<double> memory_;
};

/// Gradient sums of a layer in the layout of the kernels: for scaled queries and ordered gates.
class LayerSums : public ParameterSums {
public:
    /// Keeps a reference to `config`, which must outlive this object. Allocates.
    explicit LayerSums(const Config& config);
    /// Adds the sums to `gradients`. name: prefix of the layer, see layer_name().
    void add_to(const MasterWeights& master, const WeightName& name,
                std::span<double> gradients) const;

    kernels::NormGradient norm1, norm2;
    kernels::LinearGradient position, q, k, v, out, gates;
    std::array<kernels::LinearGradient, 2> k_coarse, v_coarse, q_coarse;
    std::array<kernels::LinearGradient, 3> mlp;
    double* sigma = nullptr;         ///< (H), null if not trained
    double* static_gates = nullptr;  ///< (3H), GateRows

private:
    const Config* config_;
};

/// Gradient sums of embedding and head.
class EndSums : public ParameterSums {
public:
    /// Keeps a reference to `config`, which must outlive this object. Allocates.
    explicit EndSums(const Config& config);
    void add_to(const MasterWeights& master, std::span<double> gradients) const;

    double* fourier = nullptr;  ///< (c_in / 2, d)
    kernels::LinearGradient positions, embed, head1, head2;

private:
    const Config* config_;
};

}  // namespace surrogate::impl::bsa
