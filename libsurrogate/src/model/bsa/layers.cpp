// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace surrogate::impl::bsa {

using kernels::Linear;
using kernels::Norm;
using kernels::NormKind;

double query_scale(const Config& config) {
    return std::numbers::log2e / std::sqrt(static_cast<double>(config.head_dim()));
}

int64_t QkvRows::row(int64_t part, int64_t channel) const {
    return is_interleaved ? 3 * channel + part : part * n_channel + channel;
}

QkvRows qkv_rows(const Config& config) {
    return {config.n_channel, !config.has_ends()};
}

std::string layer_name(const Config& config, int64_t layer) {
    if (config.is_single_layer) return "";
    return (config.is_stage() ? config.stage + "blocks." : "main_model.layers.") +
           std::to_string(layer) + ".";
}

namespace {

/// Weight (3C, C) and bias (3C) of qkv: queries, keys, values; the queries are scaled.
template <class T>
struct ScaledQkv {
    QkvRows rows;  ///< of the file
    double scale;
    const T* weight;
    const T* bias;

    int64_t n_channel = rows.n_channel;
    int64_t size() const { return 3 * n_channel * (n_channel + 1); }
    void operator()(T* to) const {
        T* const to_bias = to + 3 * n_channel * n_channel;
        for (int64_t part = 0; part < 3; ++part) {
            const double s = part == 0 ? scale : 1;
            for (int64_t channel = 0; channel < n_channel; ++channel) {
                const int64_t row = part * n_channel + channel, from = rows.row(part, channel);
                for (int64_t c = 0; c < n_channel; ++c)
                    to[row * n_channel + c] = static_cast<T>(weight[from * n_channel + c] * s);
                to_bias[row] = static_cast<T>(bias[from] * s);
            }
        }
    }
};

/// Converts a CoarseMlp of queries to scaled queries: its input is divided, its output multiplied.
template <class T>
struct ScaledCoarse {
    Linear<T> first, second;
    double scale;

    int64_t first_size() const { return first.n_out * first.n_in; }
    int64_t size() const { return first_size() + second.n_out * (second.n_in + 1); }
    void operator()(T* to) const {
        T* const to_second = to + first_size();
        T* const to_bias = to_second + second.n_out * second.n_in;
        for (int64_t i = 0; i < first_size(); ++i) to[i] = static_cast<T>(first.weight[i] / scale);
        for (int64_t i = 0; i < second.n_out * second.n_in; ++i)
            to_second[i] = static_cast<T>(second.weight[i] * scale);
        for (int64_t i = 0; i < second.n_out; ++i)
            to_bias[i] = static_cast<T>(second.bias[i] * scale);
    }
};

/// Reorders the rows of the gates' layer (3H, C) and its bias to the order of GateRows.
template <class T>
struct OrderedGates {
    Linear<T> layer;  // rows h*3 + branch
    int64_t size() const { return layer.n_out * (layer.n_in + 1); }
    void operator()(T* to) const {
        const GateRows rows{layer.n_out / 3};
        for (int64_t from = 0; from < layer.n_out; ++from) {
            const int64_t row = rows.row(from / 3, from % 3);
            std::copy_n(layer.weight + from * layer.n_in, layer.n_in, to + row * layer.n_in);
            to[layer.n_out * layer.n_in + row] = layer.bias[from];
        }
    }
};

/// Static gates (H, 2) of the compressed and the selected branch; the gate of the ball branch is 1.
template <class T>
struct StaticGates {
    int64_t n_head;
    const T* gates;
    int64_t size() const { return 3 * n_head; }
    void operator()(T* to) const {
        const GateRows rows{n_head};
        for (int64_t head = 0; head < n_head; ++head) {
            to[rows.row(head, 0)] = T(open_gate);
            to[rows.row(head, 1)] = gates[2 * head];
            to[rows.row(head, 2)] = gates[2 * head + 1];
        }
    }
};

/// Builds layers from weights by name.
template <class T>
class Source {
public:
    Source(const Config& config, const Weights<T>& weights) : config_(config), weights_(weights) {}

    LayerWeights<T> layer(int64_t index) const {
        const std::string name = layer_name(config_, index);
        const bool alone = config_.is_single_layer;
        LayerWeights<T> w;
        if (!alone) {
            w.norm1 = norm(name + "norm1");
            w.norm2 = norm(name + "norm2");
            const std::string mlp = name + (config_.is_stage() ? "swiglu." : "mlp.");
            w.mlp = {linear(mlp + "w1"), linear(mlp + "w2"), linear(mlp + "w3")};
        }
        const std::string attention = alone ? "" : name + (config_.is_stage() ? "BMSA." : "attn.");
        const bool is_erwin = !config_.has_ends();
        w.position = linear(attention + (is_erwin ? "pe_proj" : "position_proj"));
        w.out = linear(attention + (is_erwin ? "proj" : "out_proj"));
        set_qkv(attention, w);
        if (config_.has_balls()) set_sigma(attention, w);
        if (config_.is_sparse()) set_coarse(attention, w);
        if (config_.is_sparse()) set_gates(attention + "gated_attention.", w);
        return w;
    }

private:
    Linear<T> linear(const std::string& name) const { return weights_.linear(name); }
    Norm<T> norm(const std::string& name) const {
        // The machine epsilon of single precision, also in double.
        return {NormKind::rms, T(0x1p-23), weights_.at(name + ".weight"), nullptr};
    }

    void set_qkv(const std::string& name, LayerWeights<T>& w) const {
        const int64_t c = config_.n_channel;
        const ScaledQkv<T> scaled{qkv_rows(config_), query_scale(config_),
                                  weights_.at(name + "qkv.weight"), weights_.at(name + "qkv.bias")};
        w.qkv = weights_.derive(scaled.size(), scaled);
        const T* const weight = w.qkv.data();
        const T* const bias = weight + 3 * c * c;
        w.q = {c, c, weight, bias};
        w.k = {c, c, weight + c * c, bias + c};
        w.v = {c, c, weight + 2 * c * c, bias + 2 * c};
    }

    void set_sigma(const std::string& name, LayerWeights<T>& w) const {
        w.sigma = weights_.derive(
            config_.n_head, [sigma = weights_.at(name + "sigma_att"), n = config_.n_head](T* to) {
                for (int64_t h = 0; h < n; ++h)
                    to[h] = static_cast<T>(sigma[h] * std::numbers::log2e);
            });
    }

    CoarseMlp<T> coarse(const std::string& name) const {
        return {{linear(name + ".0"), linear(name + ".2")}, {}};
    }
    void set_coarse(const std::string& name, LayerWeights<T>& w) const {
        if (config_.compresses_by_mlp) w.k_coarse = coarse(name + "k_compress_mlp");
        if (config_.compresses_by_mlp) w.v_coarse = coarse(name + "v_compress_mlp");
        if (!config_.has_query_mlp) return;
        w.q_coarse = coarse(name + "q_compress_mlp");
        Linear<T>&first = w.q_coarse.layers[0], &second = w.q_coarse.layers[1];
        const ScaledCoarse<T> scaled{first, second, query_scale(config_)};
        w.q_coarse.scaled = weights_.derive(scaled.size(), scaled);
        first.weight = w.q_coarse.scaled.data();
        second.weight = first.weight + scaled.first_size();
        second.bias = second.weight + second.n_out * second.n_in;
    }

    void set_gates(const std::string& name, LayerWeights<T>& w) const {
        if (config_.has_token_gates) {
            const OrderedGates<T> ordered{linear(name + "to_strategy.0")};
            w.gate_rows = weights_.derive(ordered.size(), ordered);
            w.gates = ordered.layer;
            w.gates.weight = w.gate_rows.data();
            w.gates.bias = w.gates.weight + w.gates.n_out * w.gates.n_in;
        } else {
            const StaticGates<T> gates{config_.n_head, weights_.at(name + "gates")};
            w.gate_rows = weights_.derive(gates.size(), gates);
        }
    }

    const Config& config_;
    const Weights<T>& weights_;
};

}  // namespace

template <class T>
Layers<T>::Layers(const Config& config, const std::shared_ptr<const MasterWeights>& master)
    : Layers(config, std::make_shared<const Weights<T>>(master)) {}

template <class T>
Layers<T>::Layers(const Config& config, std::shared_ptr<const Weights<T>> shared)
    : weights(std::move(shared)) {
    const Source<T> source(config, *weights);
    for (int64_t i = 0; i < config.depth; ++i) layers.push_back(source.layer(i));
    if (config.has_head()) {
        head1 = weights->linear("pred_head.0");
        head2 = weights->linear("pred_head.2");
    }
    if (!config.has_ends()) return;
    if (config.features == Features::fourier) fourier = weights->at("pos_enc.linear.weight");
    if (config.features == Features::linear) positions = weights->linear("pos_enc");
    embed = weights->linear("main_model.embed");
}

template struct Layers<float>;
template struct Layers<double>;

}  // namespace surrogate::impl::bsa
