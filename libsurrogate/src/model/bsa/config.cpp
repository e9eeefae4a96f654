// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/config.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string_view>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::bsa {

void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: network." + text);
}

void require_power_of_two(const char* key, int64_t value) {
    if (std::has_single_bit(static_cast<uint64_t>(value))) return;
    refuse(std::string(key) + " is " + std::to_string(value) +
           ", expected a power of two; the nearest valid values are " +
           std::to_string(std::bit_floor(static_cast<uint64_t>(value))) + " and " +
           std::to_string(std::bit_ceil(static_cast<uint64_t>(value))));
}

void require_heads(const char* key, int64_t n_head, int64_t n_channel) {
    if (n_channel % n_head == 0) return;
    refuse(std::string(key) + " is " + std::to_string(n_head) + ", expected a divisor of the " +
           std::to_string(n_channel) + " channels");
}

int64_t hidden_width(double ratio, int64_t n, const char* key) {
    // in double, truncated, as in the official code
    const double width = ratio * static_cast<double>(n);
    if (!(width >= 1 && width <= static_cast<double>(max_width))) {
        refuse(std::string(key) + " gives a hidden width of " + number_text(width) +
               ", expected 1 to " + std::to_string(max_width));
    }
    return static_cast<int64_t>(width);
}

namespace {

int64_t power_of_two(Hyperparameters& read, const char* key, int64_t low, int64_t fallback) {
    const int64_t value = read.integer(key, low, max_width, fallback);
    require_power_of_two(key, value);
    return value;
}

void require_at_most_ball(const char* key, int64_t value, int64_t ball_size) {
    if (value <= ball_size) return;
    refuse(std::string(key) + " is " + std::to_string(value) + ", expected at most ball_size = " +
           std::to_string(ball_size) + ": a ball contains whole blocks and groups");
}

/// Returns the rotation matrix. Cosine and sine of 45 degrees are the official code's numbers: a
/// tree must not depend on the math library. Other angles are computed.
std::array<double, 9> rotation_of(double degrees, int64_t n_axis) {
    const double angle = degrees * std::numbers::pi / 180;
    const double c = degrees == 45 ? 0x1.6a09e667f3bcdp-1 : std::cos(angle);
    const double s = degrees == 45 ? 0x1.6a09e667f3bccp-1 : std::sin(angle);
    if (n_axis == 2) return {c, -s, s, c};
    // Three equal Euler angles.
    return {c * c,
            s * c * (s - 1),
            s * (s + c * c),
            s * c,
            s * s * s + c * c,
            s * c * (s - 1),
            -s,
            s * c,
            c * c};
}

double hex_number(const nlohmann::json& entry) {
    if (entry.is_number()) return entry.get<double>();
    if (entry.is_string()) {
        std::string_view text = entry.get_ref<const std::string&>();
        const bool is_negative = text.starts_with('-');
        if (is_negative) text.remove_prefix(1);
        if (text.starts_with("0x")) {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data() + 2, end, value, std::chars_format::hex);
            if (read.ec == std::errc() && read.ptr == end && std::isfinite(value))
                return is_negative ? -value : value;
        }
    }
    refuse("rotation holds " + printable(dump_json(entry), 40) +
           ", expected a finite number such as \"0x1.6a09e667f3bcdp-1\"");
}

}  // namespace

/// Reads the d x d numbers of the card, or an empty list.
void read_rotation(const nlohmann::json& network, Hyperparameters& read, double degrees,
                   Config& c) {
    if (c.is_rotated) c.rotation = rotation_of(degrees, c.n_axis);
    if (!read.has("rotation")) return;
    const nlohmann::json& list = network["rotation"];
    const auto n = static_cast<size_t>(c.n_axis * c.n_axis);
    if (!list.is_array() || (!list.empty() && list.size() != n)) {
        refuse("rotation is " + printable(dump_json(list), 60) + ", expected a list of " +
               std::to_string(n) + " numbers (a matrix of " + std::to_string(c.n_axis) +
               " axes, row by row) or an empty list");
    }
    for (size_t i = 0; i < list.size(); ++i) {
        const double value = hex_number(list[i]);
        if (std::abs(value) > 2) {
            refuse("rotation holds " + number_text(value) +
                   ", expected -1 to 1; remove the key to compute the rotation from the angle");
        }
        c.rotation[i] = value;
    }
}

namespace {

void read_attention(const nlohmann::json& network, Hyperparameters& outer, Config& c) {
    static const nlohmann::json nothing = nlohmann::json::object();
    const bool has = outer.has("attention_kwargs");
    if (has && !network["attention_kwargs"].is_object()) {
        refuse("attention_kwargs is " + printable(dump_json(network["attention_kwargs"]), 60) +
               ", expected an object");
    }
    Hyperparameters read(has ? network["attention_kwargs"] : nothing, "attention_kwargs");
    c.block_size = power_of_two(read, "compress_block_size", 1, 8);
    c.n_choice = read.integer("selected_blocks_number", 1, max_width, 4);
    const bool mlp = read.boolean("use_compress_mlp", true);
    const double expand = read.positive("compress_mlp_expand_factor", 2.0);
    const bool groups = read.boolean("use_group_selection", true);
    const int64_t group = power_of_two(read, "group_selection_size", 1, 8);
    c.avoids_own_ball = read.boolean("should_mask_blocks_in_ball", true);
    c.has_token_gates = read.boolean("use_token_gated_attention", true);
    c.compresses_groups = read.boolean("use_coarse_q_attn", false);
    const bool scores = read.boolean("use_coarse_q_importance", false);
    read.refuse_unknown();

    c.group_size = groups ? group : 1;
    c.compresses_by_mlp = mlp;
    c.has_query_mlp = mlp && (scores || c.compresses_groups);
    c.n_coarse_hidden = mlp ? hidden_width(expand, c.block_size * c.head_dim(),
                                           "attention_kwargs.compress_mlp_expand_factor")
                            : 0;
    if (!c.is_sparse()) return;
    require_at_most_ball("attention_kwargs.compress_block_size", c.block_size, c.ball_size);
    require_at_most_ball("attention_kwargs.group_selection_size", c.group_size, c.ball_size);
    if ((c.compresses_groups || c.has_query_mlp) && c.group_size != c.block_size) {
        refuse(
            "attention_kwargs.use_coarse_q_attn and use_coarse_q_importance use blocks of queries "
            "as groups: group_selection_size is " +
            std::to_string(c.group_size) + (groups ? "" : " (without use_group_selection)") +
            ", expected compress_block_size = " + std::to_string(c.block_size));
    }
}

Config parse_network(const nlohmann::json& network) {
    Hyperparameters read(network, "the BSA network");
    Config c;
    read.text("model", "");
    c.n_feature = read.integer("c_in", 1, max_width, 64);
    c.n_channel = read.integer("c_hidden", 1, max_width, 64);
    c.n_output = read.integer("c_out", 1, max_width, 1);
    c.depth = read.integer("depth", 0, max_depth, 18);
    c.n_head = read.integer("num_heads", 1, max_width, 8);
    const int64_t ratio = read.integer("mlp_ratio", 1, 1024, 4);
    c.n_axis = read.integer("dimensionality", 1, 3, 3);
    c.ball_size = power_of_two(read, "ball_size", 2, 256);
    c.residual_every = read.integer("block_size", 0, max_depth, 6);
    const bool rotates = read.boolean("should_rotate", true);
    const double angle = read.number("rotation_angle", 45);
    c.attention =
        static_cast<AttentionType>(read.choice("attention_type", {"sparse", "ball", "global"}, 0));
    c.features = static_cast<Features>(read.choice("pos_enc", {"fourier", "linear", "none"}, 0));
    c.is_rotated_fully = read.choice("rotated_order", {"full", "ball"}, 0) == 0;
    c.trains_sigma = read.boolean("sigma_trainable", false);

    require_heads("num_heads", c.n_head, c.n_channel);
    c.n_hidden = hidden_width(static_cast<double>(ratio), c.n_channel, "mlp_ratio");
    if (c.features == Features::fourier && c.n_feature % 2 != 0) {
        refuse("c_in is " + std::to_string(c.n_feature) +
               ", expected an even number with pos_enc 'fourier': half cosines, half sines");
    }
    // In full attention each slot attends to all slots: their order has no effect.
    c.is_rotated = rotates && angle > 0 && c.n_axis > 1 && c.has_balls();
    read_rotation(network, read, angle, c);
    read_attention(network, read, c);
    read.refuse_unknown();
    return c;
}

Config parse_single_layer(const nlohmann::json& network) {
    Hyperparameters read(network, "erwin_ball_attention");
    Config c;
    read.text("model", "");
    c.attention = AttentionType::ball;
    c.features = Features::given;
    c.is_single_layer = true;
    c.depth = 1;
    c.residual_every = 0;
    c.is_rotated = false;
    c.n_channel = c.n_feature = c.n_output = read.integer("dim", 1, max_width, 64);
    c.n_head = read.integer("heads", 1, max_width, 8);
    c.ball_size = power_of_two(read, "ball", 2, 256);
    c.n_axis = read.integer("d", 1, 3, 3);
    c.n_hidden = 0;
    c.trains_sigma = true;
    const std::string rows = read.text("qkv_layout", "interleaved");
    if (!rows.starts_with("interleaved")) {
        refuse("qkv_layout is '" + printable(rows, 60) +
               "', expected 'interleaved': Erwin's ball attention has rows h*3D + e*3 + {q, k, v}");
    }
    read.refuse_unknown();
    require_heads("heads", c.n_head, c.n_channel);
    return c;
}

}  // namespace

int64_t Config::min_slots() const {
    return is_single_layer ? 1 : std::max({least_slots, block_size, group_size});
}

Config parse_config(const nlohmann::json& network) {
    if (!network.is_object())
        throw Error(Status::bad_file,
                    "card: network is " + printable(network.dump(), 60) + ", expected an object");
    const auto model = network.find("model");
    if (model == network.end() || model->is_null()) return parse_network(network);
    if (*model == "erwin_ball_attention") return parse_single_layer(network);
    if (*model == "bsa") return parse_network(network);
    throw Error(Status::not_supported, "card: network.model " + printable(model->dump(), 60) +
                                           " is not supported, expected 'erwin_ball_attention', "
                                           "or no key model for the network of Ball Sparse "
                                           "Attention");
}

}  // namespace surrogate::impl::bsa
