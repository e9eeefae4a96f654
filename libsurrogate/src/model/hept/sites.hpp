// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/view.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

/// Sites of dropout: the branches that are added to the stream. Source: specification of the
/// family, section 4.
namespace surrogate::impl::hept {

inline DropoutSite attention_site(const Config& config, int64_t layer) {
    return {2 * layer, config.dropout};
}
inline DropoutSite mlp_site(const Config& config, int64_t layer) {
    return {2 * layer + 1, config.dropout};
}
/// Returns the site of the output MLP.
inline DropoutSite readout_site(const Config& config) {
    return {2 * config.n_layers, config.dropout};
}

/// Returns the rows of own tokens from `first` on, and of a tile of them.
inline DropoutRows rows_from(const TokenPlan& plan, int64_t first) {
    return DropoutRows::of(plan.ids().data() + first);
}
inline DropoutRows rows_of(const TokenPlan& plan, int64_t tile) {
    return rows_from(plan, tile * kernels::tile_points);
}

}  // namespace surrogate::impl::hept
