// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/tree.hpp"

#include <algorithm>
#include <numeric>

namespace surrogate::impl::sequoia {

std::vector<int64_t> level_sizes(int64_t n_leaf, int64_t k) {
    std::vector<int64_t> sizes = {n_leaf};
    while (sizes.back() > 1) sizes.push_back((sizes.back() - 1) / k + 1);
    return sizes;
}

std::vector<int> visits(Schedule schedule, int n_level) {
    std::vector<int> list;
    for (int i = 0; i < n_level; ++i) {
        if (schedule != Schedule::top_down) list.push_back(i);
        if (schedule == Schedule::top_down || schedule == Schedule::interleaved)
            list.push_back(n_level - 1 - i);
    }
    if (schedule == Schedule::complete) {
        for (int l = n_level - 1; l >= 0; --l) list.push_back(l);
    }
    return list;
}

int block_level(int64_t n_leaf, int64_t k) {
    constexpr int64_t most_leaves = 1024;
    const int highest = static_cast<int>(level_sizes(n_leaf, k).size()) - 1;
    int level = 1;
    for (int64_t n = k * k; n <= most_leaves; n *= k) ++level;
    return std::min(level, highest);
}

namespace {

/// Returns the highest level with at least n nodes, or 0 if there is none.
int highest_level(const std::vector<int64_t>& sizes, int64_t n) {
    int highest = 0;
    for (int l = 0; l < static_cast<int>(sizes.size()); ++l) {
        if (sizes[static_cast<size_t>(l)] >= n) highest = l;
    }
    return highest;
}

/// Returns the most nodes that a rank holds with this shared level.
int64_t most_held(const std::vector<int64_t>& sizes, int64_t k, int size, int cut) {
    int64_t n_own = (sizes[static_cast<size_t>(cut)] - 1) / size + 1;
    int64_t n = std::accumulate(sizes.begin() + cut, sizes.end(), int64_t{0});
    for (int l = cut - 1; l >= 0; --l) {
        n_own = std::min(n_own * k, sizes[static_cast<size_t>(l)]);
        n += n_own;
    }
    return n;
}

int cut_level(const std::vector<int64_t>& sizes, int64_t k, int size) {
    // a difference of one node is then an eighth of a rank's work
    constexpr int64_t nodes_per_rank = 8;
    const int top = static_cast<int>(sizes.size()) - 1;
    int cut = highest_level(sizes, nodes_per_rank * size);
    if (cut == 0) cut = highest_level(sizes, size);
    cut = std::max(cut, std::min(1, top));
    // On many ranks the levels that all of them compute may be more work than that.
    while (cut < top && 8 * most_held(sizes, k, size, cut + 1) < 7 * most_held(sizes, k, size, cut))
        ++cut;
    return cut;
}

}  // namespace

Tree::Tree(int64_t n_leaf, int64_t k, int rank, int size, int lowest_cut)
    : k_(k), rank_(rank), size_(size) {
    const std::vector<int64_t> sizes = level_sizes(n_leaf, k);
    cut_ = std::max(cut_level(sizes, k, size), lowest_cut);
    for (const int64_t n : sizes) levels_.push_back({n, {0, n}});
    for (int l = 0; l < cut_; ++l) levels_[static_cast<size_t>(l)].held = owned(l);
}

Range Tree::owned(int l, int rank) const {
    Range range = balanced_range(level(cut_).n, rank, size_);
    for (int above = cut_; above > l; --above) {
        range.begin = std::min(range.begin * k_, level(above - 1).n);
        range.end = std::min(range.end * k_, level(above - 1).n);
    }
    return range;
}

std::vector<int64_t> Tree::begins(int l) const {
    std::vector<int64_t> begins;
    for (int rank = 0; rank < size_; ++rank) begins.push_back(owned(l, rank).begin);
    begins.push_back(level(l).n);
    return begins;
}

int64_t Tree::n_node() const {
    int64_t n = 0;
    for (const Level& level : levels_) n += level.n;
    return n;
}

int64_t Tree::n_held() const {
    int64_t n = 0;
    for (const Level& level : levels_) n += level.held.size();
    return n;
}

int64_t Tree::n_top() const {
    int64_t n = 0;
    for (int l = cut_; l < n_level(); ++l) n += level(l).n;
    return n;
}

int64_t Tree::n_missing(int l, int64_t tile) const {
    return nodes_of(l, tile).end == level(l).n ? n_missing(l) : 0;
}

int64_t n_ancestor(const Config& config, const Tree& tree, int l) {
    const int64_t n_above = tree.n_level() - 1 - l;
    switch (config.ancestors) {
        case Ancestors::all: return n_above;
        case Ancestors::parent: return std::min<int64_t>(n_above, 1);
        case Ancestors::none: break;
    }
    return 0;
}

std::string description(const Tree& tree) {
    std::string sizes;
    for (int l = 0; l < tree.n_level(); ++l)
        sizes += (l > 0 ? ", " : "") + std::to_string(tree.level(l).n);
    return "tree: levels of " + sizes + " nodes; all ranks compute the " +
           std::to_string(tree.n_top()) + " nodes from level " + std::to_string(tree.cut()) + " on";
}

void require_tree(const Config& config, const Tree& tree) {
    if (config.features == Features::tokens && tree.n_leaf() > config.max_seq_len) {
        throw Error(Status::shape,
                    "the sequence has " + std::to_string(tree.n_leaf()) +
                        " tokens, the model has positions for max_seq_len = " +
                        std::to_string(config.max_seq_len) +
                        "; shorten the sequence, or train with a larger max_seq_len");
    }
    if (config.has_marker && config.dim <= tree.n_level()) {
        throw Error(
            Status::shape,
            "a tree of " + std::to_string(tree.n_leaf()) + " leaves with k = " +
                std::to_string(tree.k()) + " has " + std::to_string(tree.n_level()) +
                " levels; level_marker 'zero' uses one channel per level: transformer_dim is " +
                std::to_string(config.dim) + ", expected more than the number of levels");
    }
}

}  // namespace surrogate::impl::sequoia
