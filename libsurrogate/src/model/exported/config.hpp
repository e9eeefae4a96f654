// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "libsurrogate/src/file/attached_file.hpp"

namespace surrogate::impl::exported {

/// Key `network` of a card with the family torch; see share/doc/reference/families/torch.md.
struct Config {
    AttachedFile package;
    int64_t in_dim = 0, out_dim = 0;
    bool is_per_cloud = false;  ///< rows depend on all rows of their cloud; otherwise on their own
    bool is_double = false;
    bool has_batch_axis = false;
    int64_t min_points = 1, max_points = 0;  ///< rows of an evaluation
};

/// Throws bad_file that names the key.
Config parse_config(const nlohmann::json& network);

}  // namespace surrogate::impl::exported
