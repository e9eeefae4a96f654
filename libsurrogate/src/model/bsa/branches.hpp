// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/coarse.hpp"
#include "libsurrogate/src/model/bsa/fetch.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// Results of attention that its backward pass reads. Tiles of slots, except the fields of groups,
/// which exist if blocks of queries are compressed: tiles of tile_points groups.
template <class T>
struct BranchOutputs {
    kernels::Tiles<T> ball, compressed, selected;              ///< (C): before the gates
    kernels::Tiles<T> log_ball, log_compressed, log_selected;  ///< (H): see log_sums()
    kernels::Tiles<T> group_queries, group_averages;           ///< (C)
    kernels::Tiles<T> log_groups;                              ///< (H)
};

/// Computes the branches of attention for some of this rank's slots at a time.
template <class T>
class Branches {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    Branches(const Config& config, const kernels::Queue& queue, const TreePlan<T>& plan,
             Workspace<T>& work, Coarse<T>& coarse, const Fetch<T>& fetch);

    /// Sets the sizes from the workspace. Local. Allocates only if they exceed all earlier sizes.
    void resize();
    /// Sets the fields that each following call also writes, for the backward pass.
    void keep(const BranchOutputs<T>& outputs) { kept_ = outputs; }

    /// Returns the number of chunks; a chunk consists of whole pieces and groups of slots.
    int64_t n_chunk() const { return n_chunk_; }
    Range pieces_of(int64_t chunk) const {
        const int64_t n = chunk_slots_ / work_.shape().piece();
        return {chunk * n, std::min((chunk + 1) * n, work_.shape().n_piece())};
    }
    Range groups_of(int64_t chunk) const {
        const int64_t n = chunk_slots_ / config_.group_size;
        return {chunk * n, std::min((chunk + 1) * n, work_.n_group())};
    }

    /// Sets y of the slots of a chunk to the gated ball and compressed branches, and chooses the
    /// blocks of its groups. Returns false if a score is not finite; the chosen blocks are then
    /// invalid.
    bool mix_chunk(const LayerWeights<T>& w, bool rotated, int64_t chunk, int thread);
    /// Adds the gated selected branch to y of a piece.
    void select_piece(int64_t piece, int thread);
    /// Sets y of a piece to what mix_chunk() and select_piece() set it to, from the fields that
    /// they have written (keep()).
    void mix_kept(int64_t piece, int thread);
    /// Sets y of a piece to the ball branch alone.
    void mix_ball(const LayerWeights<T>& w, bool rotated, int64_t piece, int thread) {
        attend_ball(w, rotated, piece, work_.shape().piece_of(work_.y(), piece), thread);
    }

    int64_t bytes() const;

private:
    /// Buffers of one thread; tiles have tile_points columns.
    struct Scratch {
        kernels::Buffer<T> group_queries, averages;  // (C): queries of groups, averages of groups
        kernels::Buffer<T> states;                   // for the pieces of a chunk, or for its blocks
        kernels::Buffer<T> ball_state, distance;     // distance (n_column, tile_points)
        kernels::Buffer<T> attend;
        kernels::Buffer<T> ball, other;  // (C): branches
        kernels::Buffer<T> gate;         // (2H)
        kernels::Buffer<T> score;        // scores of the choice
        kernels::Buffer<int64_t> block, own, sorted;
        kernels::Buffer<kernels::bsa::KeyBlock<const T>> keys;
    };

    kernels::Tile<T> piece_tile(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    /// Returns the tile of a piece's channels: the stored field if there is one, otherwise a
    /// buffer.
    kernels::Tile<T> kept_piece(const kernels::Tiles<T>& kept, int64_t piece,
                                kernels::Buffer<T>& buffer) const {
        const SlotShape& shape = work_.shape();
        return kept.data ? shape.piece_of(kept, piece)
                         : piece_tile(buffer, config_.n_channel, shape.piece());
    }
    /// Returns the tile of a chunk's groups: the stored field if there is one, otherwise a buffer.
    kernels::Tile<T> groups_tile(const kernels::Tiles<T>& kept, int64_t chunk,
                                 kernels::Buffer<T>& buffer) const {
        return kept.data ? kept.tile(chunk)
                         : piece_tile(buffer, config_.n_channel, groups_of(chunk).size());
    }
    kernels::SoftmaxState<T> state(Scratch& scratch, int64_t index) const {
        const kernels::Heads heads = config_.heads();
        return {heads, scratch.states.data() + index * kernels::SoftmaxState<T>::size(heads)};
    }
    void set_chunks();
    Scratch make_scratch() const;
    void mix_two(int64_t piece, kernels::Tile<const T> ball, kernels::Tile<const T> compressed);
    void add_selected(int64_t piece, kernels::Tile<const T> selected, Scratch& scratch);
    bool sweep_keys(const LayerWeights<T>& w, int64_t chunk, Scratch& scratch, int thread);
    void keep_choice(int64_t chunk, Scratch& scratch);
    void finish_compressed(int64_t chunk, int64_t piece, Scratch& scratch, kernels::Tile<T> y);
    void attend_ball(const LayerWeights<T>& w, bool rotated, int64_t piece, kernels::Tile<T> y,
                     int thread);
    kernels::bsa::Choice<T> choice(Scratch& scratch) const {
        return {config_.n_head, work_.n_choice(), scratch.score.data(), scratch.block.data()};
    }

    const Config& config_;
    kernels::Queue queue_;
    const TreePlan<T>& plan_;
    Workspace<T>& work_;
    Coarse<T>& coarse_;
    const Fetch<T>& fetch_;
    BranchOutputs<T> kept_;
    int64_t chunk_slots_ = 1, n_chunk_ = 0;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa
