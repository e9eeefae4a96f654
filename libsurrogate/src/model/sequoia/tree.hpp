// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sequoia/sequoia.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::sequoia {

/// Returns the number of nodes of each level of a k-ary tree, leaves first: n_leaf, ceil(n_leaf /
/// k), .., 1. Without leaves there is one level with no nodes.
std::vector<int64_t> level_sizes(int64_t n_leaf, int64_t k);

/// Returns the levels in the order in which a layer processes them.
std::vector<int> visits(Schedule schedule, int n_level);

/// Returns the level whose nodes, with all their descendants, a backward pass sums separately: the
/// highest one whose nodes have at most 1,024 leaves, but at least level 1 if there is one.
int block_level(int64_t n_leaf, int64_t k);

/// One level of a tree, as a rank holds it.
struct Level {
    int64_t n = 0;  ///< nodes, over all ranks
    Range held;     ///< nodes on this rank: begin is a multiple of k below the shared level
};

/// A tree and the part of it that one rank holds. Node i of a level has the parent i / k and the
/// children k i .. min(k i + k, n) - 1 of the level below.
///
/// Ranks own balanced contiguous ranges of the nodes of one level, the shared level (cut), and
/// all descendants of their own nodes. All ranks hold the levels from the shared level on and
/// compute them identically.
/// The shared level is the highest level with at least 8 nodes per rank. If only the leaves are
/// as many, it is the highest level with a node for each rank, or level 1; some ranks then own
/// nothing. It is a level above that if the busiest rank then holds less than 7/8 of the nodes: on
/// many ranks the shared levels are most of the work. A backward pass raises it to block_level(),
/// so that ranks own whole blocks.
class Tree {
public:
    Tree() = default;
    /// Creates the part of rank `rank` of `size` ranks; the shared level is lowest_cut or above.
    /// Local.
    Tree(int64_t n_leaf, int64_t k, int rank, int size, int lowest_cut = 0);

    int64_t k() const { return k_; }
    int n_level() const { return static_cast<int>(levels_.size()); }
    const Level& level(int l) const { return levels_[static_cast<size_t>(l)]; }
    int64_t n_leaf() const { return levels_.empty() ? 0 : levels_.front().n; }
    int64_t n_node() const;  ///< over all levels and ranks
    int64_t n_held() const;  ///< on this rank
    int64_t n_top() const;   ///< on the levels from the shared level on

    int rank() const { return rank_; }
    int size() const { return size_; }
    int cut() const { return cut_; }
    /// Returns the nodes that this rank owns on a level up to the shared level.
    Range owned(int l) const { return owned(l, rank_); }
    Range owned(int l, int rank) const;
    /// Returns the largest number of nodes of the shared level that a rank owns.
    int64_t most_owned() const { return (level(cut_).n + size_ - 1) / size_; }
    /// Returns the partition of a level up to the shared level, (size + 1): rank r owns the nodes
    /// begins[r] .. begins[r + 1] - 1.
    std::vector<int64_t> begins(int l) const;

    int64_t tile_nodes() const { return kernels::sequoia::tile_nodes(k_); }
    int64_t n_tile(int l) const { return (level(l).held.size() + tile_nodes() - 1) / tile_nodes(); }
    /// Returns the number of nodes that the last group of siblings lacks.
    int64_t n_missing(int l) const { return kernels::round_up(level(l).n, k_) - level(l).n; }
    /// Returns n_missing(l) if the tile contains the end of the level, otherwise 0.
    int64_t n_missing(int l, int64_t tile) const;
    /// Returns the nodes of a tile, counted over all ranks.
    Range nodes_of(int l, int64_t tile) const {
        const int64_t first = level(l).held.begin + tile * tile_nodes();
        return {first, std::min(first + tile_nodes(), level(l).held.end)};
    }

private:
    int64_t k_ = 2;
    int rank_ = 0, size_ = 1, cut_ = 0;
    std::vector<Level> levels_;
};

/// Returns the number of ancestors that each node of level l attends to.
int64_t n_ancestor(const Config& config, const Tree& tree, int l);

/// Returns a line for the table of a plan: the sizes of the levels, and the nodes that all ranks
/// compute.
std::string description(const Tree& tree);

/// Throws shape if the tree does not fit the model: more tokens than positions, or more levels to
/// mark than channels.
void require_tree(const Config& config, const Tree& tree);

}  // namespace surrogate::impl::sequoia
