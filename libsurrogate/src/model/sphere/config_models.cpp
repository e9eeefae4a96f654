// SPDX-License-Identifier: Apache-2.0
// Cards of the models of the sphere.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "libsurrogate/src/model/sphere/config_readers.hpp"
#include "libsurrogate/src/model/sphere/sites.hpp"

namespace surrogate::impl::sphere {

using kernels::Activation;
using kernels::sphere::Basis;
using std::numbers::pi;

namespace {

constexpr int64_t max_layers = 10000;

/// Cutoff of a convolution inside a model.
double model_cutoff(const Filter& filter, int64_t n_lat) {
    double factor = 0.5;
    if (filter.basis == Basis::zernike) factor = std::numbers::sqrt2;
    if (filter.basis == Basis::harmonic || filter.basis == Basis::fourier_bessel) {
        refuse("the official models have no cutoff for basis '" +
               basis_names[static_cast<size_t>(filter.basis)] + "'");
    }
    return static_cast<double>(filter.shape[0] + 1) * factor * pi / static_cast<double>(n_lat - 1);
}

double attention_cutoff(int64_t n_lat) {
    return 7 / std::sqrt(pi) * pi / static_cast<double>(n_lat - 1);
}

void require_level(const Grid& grid, const char* what) {
    if (grid.n_lat >= 2 && grid.n_lon >= 1) return;
    refuse(std::string(what) + " has only " + std::to_string(grid.n_lat) + " x " +
           std::to_string(grid.n_lon) + " points; 2 rows are the least");
}

Activation read_activation(Hyperparameters& read) {
    constexpr Activation known[] = {Activation::gelu, Activation::relu, Activation::identity};
    return known[read.choice("activation_function", {"gelu", "relu", "identity"}, 0)];
}

/// Attention of a block of a model, C channels everywhere.
Attention block_attention(const Grid& grid, bool is_global, int64_t n_channel, int64_t n_head,
                          bool bias, double theta_cutoff, const Conventions& conventions) {
    Attention a;
    a.out = a.in = grid;
    a.is_global = is_global;
    a.n_in = a.n_key = a.n_value = n_channel;
    a.n_head = n_head;
    a.bias = bias;
    const bool old = conventions.old_scale && !is_global;
    a.scale = 1 / std::sqrt(static_cast<double>(old ? n_channel : n_channel / n_head));
    a.scales_bias = !old;
    a.theta_cutoff = theta_cutoff;
    return a;
}

}  // namespace

Transformer parse_transformer(const nlohmann::json& network, const Conventions& conventions) {
    Hyperparameters read(network, "SphericalTransformer");
    Transformer t;
    read.text("model", "");
    t.image = read_grid(read, "img_size", "grid", {128, 256}, 0);
    const auto inner_kind = static_cast<GridKind>(read.choice("grid_internal", grid_names, 1));
    const int64_t factor = read.integer("scale_factor", 1, max_columns, 3);
    const int64_t n_in = read.integer("in_chans", 1, max_channels, 3);
    const int64_t n_out = read.integer("out_chans", 1, max_channels, 3);
    const int64_t n_channel = read.integer("embed_dim", 1, max_channels, 256);
    t.n_layer = read.integer("num_layers", 0, max_layers, 4);
    t.activation = read_activation(read);
    const Filter filter =
        read_filter(read, "encoder_kernel_shape", "filter_basis_type", 1, {3, 3}, conventions);
    const int64_t n_head = read.integer("num_heads", 1, max_channels, 1);
    t.use_mlp = read.boolean("use_mlp", true);
    const double ratio = read.positive("mlp_ratio", 2.0);
    t.drop_rate = read.rate("drop_rate", 0);
    t.drop_path_rate = read.rate("drop_path_rate", 0);
    read.number("hard_thresholding_fraction", 1);  // unused by the official code, too
    t.norm = static_cast<BlockNorm>(
        read.choice("normalization_layer", {"none", "layer_norm", "instance_norm"}, 0));
    t.residual = read.boolean("residual_prediction", false);
    t.embedding = static_cast<Embedding>(read.choice(
        "pos_embed", {"none", "spectral", "sequence", "learnable lat", "learnable latlon"}, 1));
    t.upsample_sht = read.boolean("upsample_sht", false);
    const bool is_global = read.choice("attention_mode", {"neighborhood", "global"}, 0) == 1;
    const bool bias = read.boolean("bias", false);
    const double cutoff = read.positive("theta_cutoff", 0);
    read.refuse_unknown();

    require_divisible(t.image.n_lon, factor, " (network.scale_factor)");
    t.inner = {inner_kind, (t.image.n_lat - 1) / factor + 1, t.image.n_lon / factor};
    require_level(t.inner, "the internal grid");
    require_divides("num_heads", n_head, n_channel);
    if (t.residual && n_in != n_out)
        refuse("network.residual_prediction is set for " + std::to_string(n_in) + " inputs and " +
               std::to_string(n_out) + " outputs, expected as many inputs as outputs");
    const double hidden = static_cast<double>(n_channel) * ratio;  // int(C * ratio), truncated
    if (t.use_mlp && !(hidden >= 1 && hidden <= max_channels))
        refuse("network.mlp_ratio gives a hidden width of " + std::to_string(hidden));
    t.n_hidden = t.use_mlp ? static_cast<int64_t>(hidden) : 0;

    Filter encoder = filter, decoder = filter;
    encoder.theta_cutoff = model_cutoff(filter, t.image.n_lat);
    decoder.theta_cutoff = model_cutoff(filter, t.inner.n_lat);
    t.encoder = {t.inner, t.image, encoder, n_in, n_channel};
    t.decoder = {t.image, t.image, decoder, n_channel, n_out};
    t.attention =
        block_attention(t.inner, is_global, n_channel, n_head, bias,
                        cutoff > 0 ? cutoff : attention_cutoff(t.inner.n_lat), conventions);
    if (is_global) t.attention.drop_rate = t.drop_rate;
    return t;
}

Segformer parse_segformer(const nlohmann::json& network, const Conventions& conventions) {
    Hyperparameters read(network, "SphericalSegformer");
    Segformer s;
    read.text("model", "");
    s.image = read_grid(read, "img_size", "grid", {128, 256}, 0);
    const auto inner_kind = static_cast<GridKind>(read.choice("grid_internal", grid_names, 1));
    const int64_t n_in = read.integer("in_chans", 1, max_channels, 3);
    s.n_out = read.integer("out_chans", 1, max_channels, 3);
    const auto widths = read.integers("embed_dims", 1, max_channels, 16, {64, 128, 256, 512});
    const auto heads = read.integers("heads", 1, max_channels, 16, {1, 2, 4, 8});
    const auto depths = read.integers("depths", 0, max_layers, 16, {3, 4, 6, 3});
    const int64_t factor = read.integer("scale_factor", 1, max_columns, 2);
    s.activation = read_activation(read);
    const Filter filter =
        read_filter(read, "kernel_shape", "filter_basis_type", 1, {3, 3}, conventions);
    read.positive("mlp_ratio", 2.0);  // without effect in the official code, too
    const double drop_rate = read.rate("att_drop_rate", 0);
    s.drop_path_rate = read.rate("drop_path_rate", 0.1);
    const bool is_global = read.choice("attention_mode", {"neighborhood", "global"}, 0) == 1;
    const double cutoff = read.positive("theta_cutoff", 0);
    s.upsamples_by_convolution = read.choice("upsampling_method", {"bilinear", "conv"}, 0) == 1;
    const bool bias = read.boolean("bias", true);
    read.refuse_unknown();

    if (heads.size() != widths.size() || depths.size() != widths.size())
        refuse("network.embed_dims, heads and depths have " + std::to_string(widths.size()) + ", " +
               std::to_string(heads.size()) + " and " + std::to_string(depths.size()) +
               " numbers, expected the same length");
    int64_t total_factor = 1;
    for (size_t i = 0; i < widths.size() && total_factor < max_columns; ++i) total_factor *= factor;
    require_divisible(s.image.n_lon, total_factor,
                      " (network.scale_factor to the number of levels)");
    Grid above = s.image;
    int64_t n_above = n_in, n_before = 0;
    const int64_t n_repetition = std::accumulate(depths.begin(), depths.end(), int64_t{0});
    for (size_t i = 0; i < widths.size(); ++i) {
        const Grid grid{inner_kind, above.n_lat / factor, above.n_lon / factor};
        require_level(grid, "a level of the SegFormer");
        require_divides("heads", heads[i], widths[i]);
        Filter cut = filter;
        cut.theta_cutoff = model_cutoff(filter, grid.n_lat);
        SegformerLevel level;
        level.depth = depths[i];
        level.n_before = n_before;
        for (int64_t j = 0; j < depths[i]; ++j)
            level.drop_path_rates.push_back(spaced(s.drop_path_rate, n_before++, n_repetition));
        level.merge = {grid, above, cut, n_above, widths[i]};
        level.attention =
            block_attention(grid, is_global, widths[i], heads[i], bias,
                            cutoff > 0 ? cutoff : attention_cutoff(grid.n_lat), conventions);
        if (is_global) level.attention.drop_rate = drop_rate;
        level.mix = {grid, grid, cut, widths[i], widths[i], widths[i]};
        level.upsample = {s.image, grid, cut, widths[i], widths[i], 1, false, true};
        s.levels.push_back(level);
        above = grid;
        n_above = widths[i];
    }
    return s;
}

}  // namespace surrogate::impl::sphere
