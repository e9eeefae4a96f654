// SPDX-License-Identifier: Apache-2.0
#include "coupling/spectrum/flare_keys.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace surrogate::tool {

using Eigen::MatrixXd;

FlareKeys::Norm FlareKeys::norm_of(const FlareCut& cut, const std::string& name) {
    const auto weight = cut.weight(name + ".weight");
    Norm norm{Eigen::Map<const Eigen::VectorXd>(weight.data(), std::ssize(weight)), {}};
    if (!cut.has_weight(name + ".bias")) return norm;
    const auto bias = cut.weight(name + ".bias");
    norm.bias = Eigen::Map<const Eigen::VectorXd>(bias.data(), std::ssize(bias));
    return norm;
}

/// Normalizes the rows of each column. PyTorch's RMSNorm uses the machine epsilon of its type,
/// LayerNorm 1e-5.
void FlareKeys::normalise(const Norm& norm, Eigen::Ref<MatrixXd> x) {
    const bool is_layer = norm.bias.size() > 0;
    const double eps = is_layer ? 1e-5 : std::numeric_limits<double>::epsilon();
    if (is_layer) x.rowwise() -= x.colwise().mean().eval();
    const Eigen::RowVectorXd scale =
        (x.array().square().colwise().mean() + eps).sqrt().inverse().matrix();
    x.array().rowwise() *= scale.array();
    x.array().colwise() *= norm.weight.array();
    if (is_layer) x.colwise() += norm.bias;
}

FlareKeys::Layer FlareKeys::layer_of(const FlareCut& cut, const std::string& name) {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto weight = cut.weight(name + ".weight"), bias = cut.weight(name + ".bias");
    const auto n_out = std::ssize(bias);
    return {Eigen::Map<const RowMajor>(weight.data(), n_out, std::ssize(weight) / n_out),
            Eigen::Map<const Eigen::VectorXd>(bias.data(), n_out)};
}

void FlareKeys::read_chain(const FlareCut& cut, const std::string& name) {
    if (cut.has_weight(name + ".fc.weight")) {
        chain_.push_back(layer_of(cut, name + ".fc"));
        return;
    }
    chain_.push_back(layer_of(cut, name + ".fc1"));
    for (int64_t j = 0; cut.has_weight(name + ".fcs." + std::to_string(j) + ".weight"); ++j)
        chain_.push_back(layer_of(cut, name + ".fcs." + std::to_string(j)));
    chain_.push_back(layer_of(cut, name + ".fc2"));
}

FlareKeys::FlareKeys(const FlareCut& cut, int64_t block) : shape_(cut.shape()) {
    const std::string name = "blocks." + std::to_string(block) + ".";
    norm_ = norm_of(cut, name + (shape_.is_ablation ? "ln1" : "norm1"));
    latents_ = cut.weight(name + "att.latent_q");
    read_chain(cut, name + "att.k_proj");
    if (!shape_.qk_norm) return;
    query_norm_ = norm_of(cut, name + "att.q_norm");
    key_norm_ = norm_of(cut, name + "att.k_norm");
}

/// Returns the queries of a head. latent_q (C, M) is a view of the memory of (H, M, D), or of (M,
/// D) if all heads share it.
MatrixXd FlareKeys::queries(int64_t head) const {
    const int64_t n = shape_.num_latents, d = shape_.head_dim();
    const double* const first = latents_.data() + (shape_.shared_latents ? 0 : head * n * d);
    MatrixXd columns = Eigen::Map<const MatrixXd>(first, d, n);
    if (shape_.qk_norm) normalise(query_norm_, columns);
    return shape_.attn_scale * columns.transpose();
}

void FlareKeys::activate(MatrixXd& x) const {
    const double a = std::sqrt(2 / std::numbers::pi);
    const bool is_silu = shape_.is_silu;
    x = x.unaryExpr([a, is_silu](double u) {
        return is_silu ? u / (1 + std::exp(-u))
                       : 0.5 * u * (1 + std::tanh(a * (u + 0.044715 * u * u * u)));
    });
}

/// Applies norm1, then the chain k_proj, with residuals around every layer whose widths agree.
MatrixXd FlareKeys::keys(const MatrixXd& stream) const {
    MatrixXd x = stream;
    normalise(norm_, x);
    for (size_t j = 0; j < chain_.size(); ++j) {
        MatrixXd next = (chain_[j].weight * x).colwise() + chain_[j].bias;
        if (j + 1 < chain_.size()) activate(next);
        if (next.rows() == x.rows()) next += x;
        x = std::move(next);
    }
    const int64_t d = shape_.head_dim();
    for (int64_t head = 0; head < shape_.num_heads && shape_.qk_norm; ++head)
        normalise(key_norm_, x.middleRows(head * d, d));
    return x;
}

}  // namespace surrogate::tool
