// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "coupling/spectrum/flare_cut.hpp"

namespace surrogate::tool {

/// Computes queries and keys of one block of FLARE, from which its scores are computed, in double
/// precision.
class FlareKeys {
public:
    /// Reads the layers of a block. Collective.
    FlareKeys(const FlareCut& cut, int64_t block);

    /// Returns (num_latents, head_dim), after its norm, times attn_scale.
    Eigen::MatrixXd queries(int64_t head) const;

    /// Returns the keys (channel_dim, n) of the heads, one above the other, after their norm.
    /// `stream` (channel_dim, n) is the input of the block, one point per column. Local.
    Eigen::MatrixXd keys(const Eigen::MatrixXd& stream) const;

private:
    struct Norm {
        Eigen::VectorXd weight, bias;  ///< bias empty: RMS
    };
    struct Layer {
        Eigen::MatrixXd weight;
        Eigen::VectorXd bias;
    };
    static Norm norm_of(const FlareCut& cut, const std::string& name);
    static void normalise(const Norm& norm, Eigen::Ref<Eigen::MatrixXd> x);
    static Layer layer_of(const FlareCut& cut, const std::string& name);
    void read_chain(const FlareCut& cut, const std::string& name);
    void activate(Eigen::MatrixXd& x) const;

    FlareShape shape_;
    std::vector<double> latents_;
    Norm norm_, query_norm_, key_norm_;
    std::vector<Layer> chain_;
};

}  // namespace surrogate::tool
