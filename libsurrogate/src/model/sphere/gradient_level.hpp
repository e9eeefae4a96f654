// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/attention_gradient.hpp"
#include "libsurrogate/src/model/sphere/convolution_gradient.hpp"
#include "libsurrogate/src/model/sphere/segformer.hpp"

namespace surrogate::impl::sphere {

/// Backward of one level of the SegFormer. Of a repetition it has the stream in front, and computes
/// the rest again.
template <class T>
class LevelGradient {
public:
    /// Keeps references. above: rows of the merging's input whose gradients this rank computes.
    /// Local.
    LevelGradient(const Frame& frame, Level<T>& level, const MasterWeights& master, size_t index,
                  Range above);
    /// Plans the exchanges. Collective.
    void connect();
    void require(Scratch<T>& scratch) const;

    /// Returns the gradient of the features, written or added to by the caller; back() changes it.
    Field<T>& slopes() { return g_; }
    /// Adds the gradients of weights and sets slopes() to the gradient of the output of the
    /// merging. Collective.
    void back(Scratch<T>& scratch, GradientSums& sums);
    /// Writes the gradient of the merging's input to `to` (rows above, n_in), after back(); adds it
    /// if `accumulate`. features: of the level above, or null. Collective.
    void merge_back(Scratch<T>& scratch, Field<T>* features, bool accumulate, Field<T>& to,
                    GradientSums& sums);
    bool is_weights_first() const { return merge_.is_weights_first(); }

    void add_costs_to(std::vector<LayerCost>& list, const std::string& name) const;
    int64_t bytes() const;

private:
    struct Back {
        AttentionGradient<T> attention;
        GradientPair attention_norm, mix_norm, mlp_in, mlp_out;
        ConvolutionGradient<T> mix;
    };
    void norm_back(const kernels::Norm<T>& norm, const GradientPair& slots, Field<T>& x,
                   Field<T>& dy, bool adds, GradientSums& sums);
    void repetition_back(size_t j, Scratch<T>& scratch, GradientSums& sums);
    void feed_forward_back(size_t j, Scratch<T>& scratch, GradientSums& sums);
    void attention_back(size_t j, Scratch<T>& scratch, GradientSums& sums);
    void activation_back(size_t j, Scratch<T>& scratch, GradientSums& sums);
    void mix_back(size_t j, Scratch<T>& scratch, GradientSums& sums);

    static constexpr int norm_slot = 0, slope_slot = 1,
                         branch_slot = ConvolutionLayer<T>::phase_slot;

    const Frame& frame_;
    Level<T>& level_;
    const SegformerLevel& config_;
    ConvolutionGradient<T> merge_;
    GradientPair merge_norm_, norm_;
    std::deque<Back> repetitions_;
    typename ConvolutionGradient<T>::Workspace merge_rows_, mix_rows_;
    typename AttentionGradient<T>::Workspace attention_;
    Field<T> g_, d_, u_;
    Field<T> ring_;  // of the merging's input, before its weights
};

}  // namespace surrogate::impl::sphere
