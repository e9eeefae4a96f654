// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/job/model_bytes.hpp"

namespace surrogate::tool {

/// Hyperparameters of a FLARE that the spectrum uses, with the defaults of its class.
struct FlareShape {
    bool is_ablation = false;  ///< BigFLAREModel, which has other names for some parts
    int64_t channel_dim = 0, num_blocks = 0, num_heads = 0, num_latents = 0;
    int64_t in_dim = 0, n_io_inner = 0;  ///< of in_proj and out_proj; -1: one affine layer
    bool rmsnorm = false, qk_norm = false, is_silu = false, shared_latents = false;
    double attn_scale = 1;
    int64_t head_dim() const { return channel_dim / num_heads; }
};

/// The model file of a FLARE whose blocks can be evaluated through the public interface. The
/// channels that enter a block are the prediction of a model that ends before the block and whose
/// last layers change nothing (x + act(0) = x, then the identity). Reads on rank 0; all functions
/// are collective.
class FlareCut {
public:
    /// Reads the weights of the file; `model` is loaded from it, so its card was checked.
    /// Collective. Throws Failure (bad_usage) for another family, a class or options whose mixing
    /// is not one matrix (sequences, latent blocks), and in_out_proj_ratio other than 1.
    FlareCut(const Job& job, const Model& model, const std::string& file);

    const FlareShape& shape() const { return shape_; }

    /// Returns a bare network: x [n, in_dim] -> y [n, channel_dim], the input of block `block`.
    Model stream_before(const Context& context, int64_t block) const;

    /// Returns the numbers of a weight, in C order, on all ranks.
    std::vector<double> weight(const std::string& name) const;
    bool has_weight(const std::string& name) const;

private:
    std::string cut_bytes(int64_t block) const;

    const Job& job_;
    FlareShape shape_;
    std::string card_;  ///< on all ranks
    ModelBytes bytes_;  ///< rank 0; without check case, names without prefixes of wrappers
};

}  // namespace surrogate::tool
