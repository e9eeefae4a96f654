// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::bsa::erwin {

namespace {

constexpr size_t max_level = 32;
constexpr int64_t max_neighbor = 256;

/// Reads a list with one entry for each of n levels or stages.
std::vector<int64_t> list_of(const nlohmann::json& network, Hyperparameters& read, const char* key,
                             int64_t low, int64_t high, int64_t n) {
    if (n == 0 && (!read.has(key) || network[key].empty())) return {};
    const std::vector<int64_t> list = read.integers(key, low, high, max_level + 1, {});
    if (std::ssize(list) != n) {
        refuse(
            std::string(key) + " has " + std::to_string(list.size()) + " entries, expected " +
            std::to_string(n) +
            ": one per level in c_hidden, ball_sizes, enc_num_heads, enc_depths, and one less in "
            "strides, dec_num_heads, dec_depths");
    }
    return list;
}

bsa::Config stage_of(const Config& config, const std::string& name, size_t level, int64_t n_head,
                     int64_t depth, int64_t ratio, const char* heads_key) {
    bsa::Config stage;
    stage.stage = name;
    stage.attention = AttentionType::ball;
    stage.features = Features::given;
    stage.n_axis = config.n_axis;
    stage.n_channel = stage.n_feature = stage.n_output = config.width[level];
    stage.n_head = n_head;
    stage.depth = depth;
    stage.residual_every = 0;
    stage.block_size = stage.group_size = 1;
    stage.n_hidden = hidden_width(static_cast<double>(ratio), stage.n_channel, "mlp_ratio");
    stage.trains_sigma = true;
    require_heads(heads_key, n_head, stage.n_channel);
    return stage;
}

/// Sets the unit of partition so that ranks own whole balls on every level, and the smallest number
/// of slots so that even small clouds have a slot on the coarsest level.
void set_slots(const Config& config, const std::vector<int64_t>& balls, bsa::Config& finest) {
    int64_t fine_slots = 1;  // finest slots per slot of the level
    for (size_t level = 0; level < balls.size(); ++level) {
        finest.slot_unit = std::max(finest.slot_unit, balls[level] * fine_slots);
        if (level < config.strides.size()) fine_slots *= config.strides[level];
        if (fine_slots > max_width)
            refuse("the product of strides exceeds " + std::to_string(max_width));
    }
    finest.least_slots = std::max<int64_t>(2, fine_slots);
}

}  // namespace

int64_t Config::n_depth() const {
    int64_t n = 0;
    for (const auto* stages : {&encoders, &decoders})
        for (const bsa::Config& stage : *stages) n += stage.depth;
    return n;
}

Config parse_config(const nlohmann::json& network) {
    if (!network.is_object())
        throw Error(Status::bad_file,
                    "card: network is " + printable(network.dump(), 60) + ", expected an object");
    Hyperparameters read(network, Config::family);
    Config c;
    c.n_feature = read.integer("c_in", 1, max_width, 64);
    c.n_axis = read.integer("dimensionality", 1, 3, 3);
    c.n_step = read.integer("mp_steps", 0, max_depth, 3);
    c.n_neighbor = read.integer("neighbors", 0, max_neighbor, 0);
    c.n_output = read.integer("c_out", 0, max_width, 0);
    c.features = static_cast<Features>(read.choice("pos_enc", {"fourier", "linear", "none"}, 2));
    if (!c.has_head() && c.features != Features::given) {
        refuse("pos_enc is '" + read.text("pos_enc", "") +
               "' without c_out, expected 'none': the U-net alone has neither features nor head");
    }
    if (c.features == Features::fourier && c.n_feature % 2 != 0) {
        refuse("c_in is " + std::to_string(c.n_feature) +
               ", expected an even number with pos_enc 'fourier': half cosines, half sines");
    }
    const int64_t ratio = read.integer("mlp_ratio", 1, 1024, 4);
    const double degrees = read.number("rotate", 0);
    c.width = read.integers("c_hidden", 1, max_width, max_level + 1, {});
    if (c.width.empty())
        refuse("c_hidden is missing, expected a list with the channels of each level");
    const auto n_level = std::ssize(c.width);
    c.strides = list_of(network, read, "strides", 1, max_width, n_level - 1);
    const auto balls = list_of(network, read, "ball_sizes", 1, max_width, n_level);
    const auto heads = list_of(network, read, "enc_num_heads", 1, max_width, n_level);
    const auto depths = list_of(network, read, "enc_depths", 0, max_depth, n_level);
    const auto dec_heads = list_of(network, read, "dec_num_heads", 1, max_width, n_level - 1);
    const auto dec_depths = list_of(network, read, "dec_depths", 0, max_depth, n_level - 1);
    for (const int64_t stride : c.strides) require_power_of_two("strides", stride);
    for (const int64_t ball : balls) require_power_of_two("ball_sizes", ball);

    bsa::Config rotation;
    rotation.n_axis = c.n_axis;
    rotation.is_rotated = degrees > 0 && c.n_axis > 1;
    read_rotation(network, read, degrees, rotation);
    read.refuse_unknown();
    const auto add = [&](std::vector<bsa::Config>& stages, bsa::Config stage, size_t level) {
        stage.ball_size = balls[level];
        stage.is_rotated = rotation.is_rotated;
        stage.rotation = rotation.rotation;
        stages.push_back(std::move(stage));
    };
    for (size_t l = 0; l < c.width.size(); ++l) {
        const bool is_last = l + 1 == c.width.size();
        const std::string number = std::to_string(l);
        add(c.encoders,
            stage_of(c, c.prefix() + (is_last ? "bottleneck." : "encoder." + number + "."), l,
                     heads[l], depths[l], ratio, "enc_num_heads"),
            l);
        if (is_last) break;
        if (c.strides[l] == 1 && c.width[l] != c.width[l + 1])
            refuse("c_hidden changes from " + std::to_string(c.width[l]) + " to " +
                   std::to_string(c.width[l + 1]) +
                   " at a stride of 1, expected equal channels: a stride of 1 does not pool");
        // Decoders are numbered from the coarsest level; their lists are in the order of levels.
        const size_t d = c.strides.size() - 1 - l;
        add(c.decoders,
            stage_of(c, c.prefix() + ("decoder." + std::to_string(d) + "."), l, dec_heads[l],
                     dec_depths[l], ratio, "dec_num_heads"),
            l);
    }
    bsa::Config& last = c.decoders.empty() ? c.encoders.back() : c.decoders.front();
    last.is_last_stage = c.has_head();
    if (c.has_head()) last.n_output = c.n_output;
    set_slots(c, balls, c.encoders.front());
    return c;
}

std::string embed_name(const Config& config) {
    return config.prefix() + std::string("embed.embed_fn");
}
std::string message_name(const Config& config, int64_t step) {
    return config.prefix() + ("embed.mpnn.message_fns." + std::to_string(step) + ".");
}
std::string update_name(const Config& config, int64_t step) {
    return config.prefix() + ("embed.mpnn.update_fns." + std::to_string(step) + ".");
}
std::string pool_name(const Config& config, int64_t level) {
    return config.encoders[static_cast<size_t>(level)].stage + "pool.";
}
std::string unpool_name(const Config& config, int64_t level) {
    return config.decoders[static_cast<size_t>(level)].stage + "unpool.";
}

namespace {

void add_batch_norm(Layout& layout, const std::string& name, int64_t n) {
    add_norm(layout, name, n);
    for (const char* statistic : {".running_mean", ".running_var"}) {
        layout.push_back({name + statistic, {n}});
        layout.back().is_fixed = true;
    }
    layout.push_back({name + ".num_batches_tracked", {1}, true});
}

void add_blocks(Layout& layout, const bsa::Config& stage) {
    const int64_t c = stage.n_channel;
    for (int64_t i = 0; i < stage.depth; ++i) {
        const std::string name = stage.stage + "blocks." + std::to_string(i) + ".";
        add_norm(layout, name + "norm1", c, true);
        add_norm(layout, name + "norm2", c, true);
        layout.push_back({name + "BMSA.sigma_att", {1, stage.n_head, 1, 1}});
        add_linear(layout, name + "BMSA.qkv", c, 3 * c);
        add_linear(layout, name + "BMSA.proj", c, c);
        add_linear(layout, name + "BMSA.pe_proj", stage.n_axis, c);
        add_linear(layout, name + "swiglu.w1", c, stage.n_hidden);
        add_linear(layout, name + "swiglu.w2", c, stage.n_hidden);
        add_linear(layout, name + "swiglu.w3", stage.n_hidden, c);
    }
}

}  // namespace

std::vector<TensorSpec> layout(const Config& config) {
    Layout layout;
    const int64_t c = config.width.front(), d = config.n_axis, f = config.n_feature;
    if (config.features == Features::fourier)
        layout.push_back({"pos_enc.linear.weight", {f / 2, d}});
    if (config.features == Features::linear) add_linear(layout, "pos_enc", d, f);
    add_linear(layout, embed_name(config), f, c);
    for (int64_t t = 0; t < config.n_step; ++t) {
        add_linear(layout, message_name(config, t) + "0", 2 * c + d, c);
        add_norm(layout, message_name(config, t) + "2", c);
        add_linear(layout, update_name(config, t) + "0", 2 * c, c);
        add_norm(layout, update_name(config, t) + "1", c);
    }
    for (int64_t l = 0; l <= config.n_stride(); ++l) {
        const auto at = static_cast<size_t>(l);
        add_blocks(layout, config.encoders[at]);
        if (l == config.n_stride()) break;
        const int64_t s = config.strides[at], fine = config.width[at],
                      coarse = config.width[at + 1];
        add_linear(layout, pool_name(config, l) + "proj", s * (fine + d), coarse);
        add_batch_norm(layout, pool_name(config, l) + "norm", coarse);
        add_linear(layout, unpool_name(config, l) + "proj", coarse + s * d, s * fine);
        add_batch_norm(layout, unpool_name(config, l) + "norm", fine);
        add_blocks(layout, config.decoders[at]);
    }
    if (config.has_head()) {
        add_linear(layout, "pred_head.0", c, c);
        add_linear(layout, "pred_head.2", c, config.n_output);
    }
    return layout;
}

}  // namespace surrogate::impl::bsa::erwin
