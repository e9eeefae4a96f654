// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/flare/attention_dropout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/gradient_places.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::flare {

/// The tokens of a sequence on one rank, in tiles, and what a sweep does for them besides what it
/// does for points:
///
///   before the first block   x = words[id], or the class token
///   before every block       x += positions[place] (times a learned factor), or k' = turned k
///   encode                   tokens that a mask hides have weight 0
///   decode                   y = 0 at tokens that a mask hides
///   training                 drops values of words, and of the results of attention
///
/// The class token stands at place 0 of the whole sequence, the others behind it. It has a tile of
/// its own, the last one of the rank that has it.
template <class T>
class Sequence {
public:
    /// Keeps references: `config` and `layers` must outlive it.
    Sequence(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the tokens own.begin .. own.end - 1 of the sequence, not counting a class token.
    /// Allocates for more than ever before. Local.
    void resize(Range own, bool has_class_token);

    int64_t n_tile() const { return n_token_tile() + (has_class_token_ ? 1 : 0); }
    int64_t n_in_tile(int64_t tile) const {
        return is_class_tile(tile)
                   ? 1
                   : std::min(kernels::tile_points, n_token_ - tile * kernels::tile_points);
    }
    bool is_class_tile(int64_t tile) const { return tile == n_token_tile(); }

    /// Sets the masks of dropout, which the caller owns. Null, as at first: nothing is dropped.
    void set_dropout(const Dropout* dropout) { dropout_ = dropout; }

    /// Reads rows (n_token, 2): the number of the word, which exists, and 0 if a mask hides the
    /// token.
    void take(const int64_t* rows);

    void embed(int64_t tile, kernels::Tile<T> x) const;
    void add_positions(int64_t tile, kernels::Tile<T> x) const;

    /// Turns pairs of channels of each head by the token's position. The partner of a channel is
    /// the one of the official code, which is not a rotation unless D = 2:
    ///   k'[c] = k[c] cos(a) + companion[c] sin(a),  companion = [-k1, -k3, .., k0, k2, ..]
    void turn(int64_t tile, kernels::Tile<T> k, T* head) const;

    AttentionDropout attention_dropout() const {
        return {dropout_, config_.sequence.proj_drop, places_.data()};
    }
    /// Returns true if values are dropped of the head's input.
    bool drops_head() const { return drops(config_.sequence.cls_drop); }
    /// Multiplies by the mask of the head's input; `to` may be `from`.
    void drop_head(int64_t tile, kernels::Tile<const T> from, kernels::Tile<T> to) const;

    bool has_hidden(int64_t tile) const;
    /// Copies the tokens of a tile that no mask hides, side by side, with zeros behind them.
    /// Returns their number. `to` holds a whole tile.
    int64_t visible(int64_t tile, kernels::Tile<const T> from, T* to) const;
    /// Sets y = 0 at hidden tokens.
    void silence(int64_t tile, kernels::Tile<T> y) const;

    // Backward of the same. Gradients of weights are added in `arena`. embed_backward() overwrites
    // dx.
    void embed_backward(int64_t tile, kernels::Tile<T> dx, const SequencePlaces& places,
                        double* arena) const;
    void positions_backward(int64_t tile, kernels::Tile<const T> dx, const SequencePlaces& places,
                            double* arena) const;
    /// Converts dk in place from the gradient of rotated keys to the gradient of keys. `head` is
    /// scratch for the channels of one head.
    void turn_backward(int64_t tile, kernels::Tile<T> dk, T* head) const;
    /// Scatters the rows that visible() gathered to their tokens; zeros at hidden ones.
    void spread(int64_t tile, kernels::Tile<T> data) const;

    int64_t bytes() const;

private:
    int64_t n_token_tile() const {
        return (n_token_ + kernels::tile_points - 1) / kernels::tile_points;
    }
    bool drops(double rate) const { return dropout_ && dropout_->drops(rate); }
    DropoutRows rows_of(int64_t tile) const {
        return DropoutRows::of(places_.data() + tile * kernels::tile_points);
    }
    void drop_words(int64_t tile, kernels::Tile<T> x) const;
    void set_places(Range own);
    void set_codes();
    int64_t n_code_channel() const;
    /// Calls body(channel, its companion, sign, cosines, sines) for the channels of a head.
    template <class Body>
    void for_turns(int64_t tile, const Body& body) const;

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout* dropout_ = nullptr;
    int64_t n_token_ = 0;
    bool has_class_token_ = false;
    kernels::Buffer<int64_t> words_, places_;  // (n_tile, tile_points)
    kernels::Buffer<uint8_t> is_hidden_;       // (n_tile, tile_points)
    /// (n_tile, channels, tile_points): sines and cosines by turns of channels (sinusoid), or
    /// cosines and then sines of pairs of channels (rotary).
    kernels::Buffer<T> codes_;
};

/// A tile of a block.
struct BlockTile {
    int64_t block = 0, tile = 0;
};

/// Computes mid = before + the result of a block's attention, projected from y, as both passes do.
/// branch is scratch for dropout. mid may be `before`.
template <class T>
void project_attention(const kernels::Queue& queue, const BlockWeights<T>& weights,
                       const AttentionDropout& dropout, const BlockTile& at,
                       kernels::Tile<const T> y, kernels::Tile<const T> before,
                       kernels::Tile<T> branch, kernels::Tile<T> mid) {
    if (!dropout.is_on()) return kernels::linear<T>(queue, weights.out_proj, y, before, mid);
    kernels::linear<T>(queue, weights.out_proj, y, {}, branch);
    if (mid.data != before.data)
        std::copy_n(before.data, before.shape[0] * before.stride[0], mid.data);
    dropout.apply<T>(at.block, at.tile, branch, true, mid);
}

}  // namespace surrogate::impl::flare
