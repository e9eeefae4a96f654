// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl {
class Hyperparameters;
}

namespace surrogate::impl::bsa {

/// Slots that a slot attends to.
enum class AttentionType {
    sparse,  ///< balls, compressed blocks and selected blocks
    ball,    ///< balls only, without gates
    full,    ///< all slots
};

/// Source of the features of a point.
enum class Features {
    fourier,  ///< cosines and sines of the coordinates
    linear,   ///< an affine map of the coordinates
    given,    ///< the caller's fields
};

/// Validated hyperparameters of the official code, and values derived from them. Letters as in the
/// specification of the family.
struct Config {
    static constexpr const char* family = "Ball Sparse Attention";  ///< in messages

    AttentionType attention = AttentionType::sparse;
    Features features = Features::fourier;
    /// True for the ball attention of Erwin alone: port x to port y, without norm, residual and
    /// embedding. Points are in the order of their ids, m per ball.
    bool is_single_layer = false;
    /// Prefix of the names ("encoder.0.") of the blocks of Erwin's U-net that work on the same
    /// slots. These blocks have neither embedding nor head. Empty: not part of a U-net.
    std::string stage;
    bool is_last_stage = false;  ///< of a U-net whose head follows: this stage has it

    int64_t n_axis = 3;          ///< d
    int64_t n_feature = 64;      ///< c_in
    int64_t n_output = 1;        ///< c_out
    int64_t n_channel = 64;      ///< C
    int64_t n_head = 8;          ///< H
    int64_t n_hidden = 256;      ///< width of SwiGLU
    int64_t depth = 18;          ///< layers
    int64_t ball_size = 256;     ///< m, unless the cloud has fewer slots
    int64_t residual_every = 6;  ///< layers between block residuals; 0: no block residuals

    int64_t block_size = 8;          ///< l
    int64_t group_size = 8;          ///< g; 1 without group selection
    int64_t n_choice = 4;            ///< k
    int64_t n_coarse_hidden = 128;   ///< E, width of the networks that compress blocks
    bool compresses_by_mlp = true;   ///< keys and values; false: means
    bool has_query_mlp = false;      ///< queries are compressed by a network too
    bool compresses_groups = false;  ///< compressed attention has whole blocks of queries
    bool avoids_own_ball = true;     ///< the choice of blocks avoids the own ball
    bool has_token_gates = true;     ///< false: one gate per head and branch

    bool is_rotated = true;        ///< odd layers work in the rotated order
    bool is_rotated_fully = true;  ///< split down to pairs; false: down to balls, slots ascending
    std::array<double, 9> rotation{};  ///< (d, d)
    bool trains_sigma = false;

    int64_t least_slots = 2;  ///< slots of the smallest cloud, at least
    int64_t slot_unit = 1;    ///< ranks own multiples of this many slots, and whole balls

    bool is_stage() const { return !stage.empty(); }
    bool has_ends() const { return !is_single_layer && !is_stage(); }  ///< embedding and head
    bool has_head() const { return has_ends() || is_last_stage; }
    bool is_sparse() const { return attention == AttentionType::sparse; }
    bool has_balls() const { return attention != AttentionType::full; }
    bool is_layer_rotated(int64_t layer) const { return is_rotated && layer % 2 == 1; }
    bool adds_residual(int64_t layer) const {
        return residual_every > 0 && ((layer + 1) % residual_every == 0 || layer + 1 == depth);
    }
    int64_t head_dim() const { return n_channel / n_head; }
    kernels::Heads heads() const { return {n_head, head_dim(), head_dim()}; }
    /// Returns the number of slots that even the smallest cloud has.
    int64_t min_slots() const;
    int64_t n_tensor() const;  ///< tensors in layout()
};

/// Parses the card's `network` object. Local. Throws bad_file with the key, the value, the limit
/// and a remedy.
Config parse_config(const nlohmann::json& network);

// Shared with the parser of Erwin's U-net; these functions throw the same errors.
constexpr int64_t max_width = 1 << 20;  // bounds every product of two widths below 2^41
constexpr int64_t max_depth = 10000;
/// Throws bad_file with the text "card: network." and `text`.
[[noreturn]] void refuse(const std::string& text);
/// Throws bad_file if the value of `key` is not a power of two.
void require_power_of_two(const char* key, int64_t value);
/// Throws bad_file if n_head does not divide n_channel.
void require_heads(const char* key, int64_t n_head, int64_t n_channel);
/// Returns ratio * n, truncated. Throws bad_file outside 1 .. max_width.
int64_t hidden_width(double ratio, int64_t n, const char* key);
/// Sets the rotation to the card's matrix, or computes it from `degrees`.
void read_rotation(const nlohmann::json& network, Hyperparameters& read, double degrees,
                   Config& config);

/// Returns the specifications of all weights in the order of the official state_dict.
std::vector<TensorSpec> layout(const Config& config);

}  // namespace surrogate::impl::bsa
