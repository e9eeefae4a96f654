// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_tree.hpp"

#include <algorithm>

#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::sequoia {

using kernels::sequoia::AttendArgs;
using kernels::sequoia::AverageArgs;
using kernels::sequoia::ChildrenArgs;

void require_device_sizes(const Config& config) {
    require_at_most_on_device(Config::family, "k", config.k, kernels::sequoia::largest_branch);
    require_at_most_on_device(Config::family, "head_dim", config.head_dim,
                              kernels::sequoia::largest_head);
    if (config.features != Features::none)
        require_at_most_on_device(Config::family, "dimensionality", config.dimensionality,
                                  kernels::sequoia::most_positions);
    if (config.features == Features::tokens) refuse_on_device(Config::family, "pos_enc 'tokens'");
}

void DeviceTree::resize(const Tree& tree) {
    require_at_most_on_device(Config::family, "levels", tree.n_level(),
                              kernels::sequoia::most_levels);
    tree_ = &tree;
    levels_.clear();
    int64_t first_tile = 0;
    for (int l = 0; l < tree.n_level(); ++l) {
        const Level& level = tree.level(l);
        levels_.push_back(kernels::sequoia::device_level(tree.k(), level.n, level.held.begin,
                                                         level.held.end, first_tile));
        first_tile += levels_.back().n_tile;
    }
}

AverageArgs DeviceTree::average(int l) const {
    AverageArgs args;
    args.k = tree_->k();
    args.children = level(l - 1);
    args.parents = level(l);
    args.n_last = n_last(l - 1);
    return args;
}

ChildrenArgs DeviceTree::children(int l) const {
    ChildrenArgs args;
    args.k = tree_->k();
    args.children = level(l - 1);
    args.parents = level(l);
    args.n_last = n_last(l - 1);
    args.first_tile = n_leaf_tile();
    return args;
}

AttendArgs DeviceTree::attend(int l) const {
    AttendArgs args;
    args.k = tree_->k();
    args.level = level(l);
    args.has_siblings = config_.has_siblings;
    args.n_last = n_last(l);
    args.first_tile = n_leaf_tile();
    args.n_ancestor = static_cast<int32_t>(n_ancestor(config_, *tree_, l));
    std::copy_n(levels_.begin() + l + 1, args.n_ancestor, args.ancestors.begin());
    return args;
}

}  // namespace surrogate::impl::sequoia
