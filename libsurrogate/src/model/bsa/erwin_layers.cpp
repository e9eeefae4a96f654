// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_layers.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/bsa/point_chunks.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::Linear;

namespace {

constexpr double norm_eps = 1e-5;

/// Computes weight, bias and scale of a NormedLinear.
template <class T>
struct Fold {
    Linear<T> linear;
    int64_t n_norm;
    const T *weight, *bias, *mean, *variance;

    int64_t weight_size() const { return linear.n_out * linear.n_in; }
    int64_t size() const { return weight_size() + linear.n_out + n_norm; }
    void operator()(T* to) const {
        T* const to_bias = to + weight_size();
        T* const to_scale = to_bias + linear.n_out;
        for (int64_t c = 0; c < n_norm; ++c) to_scale[c] = static_cast<T>(scale(c));
        for (int64_t r = 0; r < linear.n_out; ++r) {
            const int64_t c = r % n_norm;
            const double s = scale(c);
            for (int64_t k = 0; k < linear.n_in; ++k)
                to[r * linear.n_in + k] = static_cast<T>(linear.weight[r * linear.n_in + k] * s);
            const double shift = static_cast<double>(linear.bias[r]) - static_cast<double>(mean[c]);
            to_bias[r] = static_cast<T>(shift * s + static_cast<double>(bias[c]));
        }
    }
    double scale(int64_t c) const {
        return static_cast<double>(weight[c]) /
               std::sqrt(static_cast<double>(variance[c]) + norm_eps);
    }
};

template <class T>
NormedLinear<T> normed(const Weights<T>& weights, const std::string& name, int64_t n_norm) {
    const std::string norm = name + "norm.";
    const Fold<T> fold{weights.linear(name + "proj"),     n_norm,
                       weights.at(norm + "weight"),       weights.at(norm + "bias"),
                       weights.at(norm + "running_mean"), weights.at(norm + "running_var")};
    for (int64_t c = 0; c < n_norm; ++c) {
        if (fold.variance[c] >= 0) continue;
        throw Error(Status::bad_file, "tensor '" + norm + "running_var' holds " +
                                          number_text(static_cast<double>(fold.variance[c])) +
                                          " at index " + std::to_string(c) +
                                          ", expected a variance of at least 0");
    }
    NormedLinear<T> result;
    result.derived = weights.derive(fold.size(), fold);
    result.linear = fold.linear;
    result.linear.weight = result.derived.data();
    result.linear.bias = result.linear.weight + fold.weight_size();
    result.scale = result.linear.bias + fold.linear.n_out;
    return result;
}

}  // namespace

template <class T>
NormedSums<T>::NormedSums(const Weights<T>& weights, const std::string& name, int64_t n_norm,
                          int n_thread)
    : master_(weights.master()),
      proj_(name + "proj"),
      norm_(name + "norm"),
      linear_(weights.linear(name + "proj")),
      weight_(weights.at(name + "norm.weight")),
      mean_(weights.at(name + "norm.running_mean")),
      variance_(weights.at(name + "norm.running_var")),
      n_norm_(n_norm),
      memory_(set_size() * n_thread) {}

template <class T>
void NormedSums<T>::move_to(GradientSums& sums, int thread) {
    const kernels::LinearGradient from = combined(thread);
    if (!sums.is_wanted()) {
        std::fill_n(from.weight, set_size(), 0.0);
        return;
    }
    double* const of_scale = scale(thread);
    const Gradients gradients(master_, sums.open(thread));
    const kernels::LinearGradient to = gradients.linear(proj_);
    const kernels::NormGradient to_norm = gradients.layer_norm(norm_);
    for (int64_t r = 0; r < linear_.n_out; ++r) {
        const int64_t c = r % n_norm_;
        const double s = static_cast<double>(weight_[c]) /
                         std::sqrt(static_cast<double>(variance_[c]) + norm_eps);
        for (int64_t k = r * linear_.n_in; k < (r + 1) * linear_.n_in; ++k) {
            to.weight[k] += s * from.weight[k];
            of_scale[c] += static_cast<double>(linear_.weight[k]) * from.weight[k];
        }
        to.bias[r] += s * from.bias[r];
        of_scale[c] +=
            (static_cast<double>(linear_.bias[r]) - static_cast<double>(mean_[c])) * from.bias[r];
        to_norm.bias[c] += from.bias[r];
    }
    for (int64_t c = 0; c < n_norm_; ++c)
        to_norm.weight[c] += of_scale[c] / std::sqrt(static_cast<double>(variance_[c]) + norm_eps);
    for (const WeightName& name : {proj_, norm_}) PointChunks::close(master_, sums, thread, name);
    std::fill_n(from.weight, set_size(), 0.0);
}

template class NormedSums<float>;
template class NormedSums<double>;

template <class T>
Layers<T>::Layers(const Config& config, const std::shared_ptr<const MasterWeights>& master)
    : weights(std::make_shared<const Weights<T>>(master)),
      embed(weights->linear(embed_name(config))) {
    if (config.features == Features::fourier) fourier = weights->at("pos_enc.linear.weight");
    if (config.features == Features::linear) positions = weights->linear("pos_enc");
    for (int64_t t = 0; t < config.n_step; ++t) {
        const std::string message = message_name(config, t), update = update_name(config, t);
        steps.push_back({weights->linear(message + "0"), weights->linear(update + "0"),
                         weights->layer_norm(message + "2", norm_eps),
                         weights->layer_norm(update + "1", norm_eps)});
    }
    for (const bsa::Config& stage : config.encoders)
        encoders.push_back(std::make_unique<const bsa::Layers<T>>(stage, weights));
    for (const bsa::Config& stage : config.decoders)
        decoders.push_back(std::make_unique<const bsa::Layers<T>>(stage, weights));
    for (int64_t l = 0; l < config.n_stride(); ++l) {
        const auto at = static_cast<size_t>(l);
        pools.push_back(normed(*weights, pool_name(config, l), config.width[at + 1]));
        unpools.push_back(normed(*weights, unpool_name(config, l), config.width[at]));
    }
}

template struct Layers<float>;
template struct Layers<double>;

}  // namespace surrogate::impl::bsa::erwin
