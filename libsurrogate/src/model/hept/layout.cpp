// SPDX-License-Identifier: Apache-2.0
// Names and shapes of all weights.
#include "libsurrogate/src/model/family/tensor_layout.hpp"
#include "libsurrogate/src/model/hept/config.hpp"

namespace surrogate::impl::hept {

namespace {

/// Prefix of tensors in files that are not parameters: random tables that training does not change.
constexpr const char* tables = "check/tables/";

void add_layer(Layout& layout, const Config& c, int64_t l) {
    const std::string name = layer_name(l);
    const int64_t d = c.h_dim, n_inner = c.num_heads * d;
    for (const char* which : {"w_q", "w_k", "w_v"})
        layout.push_back({name + which + ".weight", {n_inner, d}});
    add_linear(layout, name + "attn.out_linear", n_inner, d);
    layout.push_back({name + "attn.e2lsh.alpha",
                      {c.num_heads, c.n_query(), c.n_hashes},
                      false,
                      std::string(tables) + "alpha/" + std::to_string(l),
                      true});
    if (c.has_beta || c.is_padding_open)
        layout.push_back({name + "attn.e2lsh.beta", {1, c.n_hashes}, c.is_padding_open, {}, true});
    add_norm(layout, name + "norm1", d);
    add_norm(layout, name + "norm2", d);
    add_linear(layout, name + "ff.0", d, d);
    add_linear(layout, name + "ff.2", d, d);
    add_linear(layout, name + "w_rpe", c.num_w_per_dist * (c.coords_dim - 1), n_inner);
    layout.back().is_fixed = true;  // the bias is not used
}

/// Adds five linear layers with four norms between them.
void add_mlp(Layout& layout, const Config& c) {
    const int64_t m = c.n_embedding(), wide = Config::mlp_width;
    const std::string name = "mlp_out.";
    for (int i = 0; i < 5; ++i)
        add_linear(layout, name + "lins." + std::to_string(i), i == 0 ? m : wide,
                   i == 4 ? m : wide);
    for (int i = 0; i < 4; ++i) add_norm(layout, name + "norms." + std::to_string(i), wide);
}

}  // namespace

std::string layer_name(int64_t layer) {
    return "attns." + std::to_string(layer) + ".";
}

int64_t Config::n_tensor() const {
    const int64_t a_layer = 16 + (has_beta || is_padding_open ? 1 : 0);
    return 1 + (is_pileup ? 1 : 0) + 4 + a_layer * n_layers + 1 + 18 + (num_classes > 0 ? 2 : 0);
}

std::vector<TensorSpec> layout(const Config& c) {
    Layout layout;
    layout.push_back(
        {"regions", {c.n_hashes, 2, c.num_heads}, false, std::string(tables) + "regions", true});
    if (c.is_pileup)
        layout.push_back({"pids_enc.weight", {Config::n_class_of_particle, Config::class_width}});
    add_linear(layout, "feat_encoder.0", c.n_feature(), c.h_dim);
    add_linear(layout, "feat_encoder.2", c.h_dim, c.h_dim);
    for (int64_t l = 0; l < c.n_layers; ++l) add_layer(layout, c, l);
    layout.push_back({"W.weight", {c.n_embedding(), c.h_dim * (c.n_layers + 1)}});
    add_mlp(layout, c);
    if (c.num_classes > 0) add_linear(layout, "out_proj", c.n_embedding(), c.num_classes);
    return layout;
}

}  // namespace surrogate::impl::hept
