// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/dropout_mlp.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"

/// Sites of dropout: all nodes before the first layer, the result of the attention, the hidden
/// channels of the MLP and its result. Source: specification of the family, section 2; authors'
/// code HySonLab/HierAttention.
namespace surrogate::impl::sequoia {

inline DropoutSite embedding_site(const Config& config) {
    return {0, config.dropout};
}
inline DropoutSite attention_site(const Config& config, int64_t layer) {
    return {3 * layer + 1, config.dropout};
}

/// Returns the MLP of a layer with its dropout.
template <class T>
DropoutMlp<T> dropout_mlp(const Config& config, const kernels::Queue& queue,
                          const LayerWeights<T>& weights, const Dropout& dropout, int64_t layer) {
    return {queue,
            weights.mlp.view(),
            dropout,
            {3 * layer + 2, config.dropout},
            {3 * layer + 3, config.dropout}};
}

/// Returns the rows of nodes of a level from `first` on: nodes are counted over all levels and
/// ranks, from the leaves upwards.
inline DropoutRows rows_from(const Tree& tree, int l, int64_t first) {
    for (int below = 0; below < l; ++below) first += tree.level(below).n;
    return DropoutRows::from(first);
}
inline DropoutRows rows_of(const Tree& tree, int l, int64_t tile) {
    return rows_from(tree, l, tree.nodes_of(l, tile).begin);
}

}  // namespace surrogate::impl::sequoia
