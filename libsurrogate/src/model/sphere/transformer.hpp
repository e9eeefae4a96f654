// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

#include "libsurrogate/src/layers/dropout_mlp.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/convolution.hpp"
#include "libsurrogate/src/model/sphere/harmonic_upsampling.hpp"
#include "libsurrogate/src/model/sphere/point_norm.hpp"
#include "libsurrogate/src/model/sphere/program.hpp"
#include "libsurrogate/src/model/sphere/resampling.hpp"
#include "libsurrogate/src/model/sphere/sites.hpp"

/// The Spherical Transformer. Source: spec of the sphere's models, sections 1 to 3.
namespace surrogate::impl::sphere {

/// Position code that is added to the encoder's output, for the rows of this rank.
template <class T>
class PositionEmbedding {
public:
    PositionEmbedding(const Transformer& config, const Weights<T>& weights, Range rows);

    /// Computes x (n_channel, work.count) += E.
    void add(const Work& work, Tile<T> x) const;
    int64_t bytes() const { return stored_.bytes() + computed_.bytes(); }

private:
    Range rows_;
    int64_t n_channel_, n_lon_, width_ = 0;
    const T* values_ = nullptr;  // (row, channel, width): one of
    Derived<T> stored_;
    Buffer<T> computed_;
};

/// Returns the MLP of block i with its dropout, which drops channels of the whole grid.
template <class T>
DropoutMlp<T> dropout_mlp(const Frame& frame, const Transformer& config,
                          const kernels::ResidualMlp<T>& mlp, int64_t i) {
    return {frame.queue, mlp, *frame.dropout, mlp_site(config, i, false),
            mlp_site(config, i, true)};
}

/// Returns the rows of some columns of the internal grid: its points, row by row.
inline DropoutRows rows_of(const Transformer& config, const Work& work) {
    return DropoutRows::from(work.row * config.inner.n_lon + work.first);
}

template <class T>
class TransformerGradient;

/// Partition of the rows of the internal grid, and of the image.
struct TransformerBands {
    Bands inner, fine;
};
/// Divides the rows of both grids, the same on all ranks. Adds notes. Local.
TransformerBands bands_of(const Frame& frame, const Transformer& config, const SphereDomain& input,
                          const SphereDomain& output, std::vector<std::string>& notes);

/// Forward. Backward reads what it leaves.
template <class T>
class TransformerProgram final : public GridProgram<T> {
public:
    TransformerProgram(const ProgramRequest& request, const Transformer& config,
                       const Weights<T>& weights);

    void connect() override;
    bool run() override;
    std::vector<LayerCost> costs() const override;
    int64_t bytes() const override;

private:
    friend class TransformerGradient<T>;
    struct Block {
        AttentionLayer<T> attention;
        PointNorm<T> norm0, norm1;
        std::vector<kernels::Linear<T>> mlp;
    };

    void make_blocks(const Weights<T>& weights);
    void set_codec(const ProgramRequest& request, Range inner, Range fine);
    void set_scratch();

    Tile<T> normalised(const PointNorm<T>& norm, const Work& w, int thread);
    void encode();
    bool attend(Block& block);
    void add_attention(Block& block);
    bool feed_forward(int64_t i);
    void decode();

    static constexpr int norm_slot = 0, hidden_slot = 3;

    const Transformer& config_;
    Bands inner_, fine_;
    ConvolutionLayer<T> encoder_, decoder_;
    typename ConvolutionLayer<T>::Workspace encoder_rows_, decoder_rows_;
    typename AttentionLayer<T>::Workspace attention_;  // of all blocks in turn
    std::optional<PositionEmbedding<T>> embedding_;
    std::optional<GridMoments<T>> moments_;
    std::deque<Block> blocks_;
    std::optional<ResampleLayer<T>> resample_;
    std::optional<HarmonicUpsampling<T>> harmonic_;
    Field<T> x_;  // the residual stream
    Field<T> t_;  // the decoder's channels before interpolation, if its weights come first
    Schedule tiles_;
    std::vector<Field<T>> borders_;  // of backward: the residual stream in front of every block
};

}  // namespace surrogate::impl::sphere
