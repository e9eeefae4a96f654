// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"

namespace surrogate::impl::sphere {

namespace {

void add_point_linear(Layout& list, const std::string& name, int64_t n_in, int64_t n_out) {
    list.push_back({name + ".weight", {n_out, n_in, 1, 1}});
    list.push_back({name + ".bias", {n_out}});
}

/// prefix: "" or "blocks.0.self_attn."
void add_attention(Layout& list, const std::string& prefix, const Attention& a) {
    list.push_back({prefix + "q_weights", {a.n_key, a.n_in, 1, 1}});
    list.push_back({prefix + "k_weights", {a.n_key, a.n_in, 1, 1}});
    list.push_back({prefix + "v_weights", {a.n_value, a.n_in, 1, 1}});
    list.push_back({prefix + "proj_weights", {a.n_value, a.n_value, 1, 1}});
    if (a.bias) {
        list.push_back({prefix + "q_bias", {a.n_key}});
        list.push_back({prefix + "k_bias", {a.n_key}});
        list.push_back({prefix + "v_bias", {a.n_value}});
        list.push_back({prefix + "proj_bias", {a.n_value}});
    }
    if (a.qk_norm) {
        list.push_back({prefix + "q_norm_weights", {a.key_dim()}});
        list.push_back({prefix + "k_norm_weights", {a.key_dim()}});
    }
}

void add_convolution(Layout& list, const std::string& prefix, const Convolution& c) {
    list.push_back({prefix + "weight", {c.n_out, c.n_in / c.groups, c.n_basis()}});
    if (c.bias) list.push_back({prefix + "bias", {c.n_out}});
}

Layout layout_of(const Transformer& t, int64_t) {
    Layout list;
    const std::string embedding = "pos_embed.position_embeddings";
    const int64_t n = t.n_channel();
    switch (t.embedding) {
        case Embedding::none: break;
        case Embedding::spectral:
        case Embedding::sequence:
            list.push_back({embedding, {1, n, t.inner.n_lat, t.inner.n_lon}, true});
            break;
        case Embedding::learnable_lat: list.push_back({embedding, {1, n, t.inner.n_lat, 1}}); break;
        case Embedding::learnable_latlon:
            list.push_back({embedding, {1, n, t.inner.n_lat, t.inner.n_lon}});
            break;
    }
    add_convolution(list, "encoder.conv.", t.encoder);
    for (int64_t i = 0; i < t.n_layer; ++i) {
        const std::string block = "blocks." + std::to_string(i) + ".";
        const std::string norm = t.norm == BlockNorm::layer ? ".norm" : "";
        if (t.norm != BlockNorm::none) {
            add_norm(list, block + "norm0" + norm, n);
            add_norm(list, block + "norm1" + norm, n);
        }
        add_attention(list, block + "self_attn.", t.attention);
        if (!t.use_mlp) continue;
        add_point_linear(list, block + "mlp.fwd.0", n, t.n_hidden);
        list.push_back({block + (t.has_dropout() ? "mlp.fwd.3" : "mlp.fwd.2") + ".weight",
                        {n, t.n_hidden, 1, 1}});
    }
    add_convolution(list, "decoder.conv.", t.decoder);
    return list;
}

Layout layout_of(const Segformer& s, int64_t) {
    Layout list;
    int64_t n_concatenated = 0;
    for (size_t i = 0; i < s.levels.size(); ++i) {
        const SegformerLevel& level = s.levels[i];
        const int64_t n = level.n_channel();
        const std::string block = "blocks." + std::to_string(i) + ".";
        add_convolution(list, block + "fwd.0.conv.", level.merge);
        add_norm(list, block + "fwd.0.norm", n);
        for (int64_t j = 0; j < level.depth; ++j) {
            const std::string attention = block + "fwd." + std::to_string(1 + 2 * j) + ".";
            const std::string feed = block + "fwd." + std::to_string(2 + 2 * j) + ".";
            add_attention(list, attention + "att.", level.attention);
            add_norm(list, attention + "norm", n);
            add_norm(list, feed + "norm", n);
            add_point_linear(list, feed + "mlp_in", n, n);
            add_convolution(list, feed + "conv.", level.mix);
            add_point_linear(list, feed + "mlp_out", n, n);
        }
        add_norm(list, block + "norm", n);
        n_concatenated += n;
    }
    for (size_t i = 0; i < s.levels.size(); ++i) {
        const std::string up = "upsamplers." + std::to_string(i) + ".";
        const int64_t n = s.levels[i].n_channel();
        add_point_linear(list, up + "mlp", n, n);
        if (s.upsamples_by_convolution)
            add_convolution(list, up + "upsample.", s.levels[i].upsample);
    }
    add_point_linear(list, "segmentation_head", n_concatenated, s.n_out);
    return list;
}

Layout layout_of(const Attention& a, int64_t) {
    Layout list;
    add_attention(list, "", a);
    return list;
}

Layout layout_of(const Convolution& c, int64_t) {
    Layout list;
    add_convolution(list, "", c);
    return list;
}

Layout layout_of(const Resample&, int64_t) {
    return {};
}

/// A lower bound of the number of tensors, known before the list is made.
int64_t n_tensor(const Config& config) {
    if (const auto* t = std::get_if<Transformer>(&config)) return 4 * t->n_layer;
    if (const auto* s = std::get_if<Segformer>(&config)) {
        int64_t n = 0;
        for (const SegformerLevel& level : s->levels) n += 12 * level.depth;
        return n;
    }
    return 0;
}

}  // namespace

std::vector<TensorSpec> layout(const Config& config, int64_t n_found) {
    if (n_tensor(config) > 2 * n_found + 100) {
        throw Error(Status::bad_file, "card: the network has more than " +
                                          std::to_string(n_tensor(config)) +
                                          " tensors, the file holds " + std::to_string(n_found));
    }
    return std::visit([&](const auto& c) { return layout_of(c, n_found); }, config);
}

}  // namespace surrogate::impl::sphere
