// SPDX-License-Identifier: Apache-2.0
// Names and shapes of weights, as the classes of PyTorch have them.
#include "libsurrogate/src/model/family/tensor_layout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"

namespace surrogate::impl::flare {

namespace {

void add_mlp(Layout& layout, const std::string& name, const MlpShape& mlp) {
    for (int64_t j = 0; j < mlp.n_layer(); ++j) {
        const int64_t n_in = j == 0 ? mlp.n_in : mlp.n_hidden;
        const int64_t n_out = j + 1 == mlp.n_layer() ? mlp.n_out : mlp.n_hidden;
        add_linear(layout, layer_name(name, mlp, j), n_in, n_out);
    }
}

void add_latent_block(Layout& layout, const std::string& name, int64_t n) {
    add_norm(layout, name + ".norm1", n, false);
    add_norm(layout, name + ".norm2", n, false);
    add_linear(layout, name + ".att.qkv_proj", n, 3 * n);
    add_linear(layout, name + ".att.out_proj", n, n);
    add_linear(layout, name + ".mlp.fc1", n, 4 * n);
    add_linear(layout, name + ".mlp.fc2", 4 * n, n);
}

std::vector<int64_t> latent_shape(const Config& c) {
    if (c.is_physicsnemo()) return {1, c.num_heads, c.num_latents, c.head_dim()};
    return {c.shared_latents ? c.head_dim() : c.channel_dim, c.num_latents};
}

void add_block(Layout& layout, const std::string& name, const Config& c) {
    const auto names = names_of(c).block;
    add_norm(layout, name + "." + names.norm1, c.channel_dim, c.rmsnorm);
    layout.push_back({name + "." + names.latent_q, latent_shape(c)});
    if (c.is_physicsnemo())
        add_linear(layout, name + "." + names.in_project, c.channel_dim, c.channel_dim);
    if (c.qk_norm) {
        add_norm(layout, name + ".att.q_norm", c.head_dim(), c.rmsnorm);
        add_norm(layout, name + ".att.k_norm", c.head_dim(), c.rmsnorm);
    }
    add_mlp(layout, name + "." + names.k_proj, c.k_proj);
    add_mlp(layout, name + "." + names.v_proj, c.v_proj);
    for (int64_t j = 0; j < c.num_latent_blocks; ++j)
        add_latent_block(layout, name + ".att.latent_blocks." + std::to_string(j), c.channel_dim);
    add_linear(layout, name + "." + names.out_proj, c.channel_dim, c.channel_dim);
    add_norm(layout, name + "." + names.norm2, c.channel_dim, c.rmsnorm);
    add_mlp(layout, name + "." + names.ffn, c.ffn);
}

/// Tensors before the blocks of a sequence.
void add_embeddings(Layout& layout, const Config& c) {
    const SequenceConfig& s = c.sequence;
    if (s.has_class_token()) layout.push_back({"cls_token", {c.channel_dim}});
    layout.push_back({"token_emb.token_embed.weight", {s.n_word, c.channel_dim}});
    if (s.position == PositionCode::sinusoid) layout.push_back({"pos_emb.pos_scale", {1}});
    if (s.position == PositionCode::learned)
        layout.push_back({"pos_emb.pe.weight", {s.max_length, c.channel_dim}});
}

/// Tensors of the time, an input of PhysicsNeMo's FLARE. The frequencies are a buffer of PyTorch.
void add_time(Layout& layout, const Config& c) {
    layout.push_back({.name = "time_embed.freqs", .shape = {c.channel_dim / 2}, .is_fixed = true});
    add_mlp(layout, "time_fc", c.physicsnemo.time_fc);
}

void add_head(Layout& layout, const Config& c) {
    const TensorNames names = names_of(c);
    if (c.out_proj_norm) add_norm(layout, names.out_norm, c.channel_dim, c.rmsnorm);
    if (c.is_sequence()) {
        if (c.out_proj_norm) add_norm(layout, "cls_proj.1", c.channel_dim, c.rmsnorm);
        if (c.out_proj.n_inner < 0) {
            add_linear(layout, names.out_proj, c.channel_dim, c.out_dim);
        } else {
            add_linear(layout, names.out_proj_layers[0], c.channel_dim, c.channel_dim);
            add_linear(layout, names.out_proj_layers[1], c.channel_dim, c.out_dim);
        }
        return;
    }
    add_mlp(layout, names.out_proj, c.out_proj);
}

}  // namespace

int64_t Config::n_tensor() const {
    const int64_t norm = rmsnorm ? 1 : 2;
    const int64_t block = 2 * norm + 1 + (qk_norm ? 2 * norm : 0) + 2 +
                          2 * (k_proj.n_layer() + v_proj.n_layer() + ffn.n_layer()) +
                          12 * num_latent_blocks + (is_physicsnemo() ? 2 : 0);
    const int64_t ends = is_sequence() ? 3 + 2 * norm : 2 * in_proj.n_layer() + norm;
    const int64_t time = physicsnemo.time_input ? 1 + 2 * physicsnemo.time_fc.n_layer() : 0;
    return ends + time + 2 * out_proj.n_layer() + num_blocks * block;
}

TensorNames names_of(const Config& c) {
    const auto official = [](const char* norm1, const char* norm2) {
        return decltype(TensorNames::block){
            norm1, norm2, "att.latent_q", "att.k_proj", "att.v_proj", "att.out_proj", "mlp", ""};
    };
    switch (c.variant) {
        case Variant::ablation:
            return {"in_proj", "out_proj.ln", "out_proj.mlp", {}, official("ln1", "ln2")};
        case Variant::sequence:
            return {"",
                    "final_norm",
                    "cls_proj.2",
                    {"cls_proj.2.0", "cls_proj.2.2"},
                    official("norm1", "norm2")};
        case Variant::physicsnemo: {
            const std::string last = "blocks." + std::to_string(c.num_blocks - 1) + ".ln_mlp2.";
            return {"preprocess.layers",
                    last + "0",
                    last + "1",
                    {},
                    {"ln_1", "ln_mlp1.0", "Attn.q_global", "Attn.self_k", "Attn.self_v",
                     "Attn.out_linear", "ln_mlp1.1.layers", "Attn.in_project_x"}};
        }
        case Variant::model: break;
    }
    return {"in_proj", "out_proj.0", "out_proj.1", {}, official("norm1", "norm2")};
}

const char* class_name(const Config& c) {
    switch (c.variant) {
        case Variant::ablation: return "BigFLAREModel";
        case Variant::sequence: return "ModelWrapper";
        case Variant::physicsnemo: return "FLARE";
        case Variant::model: break;
    }
    return "FLAREModel";
}

std::string layer_name(const std::string& name, const MlpShape& mlp, int64_t j) {
    if (mlp.is_sequential) return mlp.n_inner < 0 ? name : name + "." + std::to_string(2 * j);
    if (mlp.n_inner < 0) return name + ".fc";
    if (j == 0) return name + ".fc1";
    return j + 1 == mlp.n_layer() ? name + ".fc2" : name + ".fcs." + std::to_string(j - 1);
}

std::vector<TensorSpec> layout(const Config& c) {
    Layout layout;
    if (c.is_sequence()) {
        add_embeddings(layout, c);
    } else {
        add_mlp(layout, names_of(c).in_proj, c.in_proj);
    }
    if (c.physicsnemo.time_input) add_time(layout, c);
    // The order of the state_dict.
    if (c.variant == Variant::ablation) add_head(layout, c);
    for (int64_t i = 0; i < c.num_blocks; ++i) add_block(layout, "blocks." + std::to_string(i), c);
    if (c.variant != Variant::ablation) add_head(layout, c);
    return layout;
}

}  // namespace surrogate::impl::flare
