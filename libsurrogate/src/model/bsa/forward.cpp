// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/forward.hpp"

#include <algorithm>
#include <atomic>

namespace surrogate::impl::bsa {

template <class T>
Forward<T>::Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    Communicator& comm, PointPorts<T>& ports, const TreePlan<T>& plan,
                    bool is_reproducible)
    : config_(config),
      layers_(layers),
      queue_(queue),
      comm_(comm),
      plan_(plan),
      sweep_(config, layers, queue, ports, plan, work_),
      coarse_(config, queue),
      fetch_(config, queue, comm, work_),
      branches_(config, queue, plan, work_, coarse_, fetch_),
      ring_(config, queue, comm, work_, is_reproducible),
      fetched_(static_cast<size_t>(config.depth)) {}

template <class T>
int64_t Forward<T>::n_choice() const {
    return std::min(config_.n_choice, plan_.slots().n_slot() / config_.block_size);
}

template <class T>
void Forward<T>::resize() {
    const std::span<const int64_t> begins = plan_.begins();
    int64_t most = 0;
    for (size_t r = 1; r < begins.size(); ++r) most = std::max(most, begins[r] - begins[r - 1]);
    work_.resize(config_, plan_.shape(), n_choice(), most);
    if (config_.is_sparse()) {
        coarse_.resize(begins);
        fetch_.resize(begins);
    }
    if (config_.has_balls()) {
        branches_.resize();
    } else {
        ring_.resize(begins);
    }
    std::fill(fetched_.begin(), fetched_.end(), fetch_.traffic());
}

template <class T>
void Forward<T>::embed() {
    work_.clear_padding();
    queue_.parallel_for(sweep_.n_point_tile(),
                        [&](int64_t tile, int thread) { sweep_.embed(tile, thread); });
    if (config_.residual_every > 0)
        for_tiles([&](int64_t tile, int) { sweep_.keep_residual(tile); });
}

template <class T>
void Forward<T>::head() {
    queue_.parallel_for(sweep_.n_point_tile(),
                        [&](int64_t tile, int thread) { sweep_.head(tile, thread); });
}

template <class T>
bool Forward<T>::run_layer(int64_t layer) {
    const LayerWeights<T>& w = layers_.layers[static_cast<size_t>(layer)];
    const bool rotated = config_.is_layer_rotated(layer);
    if (rotated) plan_.move(work_.x(), true, work_.free_memory());
    start(w, rotated);
    if (!attend(layer, w, rotated)) return false;
    for_tiles([&](int64_t tile, int thread) { sweep_.finish(w, tile, thread); });
    if (rotated) plan_.move(work_.x(), false, work_.free_memory());
    if (config_.adds_residual(layer))
        for_tiles([&](int64_t tile, int) { sweep_.add_residual(tile); });
    return true;
}

/// Computes queries, keys, values and gates, and coarse keys and values as soon as their slots are
/// complete.
template <class T>
void Forward<T>::start(const LayerWeights<T>& w, bool rotated) {
    const SlotShape& shape = work_.shape();
    const int64_t l = config_.is_sparse() ? config_.block_size : 1;
    const int64_t at_once = std::max<int64_t>(1, Coarse<T>::chunk_blocks * l / shape.n_column);
    queue_.parallel_for((shape.n_tile() + at_once - 1) / at_once, [&](int64_t item, int thread) {
        const int64_t first = item * at_once, end = std::min(first + at_once, shape.n_tile());
        for (int64_t tile = first; tile < end; ++tile) sweep_.start(w, rotated, tile, thread);
        if (!config_.is_sparse()) return;
        const int64_t n_block = shape.n_column / l, last = end * n_block;
        for (int64_t b = first * n_block; b < last; b += Coarse<T>::chunk_blocks)
            coarse_.compress(w, work_, b, std::min(Coarse<T>::chunk_blocks, last - b), thread);
    });
}

template <class T>
bool Forward<T>::attend(int64_t layer, const LayerWeights<T>& w, bool rotated) {
    if (config_.is_sparse()) return attend_sparsely(layer, w, rotated);
    if (config_.has_balls()) {
        queue_.parallel_for(work_.shape().n_piece(), [&](int64_t piece, int thread) {
            branches_.mix_ball(w, rotated, piece, thread);
        });
    } else {
        ring_.run();
    }
    return true;
}

template <class T>
bool Forward<T>::attend_sparsely(int64_t layer, const LayerWeights<T>& w, bool rotated) {
    coarse_.gather(comm_, work_);
    std::atomic<bool> is_good = true;
    queue_.parallel_for(branches_.n_chunk(), [&](int64_t chunk, int thread) {
        if (branches_.mix_chunk(w, rotated, chunk, thread)) {
            on_blocks_chosen(layer, branches_.groups_of(chunk));
        } else {
            is_good = false;
        }
    });
    if (!fetch_.exchange(is_good)) return false;
    fetched_[static_cast<size_t>(layer)] = fetch_.traffic();
    queue_.parallel_for(work_.shape().n_piece(),
                        [&](int64_t piece, int thread) { branches_.select_piece(piece, thread); });
    return true;
}

template <class T>
void Forward<T>::attend_as_kept() {
    coarse_.gather(comm_, work_);
    fetch_.exchange(true);
    queue_.parallel_for(work_.shape().n_piece(),
                        [&](int64_t piece, int thread) { branches_.mix_kept(piece, thread); });
}

template <class T>
void Forward<T>::keep(const BranchOutputs<T>& outputs) {
    branches_.keep(outputs);
    ring_.keep(outputs.log_ball);
}

template <class T>
int64_t Forward<T>::bytes() const {
    return work_.bytes() + sweep_.bytes() + coarse_.bytes() + fetch_.bytes() + branches_.bytes() +
           ring_.bytes();
}

template class Forward<float>;
template class Forward<double>;

}  // namespace surrogate::impl::bsa
