// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::bench {

/// Distribution of scores over the numbers of blocks.
enum class Scores {
    unordered,  ///< independent for each block
    smooth,     ///< similar in neighboring blocks, as along a tree
    growing,    ///< each block is better than all before: every one changes every choice
};

/// A tile of groups of a layer of Ball Sparse Attention as published, 8 heads of 8 channels, blocks
/// of 8 slots, 4 choices, balls of 256 slots: the queries of the groups and all coarse keys, in
/// tiles of 128.
class ChooseCase {
public:
    ChooseCase(int64_t n_block, int64_t g, Scores kind);

    int64_t n_group() const { return n_group_; }
    int64_t n_query() const { return n_group_ * g_; }
    /// Returns the multiplications and additions of the scores.
    double flops() const;

    void choose(const kernels::Queue& queue);
    /// Computes attention of all queries of the groups to the same keys.
    void attend(const kernels::Queue& queue);
    /// Returns true if the reference chooses the same blocks.
    bool is_right(const kernels::Queue& queue);

private:
    kernels::Tile<const float> keys(const kernels::Buffer<float>& data, int64_t tile) const;

    kernels::Heads heads_{8, 8, 8};
    int64_t n_block_, g_, n_group_;
    std::vector<int64_t> first_own_;
    kernels::Buffer<float> q_, k_, v_, y_, score_, scratch_, state_;
    kernels::Buffer<int64_t> block_;
    kernels::bsa::Choice<float> choice_;
};

/// Tiles of slots with chosen blocks and gates, sizes as above.
class SlotsCase {
public:
    SlotsCase(int64_t n_slot, int64_t g);

    int64_t n_slot() const { return n_slot_; }
    int64_t n_channel() const { return heads_.n_key_channel(); }
    double attend_flops() const;

    void attend_blocks(const kernels::Queue& queue);
    void attend_blocks_backward(const kernels::Queue& queue);
    void combine(const kernels::Queue& queue);
    void combine_backward(const kernels::Queue& queue);
    void fold(const kernels::Queue& queue);
    void means(const kernels::Queue& queue);
    /// Returns the largest difference of attend_blocks() and combine() from the reference in single
    /// precision.
    double error(const kernels::Queue& queue);

private:
    kernels::Tiles<float> slots(kernels::Buffer<float>& data) const;
    kernels::bsa::ChosenBlocks<const float> chosen(int64_t tile) const;

    kernels::Heads heads_{8, 8, 8};
    int64_t n_slot_, g_, n_group_of_tile_;
    kernels::Buffer<float> q_, k_, v_, y_, gate_, dk_, dv_, dq_, log_sum_, delta_, folded_,
        scratch_;
    std::vector<kernels::bsa::KeyBlock<const float>> blocks_;
    std::vector<kernels::bsa::KeyBlock<float>> gradients_;
};

}  // namespace surrogate::bench
