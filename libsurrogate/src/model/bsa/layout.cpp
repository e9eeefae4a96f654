// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::bsa {

namespace {

void add_coarse(Layout& layout, const std::string& name, const Config& c) {
    add_linear(layout, name + ".0", c.block_size * c.head_dim(), c.n_coarse_hidden);
    add_linear(layout, name + ".2", c.n_coarse_hidden, c.head_dim());
}

void add_attention(Layout& layout, const std::string& name, const Config& c) {
    if (c.has_balls())
        layout.push_back({name + "sigma_att", {1, c.n_head, 1, 1}, false, {}, !c.trains_sigma});
    add_linear(layout, name + "qkv", c.n_channel, 3 * c.n_channel);
    add_linear(layout, name + "out_proj", c.n_channel, c.n_channel);
    add_linear(layout, name + "position_proj", c.n_axis, c.n_channel);
    if (!c.is_sparse()) return;
    if (c.compresses_by_mlp) add_coarse(layout, name + "k_compress_mlp", c);
    if (c.compresses_by_mlp) add_coarse(layout, name + "v_compress_mlp", c);
    if (c.has_query_mlp) add_coarse(layout, name + "q_compress_mlp", c);
    if (c.has_token_gates) {
        add_linear(layout, name + "gated_attention.to_strategy.0", c.n_channel, 3 * c.n_head);
    } else {
        layout.push_back({name + "gated_attention.gates", {1, c.n_head, 2, 1, 1}});
    }
}

void add_layer(Layout& layout, const std::string& name, const Config& c) {
    add_norm(layout, name + "norm1", c.n_channel, true);
    add_norm(layout, name + "norm2", c.n_channel, true);
    add_attention(layout, name + "attn.", c);
    add_linear(layout, name + "mlp.w1", c.n_channel, c.n_hidden);
    add_linear(layout, name + "mlp.w2", c.n_channel, c.n_hidden);
    add_linear(layout, name + "mlp.w3", c.n_hidden, c.n_channel);
}

Layout single_layer(const Config& c) {
    Layout layout{{"sigma_att", {1, c.n_head, 1, 1}}};
    add_linear(layout, "qkv", c.n_channel, 3 * c.n_channel);
    add_linear(layout, "proj", c.n_channel, c.n_channel);
    add_linear(layout, "pe_proj", c.n_axis, c.n_channel);
    return layout;
}

}  // namespace

int64_t Config::n_tensor() const {
    Config one_layer = *this;
    one_layer.depth = std::min<int64_t>(depth, 1);
    const auto outside = std::ssize(layout(one_layer));
    if (depth <= 1) return outside;
    one_layer.depth = 0;
    const auto without = std::ssize(layout(one_layer));
    return without + depth * (outside - without);
}

std::vector<TensorSpec> layout(const Config& c) {
    if (c.is_single_layer) return single_layer(c);
    Layout layout;
    if (c.features == Features::fourier) {
        layout.push_back({"pos_enc.linear.weight", {c.n_feature / 2, c.n_axis}});
    } else if (c.features == Features::linear) {
        add_linear(layout, "pos_enc", c.n_axis, c.n_feature);
    }
    add_linear(layout, "main_model.embed", c.n_feature, c.n_channel);
    for (int64_t i = 0; i < c.depth; ++i)
        add_layer(layout, "main_model.layers." + std::to_string(i) + ".", c);
    add_linear(layout, "pred_head.0", c.n_channel, c.n_channel);
    add_linear(layout, "pred_head.2", c.n_channel, c.n_output);
    return layout;
}

}  // namespace surrogate::impl::bsa
