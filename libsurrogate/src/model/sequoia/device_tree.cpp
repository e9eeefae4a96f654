// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_tree.hpp"

#include <algorithm>
#include <string>

#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

using kernels::sequoia::AttendArgs;
using kernels::sequoia::AverageArgs;
using kernels::sequoia::ChildrenArgs;
using kernels::sequoia::DeviceLevel;

namespace {

void require_at_most(const char* what, int64_t value, int64_t most) {
    if (value <= most) return;
    throw Error(Status::not_supported, std::string("backend 'cuda' takes Sequoia with ") + what +
                                           " up to " + std::to_string(most) + ", the model has " +
                                           std::to_string(value) +
                                           "; backend 'simd' has no such limit");
}

[[noreturn]] void refuse(const std::string& what) {
    throw Error(Status::not_supported, "Sequoia with " + what +
                                           " is not built for backend 'cuda'; use backend 'simd' "
                                           "or 'auto'");
}

}  // namespace

void require_device_sizes(const Config& config) {
    require_at_most("k", config.k, kernels::sequoia::largest_branch);
    require_at_most("head_dim", config.head_dim, kernels::sequoia::largest_head);
    if (config.features != Features::none)
        require_at_most("dimensionality", config.dimensionality, kernels::sequoia::most_positions);
    if (config.features == Features::tokens) refuse("pos_enc 'tokens'");
    if (place_of(config) != Place::leaves) refuse("read-outs of other nodes than leaves");
}

DeviceTree::DeviceTree(const Config& config, const Tree& tree)
    : k_(config.k),
      repeats_last_(config.repeats_last),
      has_siblings_(config.has_siblings),
      ancestors_(config.ancestors) {
    require_at_most("levels", tree.n_level(), kernels::sequoia::most_levels);
    int64_t first_tile = 0;
    for (int l = 0; l < tree.n_level(); ++l) {
        const Level& level = tree.level(l);
        levels_.push_back(kernels::sequoia::device_level(k_, level.n, level.held.begin,
                                                         level.held.end, first_tile));
        first_tile += levels_.back().n_tile;
    }
}

int64_t DeviceTree::n_last(int l) const {
    const int64_t n = level(l).n;
    return repeats_last_ ? 1 + kernels::round_up(n, k_) - n : 1;
}

AverageArgs DeviceTree::average(int l) const {
    AverageArgs args;
    args.k = k_;
    args.children = level(l - 1);
    args.parents = level(l);
    args.n_last = n_last(l - 1);
    return args;
}

ChildrenArgs DeviceTree::children(int l) const {
    ChildrenArgs args;
    args.k = k_;
    args.children = level(l - 1);
    args.parents = level(l);
    args.n_last = n_last(l - 1);
    args.first_tile = n_leaf_tile();
    return args;
}

AttendArgs DeviceTree::attend(int l) const {
    AttendArgs args;
    args.k = k_;
    args.level = level(l);
    args.has_siblings = has_siblings_;
    args.n_last = n_last(l);
    args.first_tile = n_leaf_tile();
    const auto n_above = static_cast<int32_t>(levels_.size()) - 1 - l;
    if (ancestors_ != Ancestors::none)
        args.n_ancestor = ancestors_ == Ancestors::all ? n_above : std::min(n_above, 1);
    std::copy_n(levels_.begin() + l + 1, args.n_ancestor, args.ancestors.begin());
    return args;
}

}  // namespace surrogate::impl::sequoia
