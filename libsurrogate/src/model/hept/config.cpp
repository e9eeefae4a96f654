// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/config.hpp"

#include <nlohmann/json.hpp>

#include "kernels/hept/hept.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::hept {

namespace {

constexpr int64_t max_width = 1 << 20;  // bounds every product of two widths below 2^41
constexpr int64_t max_row = 1 << 12;    // rows of tables and heads

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: network." + text);
}

/// Reads the task, which determines the meaning of the other keys.
void read_task(Hyperparameters& read, Config& c) {
    c.is_pileup = read.choice("task", {"tracking", "pileup"}, 0) == 1;
    // Defaults are the published configurations of the two tasks.
    c.in_dim = read.integer("in_dim", c.is_pileup ? 2 : 1, max_width, c.is_pileup ? 8 : c.in_dim);
    c.coords_dim =
        read.integer("coords_dim", 2, PointDomain::max_axis, c.is_pileup ? 4 : c.coords_dim);
    c.num_classes = read.integer("num_classes", 1, max_width, c.is_pileup ? 1 : 0);
    if (c.is_pileup && c.num_classes != 1) {
        refuse("num_classes is " + std::to_string(c.num_classes) +
               ", but task 'pileup' predicts one probability; remove the key");
    }
}

void read_layers(Hyperparameters& read, Config& c) {
    c.h_dim = read.integer("h_dim", 2, max_width, c.h_dim);
    c.num_heads = read.integer("num_heads", 1, max_row, c.num_heads);
    c.n_layers = read.integer("n_layers", 1, 10000, c.n_layers);
    c.n_hashes = read.integer("n_hashes", 1, max_row, c.n_hashes);
    c.num_w_per_dist = read.integer("num_w_per_dist", 1, max_width, c.num_w_per_dist);
    // With fewer regions some axis has fewer than two regions.
    c.num_regions = read.integer("num_regions", 4, int64_t{1} << 40, 0);
    if (!read.has("block_size")) {
        refuse(
            "block_size is required: it cannot be inferred from the weights, and a wrong value "
            "gives plausible but wrong predictions");
    }
    c.block_size = read.integer("block_size", 1, kernels::hept::block_limit, 0);
    if (c.n_row() > max_row) {
        refuse("n_hashes (" + std::to_string(c.n_hashes) + ") times num_heads (" +
               std::to_string(c.num_heads) + ") is " + std::to_string(c.n_row()) +
               ", expected at most " + std::to_string(max_row));
    }
    for (const auto& [name, width] : {std::pair{"num_heads times h_dim", c.num_heads * c.h_dim},
                                      std::pair{"num_w_per_dist times (coords_dim - 1)",
                                                c.num_w_per_dist * (c.coords_dim - 1)}}) {
        if (width <= max_width) continue;
        refuse(std::string(name) + " is " + std::to_string(width) + ", expected at most " +
               std::to_string(max_width));
    }
}

/// Reads the padding. `implementation` names the authors' code that the model was trained with;
/// each code has its own padding.
void read_padding(Hyperparameters& read, Config& c) {
    const std::vector<std::string> paddings = {"zero", "duplicate", "masked"};
    const std::vector<std::string> implementations = {"S", "X", "independent"};
    const size_t padding = read.choice("padding", paddings, 2);
    const size_t implementation = read.choice("implementation", implementations, 2);
    const bool has_padding = read.has("padding"), has_implementation = read.has("implementation");
    if (has_padding && has_implementation && padding != implementation) {
        refuse("padding is '" + paddings[padding] + "', but implementation '" +
               implementations[implementation] + "' pads with '" + paddings[implementation] +
               "'; remove one of the two keys");
    }
    c.padding = static_cast<Padding>(has_padding ? padding : implementation);
    c.is_padding_open = !has_padding && !has_implementation;
    c.has_beta = c.padding == Padding::zero;
}

/// Reads keys that have no weights and do not change predictions, and rejects options that are not
/// supported.
void read_training(Hyperparameters& read, Config& c) {
    c.dropout = read.rate("dropout", c.dropout);
    read.boolean("use_ckpt", false);
    const std::vector<std::string> encodings = {"none", "learned", "fixed"};
    const size_t encoding = read.choice("pe_type", encodings, 0);
    if (encoding == 0) return;
    throw Error(Status::not_supported, "card: network.pe_type '" + encodings[encoding] +
                                           "' (position encodings) is not supported, expected "
                                           "'none'");
}

}  // namespace

Config parse_config(const nlohmann::json& network) {
    Hyperparameters read(network, Config::family);
    Config c;
    read_task(read, c);
    read_layers(read, c);
    read_padding(read, c);
    read_training(read, c);
    read.refuse_unknown();
    return c;
}

void settle_padding(Config& config, const MasterWeights& weights) {
    if (!config.is_padding_open) return;
    const auto has_beta = [&](int64_t layer) {
        return weights.find(layer_name(layer) + "attn.e2lsh.beta") != nullptr;
    };
    config.has_beta = has_beta(0);
    for (int64_t l = 1; l < config.n_layers; ++l) {
        if (has_beta(l) == config.has_beta) continue;
        throw Error(Status::bad_file, "tensor '" + layer_name(config.has_beta ? l : 0) +
                                          "attn.e2lsh.beta' is missing, layer " +
                                          std::to_string(config.has_beta ? 0 : l) +
                                          " has it; set 'padding' in the card");
    }
    config.padding = config.has_beta ? Padding::zero : Padding::duplicate;
    config.is_padding_open = false;
}

}  // namespace surrogate::impl::hept
