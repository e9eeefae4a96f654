// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"

/// Sites of dropout.
namespace surrogate::impl::sphere {

/// Returns number i of the n numbers from 0 to `last` in equal steps.
inline double spaced(double last, int64_t i, int64_t n) {
    return n > 1 ? last * static_cast<double>(i) / static_cast<double>(n - 1) : 0;
}

/// Return the sites of the Transformer: of the encoder's result; in block i of the MLP's hidden
/// channels or result, and of its branch as a whole (drop path).
inline DropoutSite encoder_site(const Transformer& config) {
    return {0, config.drop_rate};
}
inline DropoutSite mlp_site(const Transformer& config, int64_t i, bool is_result) {
    return {3 * i + (is_result ? 2 : 1), config.drop_rate};
}
inline DropoutSite path_site(const Transformer& config, int64_t i) {
    return {3 * i + 3, spaced(config.drop_path_rate, i, config.n_layer)};
}

/// Returns the site of a branch of repetition j of a level: of the attention, or of the
/// feed-forward part.
inline DropoutSite path_site(const SegformerLevel& config, int64_t j, bool is_attention) {
    return {2 * (config.n_before + j) + (is_attention ? 0 : 1),
            config.drop_path_rates[static_cast<size_t>(j)]};
}

}  // namespace surrogate::impl::sphere
