// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
#include "kernels/sequoia/backward.hpp"

namespace surrogate::bench {

/// 64 leaves in one Sequoia layer of the default sizes (C = 128, 4 heads of 128, k = 16, 4
/// ancestors, as at 65,536 leaves), one thread; numbers are fixed and random.
template <class T>
class SequoiaStrip {
public:
    SequoiaStrip();

    void project(const kernels::Queue& queue);  ///< q, k, v of normalized x
    void attend(const kernels::Queue& queue);   ///< to ancestors and siblings
    void attend_of_parents(const kernels::Queue& queue);
    void finish(const kernels::Queue& queue);  ///< ff, norm and MLP
    void run(const kernels::Queue& queue);     ///< the whole layer
    /// Adds the gradients of both attentions to the earlier ones.
    void backward(const kernels::Queue& queue);

    const kernels::Buffer<T>& result() const { return y_; }
    const kernels::Buffer<T>& parents() const { return parents_; }
    const kernels::Buffer<T>& gradient() const { return gradients_; }

    static constexpr int64_t n_channel = 128, n_inner = 512, n_branch = 16, n_ancestor = 4;
    static constexpr int64_t n_leaf = kernels::tile_points, n_parent = n_leaf / n_branch;
    /// An exponential has ten vector instructions, which count as 20 flops of fused multiply-adds.
    static constexpr double exponential = 20;
    static constexpr double attention_flops() {
        return n_leaf * (n_branch + n_ancestor) * (4.0 * n_inner + 4 * exponential);
    }
    static constexpr double parent_flops() {
        return n_parent * n_branch * (4.0 * n_inner + 4 * exponential);
    }
    static constexpr double projection_flops() { return 2.0 * n_leaf * n_channel * 4 * n_inner; }
    static constexpr double mlp_flops() { return 4.0 * n_leaf * n_channel * n_channel; }

private:
    kernels::Tile<T> tile(kernels::Buffer<T>& data, int64_t first = 0, int64_t count = 0) const;
    kernels::sequoia::Surroundings<T> around();

    kernels::Heads heads_{4, 128, 128};
    kernels::Buffer<T> parameters_, x_, normed_, qkv_, upper_, values_, y_, parents_, hidden_,
        scratch_, gradients_;
    kernels::Norm<T> norm_;
    kernels::Linear<T> qkv_layer_, ff_;
    std::array<kernels::Linear<T>, 2> mlp_;
    std::vector<kernels::sequoia::Node<T>> ancestors_;
    std::vector<kernels::sequoia::NodeGradient<T>> ancestor_gradients_;
};

}  // namespace surrogate::bench
