// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/config.hpp"

namespace surrogate::impl::bsa::erwin {

/// Validated hyperparameters of Erwin's U-net with L strides and L + 1 levels. A stage consists of
/// the consecutive blocks on one level: encoders 0 .. L - 1, bottleneck (level L), decoders
/// L - 1 .. 0.
struct Config {
    int64_t n_feature = 0;              ///< c_in
    int64_t n_axis = 3;                 ///< d
    int64_t n_step = 3;                 ///< steps of message passing
    std::vector<int64_t> width;         ///< (L + 1) channels of each level
    std::vector<int64_t> strides;       ///< (L)
    std::vector<bsa::Config> encoders;  ///< (L + 1), the last one is the bottleneck
    std::vector<bsa::Config> decoders;  ///< (L), decoder of level l at index l

    int64_t n_stride() const { return static_cast<int64_t>(strides.size()); }
    int64_t n_depth() const;  ///< blocks of all stages
};

/// Parses the card's `network` object. Local. Throws bad_file with the key, the value and the
/// expected values.
Config parse_config(const nlohmann::json& network);

/// Returns the specifications of all weights under the names of the official code.
std::vector<TensorSpec> layout(const Config& config);

/// Return prefixes of weight names: of message-passing step t, and of the transition from level l
/// to the next one and back.
std::string message_name(int64_t step);
std::string update_name(int64_t step);
std::string pool_name(int64_t level);
std::string unpool_name(const Config& config, int64_t level);

}  // namespace surrogate::impl::bsa::erwin
