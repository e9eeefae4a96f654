// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/config.hpp"

namespace surrogate::impl::bsa::erwin {

/// Validated hyperparameters of Erwin's U-net with L strides and L + 1 levels, alone or between the
/// features and the head of the official models. A stage consists of
/// the consecutive blocks on one level: encoders 0 .. L - 1, bottleneck (level L), decoders
/// L - 1 .. 0.
struct Config {
    static constexpr const char* family = "Erwin's U-net";  ///< in messages

    int64_t n_feature = 0;                ///< c_in
    int64_t n_axis = 3;                   ///< d
    int64_t n_step = 3;                   ///< steps of message passing
    Features features = Features::given;  ///< pos_enc
    int64_t n_output = 0;                 ///< c_out; 0: no head, the output is x of level 0
    /// Nearest neighbors that send messages to a point, with the point itself; 0: the caller's
    /// edges
    int64_t n_neighbor = 0;
    std::vector<int64_t> width;         ///< (L + 1) channels of each level
    std::vector<int64_t> strides;       ///< (L)
    std::vector<bsa::Config> encoders;  ///< (L + 1), the last one is the bottleneck
    std::vector<bsa::Config> decoders;  ///< (L), decoder of level l at index l

    bool has_head() const { return n_output > 0; }
    int64_t n_out() const { return has_head() ? n_output : width.front(); }
    int64_t n_given() const { return features == Features::given ? n_feature : 0; }
    /// Returns the prefix of the names of the U-net's weights.
    const char* prefix() const { return has_head() ? "main_model." : ""; }
    int64_t n_stride() const { return static_cast<int64_t>(strides.size()); }
    int64_t n_depth() const;  ///< blocks of all stages
};

/// Parses the card's `network` object. Local. Throws bad_file with the key, the value and the
/// expected values.
Config parse_config(const nlohmann::json& network);

/// Returns the specifications of all weights under the names of the official code.
std::vector<TensorSpec> layout(const Config& config);

/// Returns prefixes of weight names: of the layer of the features, of message-passing step t, and
/// of the transition from level l to the next one and back.
std::string embed_name(const Config& config);
std::string message_name(const Config& config, int64_t step);
std::string update_name(const Config& config, int64_t step);
std::string pool_name(const Config& config, int64_t level);
std::string unpool_name(const Config& config, int64_t level);

}  // namespace surrogate::impl::bsa::erwin
