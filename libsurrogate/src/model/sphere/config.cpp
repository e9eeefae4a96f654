// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/config.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::sphere {

using kernels::Activation;
using kernels::sphere::Basis;
using kernels::sphere::BasisNorm;
using std::numbers::pi;

namespace {

constexpr int64_t max_rows = 20000;  // two kilometres on the earth
constexpr int64_t max_columns = 40000;
constexpr int64_t max_channels = 1 << 16;
constexpr int64_t max_layers = 10000;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: " + text);
}

// ---- conventions ----

const std::vector<std::string> norm_names = {"nodal", "mean", "support",    "geometric",
                                             "modal", "none", "individual", "area ratio"};
constexpr BasisNorm norms[] = {BasisNorm::nodal,     BasisNorm::mean,     BasisNorm::support,
                               BasisNorm::geometric, BasisNorm::modal,    BasisNorm::none,
                               BasisNorm::nodal,     BasisNorm::geometric};

/// Conventions that changed between releases of the official code and are not in the weights.
struct Conventions {
    bool old_scale = false;     ///< before 0.9.1: 1 / sqrt(Ck), on the input of the q projection
    bool old_cutoff = false;    ///< before 0.9.3: pi / (n_lat - 1)
    bool old_shift = false;     ///< before 0.9.1: wrong columns where n_lon_in > n_lon_out
    bool adds_epsilon = false;  ///< before 0.9.1
    BasisNorm norm = BasisNorm::nodal;
};

Conventions parse_conventions(const nlohmann::json& found) {
    Conventions c;
    const auto text = [&](const char* key, const char* fallback) -> std::string {
        if (!found.is_object() || !found.contains(key)) return fallback;
        if (found[key].is_string()) return found[key].get<std::string>();
        refuse(std::string(key) + " is " + printable(dump_json(found[key]), 60) +
               ", expected a string");
    };
    const std::string release = text("conventions", "torch-harmonics 0.9.3");
    int major = 0, minor = 0, patch = 0, n_read = 0;
    std::sscanf(release.c_str(), "torch-harmonics %d.%d.%d%n", &major, &minor, &patch, &n_read);
    if (n_read == 0 || static_cast<size_t>(n_read) != release.size() || major != 0 || minor < 8 ||
        minor > 9) {
        refuse("conventions '" + printable(release, 60) +
               "' are not known; expected torch-harmonics 0.8.0 .. 0.9.3");
    }
    const bool before_0_9_1 = minor < 9 || patch < 1;
    c.old_scale = c.old_shift = c.adds_epsilon = before_0_9_1;
    c.old_cutoff = before_0_9_1 || patch < 3;
    c.norm = before_0_9_1 ? BasisNorm::mean : BasisNorm::nodal;

    if (const std::string rule = text("theta_cutoff_rule", "models"); rule != "models")
        refuse("theta_cutoff_rule '" + printable(rule, 60) + "' is not known; expected models");
    const std::string norm = text("basis_norm_mode", "");
    if (norm.empty()) return c;
    const auto entry = std::ranges::find(norm_names, norm);
    if (entry == norm_names.end()) {
        refuse("basis_norm_mode '" + printable(norm, 60) + "' is not known" +
               did_you_mean(norm, norm_names));
    }
    c.norm = norms[entry - norm_names.begin()];
    return c;
}

// ---- pieces that several networks share ----

const std::vector<std::string> grid_names = {"equiangular", "legendre-gauss", "lobatto",
                                             "equiangular-trapezoidal"};

Grid read_grid(Hyperparameters& read, const char* size_key, const char* grid_key,
               std::vector<int64_t> size, size_t kind) {
    size = read.integers(size_key, 1, max_columns, 2, std::move(size));
    if (size.size() != 2 || size[0] < 2 || size[0] > max_rows) {
        refuse(std::string("network.") + size_key + " has " + std::to_string(size.size()) +
               " numbers, the first is " + std::to_string(size[0]) +
               ", expected [n_lat, n_lon] with 2 to " + std::to_string(max_rows) + " rows");
    }
    return {static_cast<GridKind>(read.choice(grid_key, grid_names, kind)), size[0], size[1]};
}

const std::vector<std::string> basis_names = {"piecewise linear", "morlet", "zernike", "harmonic",
                                              "fourier-bessel"};

Filter read_filter(Hyperparameters& read, const char* shape_key, const char* basis_key,
                   size_t basis, std::vector<int64_t> shape, const Conventions& conventions) {
    Filter filter;
    filter.basis = static_cast<Basis>(read.choice(basis_key, basis_names, basis));
    shape = read.integers(shape_key, 0, 32, 2, std::move(shape));
    const bool is_radial =
        filter.basis == Basis::zernike || filter.basis == Basis::piecewise_linear;
    if (shape.size() == 1 && !is_radial) {
        refuse(std::string("network.") + shape_key + " has one number, expected two for basis '" +
               basis_names[static_cast<size_t>(filter.basis)] + "'");
    }
    filter.shape = {shape[0], shape.size() > 1 ? shape[1] : 1};
    filter.norm = conventions.norm;
    filter.adds_epsilon = conventions.adds_epsilon;
    if (filter.n_basis() < 1 || filter.n_basis() > 1024) {
        refuse(std::string("network.") + shape_key + " gives " + std::to_string(filter.n_basis()) +
               " basis functions; 1 .. 1024 are possible");
    }
    return filter;
}

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

/// Default cutoff of a single layer.
double layer_cutoff(const Grid& grid, const Conventions& conventions) {
    if (conventions.old_cutoff) return pi / static_cast<double>(grid.n_lat - 1);
    return largest_gap(kernels::latitudes(grid.kind, grid.n_lat));
}

void require_level(const Grid& grid, const char* what) {
    if (grid.n_lat >= 2 && grid.n_lon >= 1) return;
    refuse(std::string(what) + " has only " + std::to_string(grid.n_lat) + " x " +
           std::to_string(grid.n_lon) + " points; 2 rows are the least");
}

/// "120 or 128": the multiples next to n.
std::string nearest_multiples(int64_t n, int64_t step) {
    const int64_t below = n / step * step;
    return (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + step);
}

void require_divisible(int64_t n_lon, int64_t step, const std::string& why) {
    if (n_lon % step == 0) return;
    refuse(std::to_string(n_lon) + " longitudes cannot be divided by " + std::to_string(step) +
           why + "; sizes that would work: " + nearest_multiples(n_lon, step));
}

void require_divides(const char* key, int64_t divisor, int64_t n) {
    if (n % divisor == 0) return;
    refuse(std::string("network.") + key + " is " + std::to_string(divisor) +
           ", expected a divisor of " + std::to_string(n));
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

// ---- models ----

/// Returns number i of the n numbers from 0 to `last` in equal steps.
double spaced(double last, int64_t i, int64_t n) {
    return n > 1 ? last * static_cast<double>(i) / static_cast<double>(n - 1) : 0;
}

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

// ---- single layers ----

Attention parse_attention(const nlohmann::json& network, bool is_global,
                          const Conventions& conventions) {
    Hyperparameters read(network, is_global ? "AttentionS2" : "NeighborhoodAttentionS2");
    Attention a;
    read.text("layer", "");
    a.is_global = is_global;
    a.n_in = read.integer("in_channels", 1, max_channels, 0);
    if (a.n_in == 0) refuse("network.in_channels is missing");
    a.n_head = read.integer("num_heads", 1, max_channels, 1);
    for (const char* key : {"in_shape", "out_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    a.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    a.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    a.qk_norm = read.boolean("use_qknorm", false);
    a.bias = read.boolean("bias", true);
    a.n_key = read.integer("k_channels", 1, max_channels, a.n_in);
    a.n_value = read.integer("out_channels", 1, max_channels, a.n_in);
    const double drop_rate = read.rate("drop_rate", 0);
    if (is_global) a.drop_rate = drop_rate;
    read.boolean("optimized_kernel", true);  // a choice of the official code
    const bool up = a.in.n_lon % a.out.n_lon != 0 && a.out.n_lon % a.in.n_lon == 0;
    require_divides("num_heads", a.n_head, a.n_key);
    require_divides("num_heads", a.n_head, a.n_value);
    const bool old = conventions.old_scale && !is_global;
    const double width = static_cast<double>(old ? a.n_key : a.key_dim());
    a.scale = read.number("scale", 1 / std::sqrt(width));
    a.scales_bias = !old;
    a.theta_cutoff = is_global ? 0 : read.positive("theta_cutoff", 0);
    read.refuse_unknown();
    if (is_global) return a;
    if (!up && a.in.n_lon % a.out.n_lon != 0) {
        refuse("neither of " + std::to_string(a.in.n_lon) + " and " + std::to_string(a.out.n_lon) +
               " longitudes divides the other; output longitudes that would work: " +
               nearest_multiples(a.out.n_lon, a.in.n_lon));
    }
    if (a.theta_cutoff == 0) a.theta_cutoff = layer_cutoff(up ? a.in : a.out, conventions);
    if (conventions.old_shift && a.in.n_lon != a.out.n_lon) {
        throw Error(
            Status::not_supported,
            "card: releases of torch-harmonics before 0.9.1 read the wrong longitudes where "
            "input and output have different numbers of them; such a layer is not built");
    }
    return a;
}

Convolution parse_convolution(const nlohmann::json& network, bool is_transposed,
                              Conventions conventions) {
    Hyperparameters read(
        network, is_transposed ? "DiscreteContinuousConvTransposeS2" : "DiscreteContinuousConvS2");
    Convolution c;
    read.text("layer", "");
    c.is_transposed = is_transposed;
    c.n_in = read.integer("in_channels", 1, max_channels, 0);
    c.n_out = read.integer("out_channels", 1, max_channels, 0);
    if (c.n_in == 0) refuse("network.in_channels is missing");
    if (c.n_out == 0) refuse("network.out_channels is missing");
    for (const char* key : {"in_shape", "out_shape", "kernel_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    c.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    c.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    if (read.has("basis_norm_mode"))
        conventions.norm = norms[read.choice("basis_norm_mode", norm_names, 0)];
    c.filter = read_filter(read, "kernel_shape", "basis_type", 0, {}, conventions);
    c.groups = read.integer("groups", 1, max_channels, 1);
    c.bias = read.boolean("bias", true);
    c.filter.theta_cutoff = read.positive("theta_cutoff", 0);
    read.boolean("optimized_kernel", true);
    read.refuse_unknown();
    require_divides("groups", c.groups, c.n_in);
    require_divides("groups", c.groups, c.n_out);
    const Grid &fine = is_transposed ? c.out : c.in, &coarse = is_transposed ? c.in : c.out;
    require_divisible(fine.n_lon, coarse.n_lon,
                      std::string(" (those of the ") + (is_transposed ? "input)" : "output)"));
    if (c.filter.theta_cutoff == 0) c.filter.theta_cutoff = layer_cutoff(coarse, conventions);
    return c;
}

Resample parse_resample(const nlohmann::json& network) {
    Hyperparameters read(network, "ResampleS2");
    Resample r;
    read.text("layer", "");
    for (const char* key : {"in_shape", "out_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    r.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    r.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    r.interpolation = static_cast<kernels::sphere::Interpolation>(
        read.choice("mode", {"bilinear", "bilinear-spherical"}, 0));
    read.refuse_unknown();
    return r;
}

}  // namespace

Config parse_config(const Card& card) {
    const nlohmann::json& network = *card.network;
    const Conventions conventions = parse_conventions(*card.conventions);
    const bool is_layer = network.is_object() && network.contains("layer");
    const char* key = is_layer ? "layer" : "model";
    if (!network.is_object() || !network.contains(key)) {
        throw Error(
            Status::not_supported,
            "card: network names neither a model nor a layer: the file holds data for tests, "
            "nothing to run");
    }
    if (!network[key].is_string())
        refuse(std::string("network.") + key + " is " + printable(dump_json(network[key]), 60) +
               ", expected a string");
    const std::string name = network[key].get<std::string>();
    if (is_layer) {
        if (name == "AttentionS2") return parse_attention(network, true, conventions);
        if (name == "NeighborhoodAttentionS2") return parse_attention(network, false, conventions);
        if (name == "DiscreteContinuousConvS2")
            return parse_convolution(network, false, conventions);
        if (name == "DiscreteContinuousConvTransposeS2")
            return parse_convolution(network, true, conventions);
        if (name == "ResampleS2") return parse_resample(network);
    } else {
        if (name == "SphericalTransformer") return parse_transformer(network, conventions);
        if (name == "SphericalSegformer") return parse_segformer(network, conventions);
    }
    const std::vector<std::string> layers = {"AttentionS2", "NeighborhoodAttentionS2",
                                             "DiscreteContinuousConvS2",
                                             "DiscreteContinuousConvTransposeS2", "ResampleS2"};
    const std::vector<std::string> models = {"SphericalTransformer", "SphericalSegformer"};
    refuse(std::string("network.") + key + " '" + printable(name, 60) +
           "' is not a class of the sphere" + did_you_mean(name, is_layer ? layers : models));
}

DropoutSite encoder_site(const Transformer& config) {
    return {0, config.drop_rate};
}

DropoutSite mlp_site(const Transformer& config, int64_t i, bool is_result) {
    return {3 * i + (is_result ? 2 : 1), config.drop_rate};
}

DropoutSite path_site(const Transformer& config, int64_t i) {
    return {3 * i + 3, spaced(config.drop_path_rate, i, config.n_layer)};
}

DropoutSite path_site(const SegformerLevel& config, int64_t j, bool is_attention) {
    return {2 * (config.n_before + j) + (is_attention ? 0 : 1),
            config.drop_path_rates[static_cast<size_t>(j)]};
}

}  // namespace surrogate::impl::sphere
