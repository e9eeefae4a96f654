// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sequoia/sequoia.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::sequoia {

/// Nodes of each level of a k-ary tree, leaves first: n_leaf, ceil(n_leaf / k), .., 1. One level of
/// no nodes if there are no leaves.
std::vector<int64_t> level_sizes(int64_t n_leaf, int64_t k);

/// Levels in the order in which a layer visits them.
std::vector<int> visits(Schedule schedule, int n_level);

/// One level of a tree, as a rank holds it.
struct Level {
    int64_t n = 0;  ///< nodes, over all ranks
    Range held;     ///< those of this rank: begin is a multiple of k below the cut
};

/// A tree and the part of it that one rank holds. Node i of a level has the parent i / k and the
/// children k i .. min(k i + k, n) - 1 of the level below.
///
/// Ranks own equal, contiguous shares of the nodes of one level, the cut, and all descendants of
/// their own nodes. Levels from the cut on are held by all ranks, which compute them alike.
/// The cut is the highest level with at least 8 nodes a rank; where only leaves are as many, the
/// highest with a node for each rank, or level 1: some ranks then own nothing.
class Tree {
public:
    Tree() = default;
    Tree(int64_t n_leaf, int64_t k, int rank, int size);

    int64_t k() const { return k_; }
    int n_level() const { return static_cast<int>(levels_.size()); }
    const Level& level(int l) const { return levels_[static_cast<size_t>(l)]; }
    int64_t n_leaf() const { return levels_.empty() ? 0 : levels_.front().n; }
    int64_t n_node() const;  ///< of all levels and ranks
    int64_t n_held() const;  ///< on this rank
    int64_t n_top() const;   ///< of the levels from the cut on

    int cut() const { return cut_; }
    /// Nodes of a level up to the cut that this rank owns.
    Range owned(int l) const { return owned(l, rank_); }
    Range owned(int l, int rank) const;
    /// Nodes of the cut level that a rank owns at most.
    int64_t most_owned() const { return (level(cut_).n + size_ - 1) / size_; }
    /// begins[r] .. begins[r + 1] - 1 are the nodes of the level that rank r owns; (size + 1).
    std::vector<int64_t> begins(int l) const;

    int64_t tile_nodes() const { return kernels::sequoia::tile_nodes(k_); }
    int64_t n_tile(int l) const { return (level(l).held.size() + tile_nodes() - 1) / tile_nodes(); }
    /// Nodes that are missing to a full last group of siblings.
    int64_t n_missing(int l) const { return kernels::round_up(level(l).n, k_) - level(l).n; }
    /// The same if the tile holds the end of the level; otherwise 0.
    int64_t n_missing(int l, int64_t tile) const;

private:
    int64_t k_ = 2;
    int rank_ = 0, size_ = 1, cut_ = 0;
    std::vector<Level> levels_;
};

/// Ancestors that each node of level l sees.
int64_t n_ancestor(const Config& config, const Tree& tree, int l);

/// A line for the table of a plan: the sizes of the levels, and what all ranks compute.
std::string description(const Tree& tree);

/// Throws shape if the model cannot work on a tree: more tokens than positions, more levels to mark
/// than channels.
void require_tree(const Config& config, const Tree& tree);

}  // namespace surrogate::impl::sequoia
