// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/embedding/embedding.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tile;

template <class T>
Embedding<T>::Embedding(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
int64_t Embedding<T>::n_real(const Config& config) {
    const int64_t positions = config.takes_positions() ? config.dimensionality : 0;
    return positions + (config.features == Features::none ? config.c_in : 0);
}

template <class T>
int64_t Embedding<T>::n_skipped(const Config& config) {
    return config.features == Features::none ? n_real(config) - config.c_in : 0;
}

template <class T>
void Embedding<T>::resize(const Tree& tree) {
    tree_ = &tree;
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    const bool is_tokens = config_.features == Features::tokens;
    const bool is_raw = config_.features == Features::none;
    for (Scratch& scratch : scratch_) {
        scratch.inputs.resize(is_tokens ? 0
                                        : (is_raw ? config_.c_in : config_.dimensionality) * row);
        scratch.features.resize(is_tokens || is_raw ? 0 : config_.c_in * row);
        scratch.rows.resize(is_tokens ? row : 0);
    }
    if (!config_.has_sinusoid) return;
    sinusoid_.resize(tree, config_.dim, 1);
    for (int l = 1; l < tree.n_level(); ++l) {
        const Range held = tree.level(l).held;
        queue_.parallel_for(held.size(), [&](int64_t i, int) {
            const Tile<T> node = sinusoid_.nodes(l, held.begin + i, 1);
            for_sinusoid(tree, l, held.begin + i, config_.dim,
                         [&](int64_t c, double value) { node(c, 0) = static_cast<T>(value); });
        });
    }
}

template <class T>
LeafFeatures<T> Embedding<T>::features(Range leaves, const LeafInputs<T>& inputs, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const int64_t row = kernels::round_up(tree_->tile_nodes(), kernels::lane_count);
    const bool is_raw = config_.features == Features::none;
    const int64_t n_input = is_raw ? config_.c_in : config_.dimensionality;
    const int64_t skipped = n_skipped(config_), first = leaves.begin, n = leaves.size();
    const Tile<T> given{scratch.inputs.data(), {n_input, n}, {row, 1}};
    for (int64_t c = 0; c < n_input; ++c) {
        // The network reads positions as single-precision numbers, in all precisions.
        for (int64_t i = 0; i < n; ++i) {
            const T value = inputs.real(skipped + c, first + i);
            given(c, i) = is_raw ? value : static_cast<T>(static_cast<float>(value));
        }
    }
    if (is_raw) return {given, given};
    const Tile<T> features{scratch.features.data(), {config_.c_in, n}, {row, 1}};
    if (config_.features == Features::fourier) {
        kernels::fourier_features<T>(queue_, config_.c_in / 2, layers_.fourier, given, features);
    } else {
        kernels::linear<T>(queue_, layers_.linear_encoding, given, {}, features);
    }
    return {given, features};
}

/// Embeds a tile of this rank's leaves.
template <class T>
void Embedding<T>::embed(int64_t tile, const LeafInputs<T>& inputs, int thread, Tile<T> x) {
    const int64_t n = x.shape[1], first = tile * tree_->tile_nodes();
    if (config_.features != Features::tokens) {
        kernels::linear<T>(queue_, layers_.embedding,
                           features({first, first + n}, inputs, thread).features, {}, x);
        return;
    }
    kernels::Buffer<int64_t>& rows = scratch_[static_cast<size_t>(thread)].rows;
    std::iota(rows.begin(), rows.begin() + n, tree_->owned(0).begin + first);
    kernels::embed_rows<T>(queue_, layers_.words, inputs.tokens + first, false, x);
    kernels::embed_rows<T>(queue_, layers_.positions, rows.data(), true, x);
}

template <class T>
void average_children(const Tree& tree, int l, int64_t tile, bool repeats_last,
                      const NodeTiles<T>& x) {
    const Tile<T> children = x.tile(l, tile);
    const int64_t k = tree.k(), n = children.shape[1];
    const int64_t parent = (tree.level(l).held.begin + tile * tree.tile_nodes()) / k;
    const int64_t n_missing = repeats_last ? tree.n_missing(l, tile) : 0;
    const int64_t row = x.level(l + 1).row;
    for (int64_t begin = 0; begin < n; begin += k) {
        const int64_t end = std::min(begin + k, n);
        const int64_t n_extra = end == n ? n_missing : 0;
        T* const mean = x.node(l + 1, parent + begin / k);
        for (int64_t c = 0; c < children.shape[0]; ++c) {
            double sum = 0;
            for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(children(c, i));
            sum += static_cast<double>(n_extra) * static_cast<double>(children(c, end - 1));
            mean[c * row] = static_cast<T>(sum / static_cast<double>(end - begin + n_extra));
        }
    }
}

/// Computes the means of the nodes of level l, on the ranks that own them.
template <class T>
void Embedding<T>::average(int l, const NodeTiles<T>& x) {
    queue_.parallel_for(tree_->n_tile(l - 1), [&](int64_t tile, int) {
        average_children(*tree_, l - 1, tile, config_.repeats_last, x);
    });
}

/// Adds sinusoids and markers to the nodes of level l of a sequence.
template <class T>
void Embedding<T>::mark(int l, const NodeTiles<T>& x) {
    queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int) {
        const Tile<T> nodes = x.tile(l, tile);
        if (config_.has_sinusoid) {
            const Tile<T> added = sinusoid_.tile(l, tile);
            for (int64_t c = 0; c < nodes.shape[0]; ++c)
                for (int64_t i = 0; i < nodes.shape[1]; ++i) nodes(c, i) += added(c, i);
        }
        if (config_.has_marker) std::fill_n(&nodes(config_.dim - l, 0), nodes.shape[1], T(0));
    });
}

template <class T>
void Embedding<T>::run(const LeafInputs<T>& inputs, Communicator& comm, CutGather<T>& gather,
                       const NodeTiles<T>& x) {
    // If the leaves are the shared level, there is only one leaf, which the first rank owns.
    const int64_t n_own = tree_->owned(0).size();
    const int64_t n_tile = tree_->cut() > 0 ? tree_->n_tile(0) : std::min<int64_t>(n_own, 1);
    queue_.parallel_for(
        n_tile, [&](int64_t tile, int thread) { embed(tile, inputs, thread, x.tile(0, tile)); });
    if (tree_->cut() == 0) gather.run(comm, x.level(0));
    for (int l = 1; l < tree_->n_level(); ++l) {
        average(l, x);
        if (l == tree_->cut()) gather.run(comm, x.level(l));
    }
    for (int l = 1; l < tree_->n_level(); ++l) mark(l, x);
}

template <class T>
int64_t Embedding<T>::bytes() const {
    int64_t n_byte = sinusoid_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.inputs.bytes() + s.features.bytes() + s.rows.bytes();
    return n_byte;
}

template class Embedding<float>;
template class Embedding<double>;
template void average_children(const Tree&, int, int64_t, bool, const NodeTiles<float>&);
template void average_children(const Tree&, int, int64_t, bool, const NodeTiles<double>&);

}  // namespace surrogate::impl::sequoia
