// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::bsa {

/// Sums of parameter gradients in double, one set per thread, in the layout of the kernels. A part
/// consists of the parameters that one pass of the backward pass adds to.
class ParameterSums {
public:
    void clear() { std::fill(memory_.begin(), memory_.end(), 0.0); }
    /// Adds `other`, which must have the same config.
    void add(const ParameterSums& other);
    int64_t bytes() const { return memory_.bytes(); }

protected:
    void clear(Range part) {
        std::fill(memory_.data() + part.begin, memory_.data() + part.end, 0.0);
    }

    kernels::Buffer<double> memory_;
};

/// Arena of a thread in GradientSums, which receives sums.
struct SumTarget {
    const MasterWeights& master;
    GradientSums& sums;
    int thread = 0;
};

/// Gradient sums of a layer in the layout of the kernels: for scaled queries and ordered gates.
class LayerSums : public ParameterSums {
public:
    /// start: norm1, qkv, position, gates of tokens; finish: norm2, out, mlp
    enum Part { start, finish, static_gate, distance, coarse, n_part };

    /// Keeps a reference to `config`, which must outlive this object. Allocates.
    explicit LayerSums(const Config& config);
    /// Sets whether sums are wanted; if not, all addresses are null, and move_to() does nothing.
    void want(bool is_wanted) { lay_out(is_wanted ? memory_.data() : nullptr); }
    /// Adds the sums of a part to the gradients of the file's tensors, closes these, and clears the
    /// part. name: prefix of the layer, see layer_name().
    void move_to(const SumTarget& target, const WeightName& name, Part part);

    kernels::NormGradient norm1, norm2;
    kernels::LinearGradient position, q, k, v, out, gates;
    std::array<kernels::LinearGradient, 2> k_coarse, v_coarse, q_coarse;
    std::array<kernels::LinearGradient, 3> mlp;
    double* sigma = nullptr;         ///< (H), null if not trained
    double* static_gates = nullptr;  ///< (3H), GateRows

private:
    int64_t lay_out(double* memory);

    const Config* config_;
    std::array<Range, n_part> parts_;  // of memory_
};

/// Gradient sums of embedding and head.
class EndSums : public ParameterSums {
public:
    enum Part { embedding, head, n_part };

    /// Keeps a reference to `config`, which must outlive this object. Allocates.
    explicit EndSums(const Config& config);
    /// Sets whether sums are wanted; if not, all addresses are null, and move_to() does nothing.
    void want(bool is_wanted) { lay_out(is_wanted ? memory_.data() : nullptr); }
    /// Moves a part as LayerSums::move_to().
    void move_to(const SumTarget& target, Part part);

    double* fourier = nullptr;  ///< (c_in / 2, d)
    kernels::LinearGradient positions, embed, head1, head2;

private:
    int64_t lay_out(double* memory);

    const Config* config_;
    std::array<Range, n_part> parts_;  // of memory_
};

}  // namespace surrogate::impl::bsa
