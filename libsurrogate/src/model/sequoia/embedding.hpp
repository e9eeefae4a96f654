// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"
#include "libsurrogate/src/model/sequoia/nodes.hpp"

namespace surrogate::impl::sequoia {

/// Inputs of a rank's leaves, in the order of the leaves, counted from the rank's first own leaf.
template <class T>
struct LeafInputs {
    kernels::Tiles<const T> real = {};  ///< positions, then features
    const int64_t* tokens = nullptr;    ///< (own leaves)
};

/// Inputs and features of a tile of leaves.
template <class T>
struct LeafFeatures {
    kernels::Tile<T> given;     ///< positions (d) or features (c_in), in the network's precision
    kernels::Tile<T> features;  ///< (c_in); the same tile as `given` if the inputs are features
};

/// Computes the nodes before the first layer:
///
///   leaves       embedded positions or features; or words and positions in the sequence
///   other nodes  means of their children, level by level; in sequences + sinusoid, marker
template <class T>
class Embedding {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    Embedding(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the nodes of `tree`, which must outlive this object. Local. Allocates only if the sizes
    /// exceed all earlier ones.
    void resize(const Tree& tree);

    /// Computes x of all nodes from the inputs of the own leaves. Collective. Does not allocate.
    void run(const LeafInputs<T>& inputs, Communicator& comm, CutGather<T>& gather,
             const NodeTiles<T>& x);

    /// Returns the number of channels of the points that enter the network: positions, then
    /// features.
    static int64_t n_real(const Config& config);
    /// Returns the number of these channels before the first one from which features are computed.
    static int64_t n_skipped(const Config& config);

    /// Returns the features of up to tile_nodes() of this rank's own leaves, which must not be
    /// tokens; leaves are counted from the first own one. The result is stored in memory of
    /// `thread`.
    LeafFeatures<T> features(Range leaves, const LeafInputs<T>& inputs, int thread);

    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
    struct Scratch {
        kernels::Buffer<T> inputs;    // (d or c_in)
        kernels::Buffer<T> features;  // (c_in), unless the inputs are features
        kernels::Buffer<int64_t> rows;
    };

    void embed(int64_t tile, const LeafInputs<T>& inputs, int thread, kernels::Tile<T> x);
    void average(int l, const NodeTiles<T>& x);
    void mark(int l, const NodeTiles<T>& x);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    NodeTiles<T> sinusoid_;         // (C), if used
    std::vector<Scratch> scratch_;  // (n_thread)
};

/// Calls put(c, value) for the sinusoid that is added to the mean of node i of level l of a
/// sequence: sines and cosines of the center of the node's interval.
template <class Put>
void for_sinusoid(const Tree& tree, int l, int64_t i, int64_t n_channel, const Put& put) {
    const double width = static_cast<double>(tree.n_leaf()) / static_cast<double>(tree.level(l).n);
    const double center = (static_cast<double>(i) + 0.5) * width;
    const double step = -std::log(10000.0) / static_cast<double>(n_channel);
    for (int64_t c = 0; c < n_channel; c += 2) {
        const double t = center * std::exp(static_cast<double>(c) * step);
        put(c, std::sin(t));
        put(c + 1, std::cos(t));
    }
}

/// Computes nodes of level l + 1 from a tile of level l: the mean of each node's children, in
/// double, in ascending order; the last child of the level counts 1 + n_missing times if
/// `repeats_last`.
template <class T>
void average_children(const Tree& tree, int l, int64_t tile, bool repeats_last,
                      const NodeTiles<T>& x);

}  // namespace surrogate::impl::sequoia
