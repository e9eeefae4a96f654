// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "kernels/mlp/mlp.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/attention_gradient.hpp"
#include "libsurrogate/src/model/sphere/convolution_gradient.hpp"
#include "libsurrogate/src/model/sphere/gradient_program.hpp"
#include "libsurrogate/src/model/sphere/harmonic_gradient.hpp"
#include "libsurrogate/src/model/sphere/norm_backward.hpp"
#include "libsurrogate/src/model/sphere/resample_gradient.hpp"
#include "libsurrogate/src/model/sphere/transformer.hpp"

namespace surrogate::impl::sphere {

/// Backward of the Spherical Transformer: decoder, blocks from the last to the first, encoder. Of a
/// block it has the residual stream in front, computes attention again, and with it the stream in
/// front of the MLP.
template <class T>
class TransformerGradient final : public GridGradient<T> {
public:
    TransformerGradient(const ProgramRequest& request, const Transformer& config,
                        const Weights<T>& weights);

protected:
    void connect_layers() override;
    bool go_back(bool wants_inputs, GradientSums& sums) override;
    int64_t layer_bytes() const override;
    void add_layer_costs(std::vector<LayerCost>& list) const override;

private:
    using Forward = TransformerProgram<T>;
    struct Block {
        AttentionGradient<T> attention;
        NormBackward<T> norm0, norm1;
        GradientPair mlp[2];
    };

    void make_blocks(const MasterWeights& master);
    void set_embedding(const MasterWeights& master);
    void set_scratch();

    /// Returns the gradient of the values that the decoder read from its rings.
    Field<T>& slopes() { return harmonic_ ? harmonic_->slopes() : resample_->slopes(); }
    bool decode_back(GradientSums& sums);
    void decoder_weights_back(GradientSums& sums);
    bool block_back(size_t i, GradientSums& sums);
    void feed_forward_back(size_t i, GradientSums& sums);
    void mlp_row_back(size_t i, int64_t row, int thread, GradientSums& sums);
    void drop_encoder_result();
    void embedding_back(GradientSums& sums);
    void encoder_weights_back(GradientSums& sums);
    void input_back();

    static constexpr int norm_slot = 0, dump_slot = 1, hidden_slot = 2, saved_slot = 3;

    const Transformer& config_;
    Forward& forward_;
    Range inner_, fine_;  // own rows
    ConvolutionGradient<T> encoder_, decoder_;
    typename ConvolutionGradient<T>::Workspace encoder_rows_, decoder_rows_;
    typename AttentionGradient<T>::Workspace attention_;  // of all blocks in turn
    std::deque<Block> blocks_;
    std::optional<ResampleGradient<T>> resample_;  // one of the two
    std::optional<HarmonicGradient<T>> harmonic_;
    GradientSlot embedding_;
    Field<T> g_;   // gradient of the residual stream
    Field<T> d_;   // of what a norm gives
    Field<T> dt_;  // of the decoder's channels before interpolation, if its weights come first
    Buffer<double> sums_;  // (thread, n_channel, 2): of learnable embeddings
};

}  // namespace surrogate::impl::sphere
