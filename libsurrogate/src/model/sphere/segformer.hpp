// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/convolution.hpp"
#include "libsurrogate/src/model/sphere/program.hpp"
#include "libsurrogate/src/model/sphere/resampling.hpp"
#include "libsurrogate/src/model/sphere/sites.hpp"

/// The Spherical SegFormer. Source: spec of the sphere's models, section 4.
namespace surrogate::impl::sphere {

using kernels::Activation;
using kernels::Linear;

/// Attention and feed-forward of one repetition.
template <class T>
struct Repetition {
    kernels::Norm<T> attention_norm, mix_norm;
    AttentionLayer<T> attention;
    Linear<T> mlp_in, mlp_out;
    ConvolutionLayer<T> mix;
};

/// One level on this rank's rows: patch merging, then repetitions.
template <class T>
class Level {
public:
    Level(const Frame& frame, const SegformerLevel& config, const Weights<T>& weights, size_t index,
          Bands bands, Activation activation);

    /// Plans the exchanges. above: bands of the level above, or null for the first, whose rows come
    /// from the solver. Collective.
    void connect(const Bands* above);

    void require(Scratch<T>& scratch) const;

    /// Computes x_ from the rows above, which are held here (first level) or in bands. Collective.
    void run(Field<T>& above, bool is_first, Scratch<T>& scratch);

    const SegformerLevel& config() const { return config_; }
    const Bands& bands() const { return bands_; }
    const Schedule& tiles() const { return tiles_; }
    Field<T>& features() { return x_; }
    const typename ConvolutionLayer<T>::Workspace& merge_rows() const { return merge_rows_; }
    void add_costs_to(std::vector<LayerCost>& list, const std::string& name) const;
    int64_t bytes() const;

private:
    template <class>
    friend class LevelGradient;
    static std::string prefix(size_t index) { return "blocks." + std::to_string(index) + "."; }

    /// Returns the factor of a branch of repetition j in training, 0 if it is dropped.
    double path(size_t j, bool is_attention) const {
        return frame_.dropout->branch(path_site(config_, static_cast<int64_t>(j), is_attention));
    }

    void attend(size_t j, Scratch<T>& scratch);

    /// Computes the input of the mixing convolution. Collective.
    void fill_hidden(Repetition<T>& repetition, Scratch<T>& scratch);
    void feed_forward(size_t j, Scratch<T>& scratch);

    static constexpr int norm_slot = 0, branch_slot = AttentionLayer<T>::heads_slot;

    const Frame& frame_;
    const SegformerLevel& config_;
    Activation activation_;
    Bands bands_;
    ConvolutionLayer<T> merge_;
    kernels::Norm<T> merge_norm_, norm_;
    std::deque<Repetition<T>> repetitions_;
    typename ConvolutionLayer<T>::Workspace merge_rows_, mix_rows_;
    typename AttentionLayer<T>::Workspace attention_;
    Field<T> x_, hidden_;
    Schedule tiles_;
    /// Activations for backward: the stream before every repetition, the first norm, and the last.
    std::vector<Field<T>> borders_;
    Field<T> merged_, last_;
};

/// A level's part of the output: its 1x1 layer and its columns of the segmentation head come before
/// the interpolation, with which they commute, so that only the output's channels are interpolated.
template <class T>
class Upsampler {
public:
    Upsampler(const Frame& frame, const Segformer& config, const Weights<T>& weights, size_t index,
              Level<T>& level, Range fine_rows);

    void require(Scratch<T>& scratch) const;

    /// Plans the exchange. Collective.
    void connect();

    /// Adds the level's part to y on this rank's rows. Collective.
    void add_to(Field<T>& y, Scratch<T>& scratch);

    LayerCost cost(const std::string& name) const;
    int64_t bytes() const;

private:
    template <class>
    friend class UpsamplerGradient;
    /// Copies this level's columns of the segmentation head.
    void set_head(const Segformer& config, const Weights<T>& weights, size_t index);

    /// Computes folded (n_out, n, K) = sum over the upsampled channels of head times weight.
    void fold_head(const Weights<T>& weights, const T* weight, int64_t n, int64_t n_out);

    const Frame& frame_;
    Level<T>& level_;
    Convolution config_;
    Linear<T> mlp_, head_;
    Derived<T> head_weight_, folded_;
    Field<T> part_;  // own rows of the level: what is interpolated
    Field<T> sums_;  // own rows of the image, of the transposed convolution
    std::optional<ResampleLayer<T>> resample_;
    std::optional<ConvolutionLayer<T>> convolution_;
    typename ConvolutionLayer<T>::Workspace rows_;
};

/// Partition of the rows of each level, and of the image.
struct SegformerBands {
    std::vector<Bands> levels;
    Bands fine;
};
/// Divides the rows of all levels, the same on all ranks. Adds notes. Local.
SegformerBands bands_of(const Frame& frame, const Segformer& config, const SphereDomain& input,
                        const SphereDomain& output, std::vector<std::string>& notes);

template <class T>
class SegformerProgram final : public GridProgram<T> {
public:
    SegformerProgram(const ProgramRequest& request, const Segformer& config,
                     const Weights<T>& weights);

    void connect() override;

    bool run() override;

    std::vector<LayerCost> costs() const override;
    int64_t bytes() const override;

private:
    template <class>
    friend class SegformerGradient;
    const T* bias_;
    Bands fine_;
    std::deque<Level<T>> levels_;
    std::deque<Upsampler<T>> upsamplers_;
};

}  // namespace surrogate::impl::sphere
