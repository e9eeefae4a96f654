// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/coarse.hpp"

#include <algorithm>

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;

template <class T>
Coarse<T>::Coarse(const Config& config, const kernels::Queue& queue)
    : config_(config), queue_(queue) {
    if (!config.is_sparse()) return;
    const int64_t folded = config.block_size * config.head_dim();
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(folded * chunk_blocks),
                            Buffer<T>(2 * config.n_coarse_hidden * chunk_blocks),
                            Buffer<T>(2 * config.n_channel * chunk_blocks)});
    }
}

template <class T>
void Coarse<T>::resize(std::span<const int64_t> slot_begins) {
    if (!config_.is_sparse()) return;
    const int64_t width = 2 * config_.n_channel;
    n_block_ = slot_begins.back() / config_.block_size;
    n_bytes_.resize(slot_begins.size() - 1);
    for (size_t rank = 0; rank < n_bytes_.size(); ++rank) {
        const int64_t n = (slot_begins[rank + 1] - slot_begins[rank]) / config_.block_size;
        n_bytes_[rank] = n * width * static_cast<int64_t>(sizeof(T));
    }
    rows_.resize(n_block_ * width);
    tiles_.resize(n_key_tile() * width * key_blocks);
    tiles_data_ = tiles_.data();
}

/// Computes the coarse vectors of blocks of one field, head by head: by the network, or as means.
template <class T>
void Coarse<T>::reduce(const CoarseMlp<T>& mlp, Tiles<T> x, int64_t first, Tile<T> to, int thread) {
    const int64_t l = config_.block_size, d = config_.head_dim(), n = to.shape[1];
    if (mlp.layers.empty()) {
        kernels::bsa::block_means<T>(queue_, l, x, first, to);
        return;
    }
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> folded{scratch.folded.data(), {l * d, n}, {chunk_blocks, 1}};
    const Tile<T> hidden{
        scratch.hidden.data(), {2 * config_.n_coarse_hidden, n}, {chunk_blocks, 1}};
    for (int64_t head = 0; head < config_.n_head; ++head) {
        kernels::bsa::fold_blocks<T>(queue_, l, d, head, x, first, folded);
        kernels::residual_mlp<T>(queue_, mlp.view(), folded, hidden, false,
                                 kernels::channels(to, head * d, d));
    }
}

template <class T>
void Coarse<T>::compress(const LayerWeights<T>& w, Workspace<T>& work, int64_t first, int64_t n,
                         int thread) {
    const int64_t c = config_.n_channel;
    T* const coarse = scratch_[static_cast<size_t>(thread)].coarse.data();
    const Tile<T> both{coarse, {2 * c, n}, {chunk_blocks, 1}};
    reduce(w.k_coarse, work.k(), first, kernels::channels(both, 0, c), thread);
    reduce(w.v_coarse, work.v(), first, kernels::channels(both, c, c), thread);
    T* const rows = work.coarse_rows() + first * 2 * c;
    for (int64_t b = 0; b < n; ++b)
        for (int64_t i = 0; i < 2 * c; ++i) rows[b * 2 * c + i] = both(i, b);
}

template <class T>
void Coarse<T>::compress_queries(const LayerWeights<T>& w, Workspace<T>& work, int64_t l,
                                 int64_t first, Tile<T> to, int thread) {
    if (w.q_coarse.layers.empty()) {
        kernels::bsa::block_means<T>(queue_, l, work.q(), first, to);
    } else {
        reduce(w.q_coarse, work.q(), first, to, thread);
    }
}

template <class T>
void Coarse<T>::gather(Communicator& comm, Workspace<T>& work) {
    comm.all_gather_v(work.coarse_rows(), rows_.data(), n_bytes_);
    const int64_t width = 2 * config_.n_channel;
    queue_.parallel_for(n_key_tile(), [&](int64_t tile, int) {
        const int64_t first = tile * key_blocks;
        const int64_t n = std::min(key_blocks, n_block_ - first);
        T* const to = tiles_data_ + first * width;
        for (int64_t b = 0; b < n; ++b)
            for (int64_t i = 0; i < width; ++i)
                to[i * key_blocks + b] = rows_[(first + b) * width + i];
    });
}

template <class T>
int64_t Coarse<T>::bytes() const {
    int64_t n_byte = rows_.bytes() + tiles_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.folded.bytes() + s.hidden.bytes() + s.coarse.bytes();
    return n_byte;
}

template class Coarse<float>;
template class Coarse<double>;

}  // namespace surrogate::impl::bsa
