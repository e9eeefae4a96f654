// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "coupling/spectrum/flare_cut.hpp"

namespace surrogate::tool {

/// Queries and keys of one block of FLARE in double precision: what its scores are made of.
class FlareKeys {
public:
    /// Collective.
    FlareKeys(const FlareCut& cut, int64_t block);

    /// (num_latents, head_dim), after its norm, times attn_scale.
    Eigen::MatrixXd queries(int64_t head) const;

    /// stream (channel_dim, n): what enters the block, a point a column. Returns (channel_dim, n),
    /// the heads' keys one above the other, after their norm. Local.
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
