// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/config.hpp"

#include <cmath>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::flare {

using kernels::Activation;

namespace {

constexpr int64_t max_width = 1 << 20;  // bounds every product of two widths below 2^41

int64_t hidden_width(int64_t channels, double ratio, const char* key) {
    const double width =
        static_cast<double>(channels) * ratio;  // int(C * ratio): product in double, truncated
    if (!(width >= 1 && width <= static_cast<double>(max_width))) {
        throw Error(Status::bad_file, std::string("card: network.") + key +
                                          " gives a hidden width of " + std::to_string(width) +
                                          ", outside 1 .. " + std::to_string(max_width));
    }
    return static_cast<int64_t>(width);
}

Activation parse_activation(const std::string& name) {
    if (name == "gelu") return Activation::gelu_tanh;
    if (name == "silu") return Activation::silu;
    throw Error(Status::bad_file,
                "card: network.act must be gelu, silu or null, is '" + printable(name) + "'");
}

void require_class(const std::string& model) {
    if (model == "FLAREModel" || model == "FLAREExperimentalModel") return;
    if (model == "BigFLAREModel" || model == "ModelWrapper") {
        throw Error(Status::not_supported,
                    "FLARE variant '" + model + "' is not built; built: FLAREModel");
    }
    throw Error(Status::bad_file, "card: network.model '" + printable(model) +
                                      "' is not a class of FLARE; built: FLAREModel");
}

}  // namespace

double MlpShape::flops() const {
    const auto product = [](int64_t a, int64_t b) {
        return 2.0 * static_cast<double>(a) * static_cast<double>(b);
    };
    if (n_inner < 0) return product(n_in, n_out);
    return product(n_in, n_hidden) + n_inner * product(n_hidden, n_hidden) +
           product(n_hidden, n_out);
}

int64_t Config::n_tensor() const {
    const int64_t norm = rmsnorm ? 1 : 2;
    const int64_t block = 2 * norm + 1 + (qk_norm ? 2 * norm : 0) + 2 +
                          2 * (k_proj.n_layer() + v_proj.n_layer() + ffn.n_layer());
    return 2 * (in_proj.n_layer() + out_proj.n_layer()) + (out_proj_norm ? norm : 0) +
           num_blocks * block;
}

Config parse_config(const nlohmann::json& network) {
    if (network.is_object() && network.contains("model") && network["model"].is_string()) {
        require_class(network["model"].get<std::string>());
    }
    Hyperparameters read(network, "FLAREModel");
    Config c;
    require_class(read.text("model", "FLAREModel"));
    c.in_dim = read.integer("in_dim", 1, max_width, 0);
    c.out_dim = read.integer("out_dim", 1, max_width, 0);
    c.channel_dim = read.integer("channel_dim", 1, max_width, 64);
    c.num_blocks = read.integer("num_blocks", 0, 10000, 8);
    c.num_heads = read.integer("num_heads", 1, c.channel_dim, c.channel_dim / 8);
    c.num_latents = read.integer("num_latents", 1, max_width, 0);
    c.activation = parse_activation(read.text("act", "gelu"));
    c.rmsnorm = read.boolean("rmsnorm", false);
    c.out_proj_norm = read.boolean("out_proj_norm", true);
    c.qk_norm = read.boolean("qk_norm", false);
    c.attn_scale = read.positive("attn_scale", 1.0);
    const int io = static_cast<int>(read.integer("num_layers_in_out_proj", -1, 1000, 2));
    const int k = static_cast<int>(read.integer("num_layers_k_proj", -1, 1000, 3));
    const int v = static_cast<int>(read.integer("num_layers_v_proj", -1, 1000, 3));
    const int ffn = static_cast<int>(read.integer("num_layers_ffn", -1, 1000, 3));
    const double k_ratio = read.positive("k_proj_mlp_ratio", 1.0);
    const double v_ratio = read.positive("v_proj_mlp_ratio", 1.0);
    const double ffn_ratio = read.positive("ffn_mlp_ratio", 1.0);
    read.refuse_unknown();

    if (c.in_dim == 0) throw Error(Status::bad_file, "card: network.in_dim is missing");
    if (c.out_dim == 0) throw Error(Status::bad_file, "card: network.out_dim is missing");
    if (c.num_latents == 0) throw Error(Status::bad_file, "card: network.num_latents is missing");
    if (c.num_heads == 0 || c.channel_dim % c.num_heads != 0) {
        throw Error(Status::bad_file, "card: network.num_heads (" + std::to_string(c.num_heads) +
                                          ") must divide channel_dim (" +
                                          std::to_string(c.channel_dim) + ")");
    }
    const int64_t channels = c.channel_dim;
    c.in_proj = {c.in_dim, channels, channels, io, false, true};
    c.out_proj = {channels, channels, c.out_dim, io, true, false};
    c.k_proj = {channels, hidden_width(channels, k_ratio, "k_proj_mlp_ratio"), channels, k, true,
                true};
    c.v_proj = {channels, hidden_width(channels, v_ratio, "v_proj_mlp_ratio"), channels, v, true,
                true};
    c.ffn = {channels, hidden_width(channels, ffn_ratio, "ffn_mlp_ratio"), channels, ffn, true,
             true};
    return c;
}

namespace {

using Layout = std::vector<TensorSpec>;

void add_linear(Layout& layout, const std::string& name, int64_t n_in, int64_t n_out) {
    layout.push_back({name + ".weight", {n_out, n_in}});
    layout.push_back({name + ".bias", {n_out}});
}

void add_mlp(Layout& layout, const std::string& name, const MlpShape& mlp) {
    if (mlp.n_inner < 0) {
        add_linear(layout, name + ".fc", mlp.n_in, mlp.n_out);
        return;
    }
    add_linear(layout, name + ".fc1", mlp.n_in, mlp.n_hidden);
    for (int i = 0; i < mlp.n_inner; ++i) {
        add_linear(layout, name + ".fcs." + std::to_string(i), mlp.n_hidden, mlp.n_hidden);
    }
    add_linear(layout, name + ".fc2", mlp.n_hidden, mlp.n_out);
}

void add_norm(Layout& layout, const std::string& name, int64_t n, bool rms) {
    layout.push_back({name + ".weight", {n}});
    if (!rms) layout.push_back({name + ".bias", {n}});
}

void add_block(Layout& layout, const std::string& name, const Config& c) {
    add_norm(layout, name + ".norm1", c.channel_dim, c.rmsnorm);
    layout.push_back({name + ".att.latent_q", {c.channel_dim, c.num_latents}});
    if (c.qk_norm) {
        add_norm(layout, name + ".att.q_norm", c.head_dim(), c.rmsnorm);
        add_norm(layout, name + ".att.k_norm", c.head_dim(), c.rmsnorm);
    }
    add_mlp(layout, name + ".att.k_proj", c.k_proj);
    add_mlp(layout, name + ".att.v_proj", c.v_proj);
    add_linear(layout, name + ".att.out_proj", c.channel_dim, c.channel_dim);
    add_norm(layout, name + ".norm2", c.channel_dim, c.rmsnorm);
    add_mlp(layout, name + ".mlp", c.ffn);
}

}  // namespace

std::vector<TensorSpec> layout(const Config& c) {
    Layout layout;
    add_mlp(layout, "in_proj", c.in_proj);
    for (int64_t i = 0; i < c.num_blocks; ++i) add_block(layout, "blocks." + std::to_string(i), c);
    if (c.out_proj_norm) add_norm(layout, "out_proj.0", c.channel_dim, c.rmsnorm);
    add_mlp(layout, "out_proj.1", c.out_proj);
    return layout;
}

}  // namespace surrogate::impl::flare
