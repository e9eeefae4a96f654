// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_passes.hpp"

#include <algorithm>

#include "libsurrogate/src/model/flare/latent_queries.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::flare::LatentSums;

template <class T>
GradientPasses<T>::GradientPasses(const Config& config, const Layers<T>& layers, Communicator& comm,
                                  const kernels::Queue& queue, bool reproducible,
                                  PointPorts<T>& ports, PointPorts<T>& back, Passes<T>& forward,
                                  const OfSequence& sequence)
    : config_(config),
      layers_(layers),
      sizes_{config.num_heads, config.num_latents, config.head_dim()},
      comm_(comm),
      queue_(queue),
      reproducible_(reproducible),
      ports_(ports),
      back_(back),
      forward_(forward),
      tokens_(sequence.tokens),
      places_(config, layers.weights.master()),
      latent_blocks_(config, forward.latent_blocks(), queue, comm.rank() == 0),
      dz_(LatentSums<T>::size(sizes_)),
      gamma_(sizes_.n_head * sizes_.n_row()),
      raw_queries_(config.qk_norm ? LatentSums<T>::size(sizes_) : 0) {
    for (int thread = 0; thread < queue.n_thread(); ++thread)
        dq_.emplace_back(LatentSums<T>::size(sizes_));
    if (sequence.readout) {
        readout_.emplace(config, layers, queue, *sequence.readout, places_, comm.rank() == 0);
    }
}

template <class T>
void GradientPasses<T>::allocate(int64_t n_chunk_global) {
    if (sweep_) {
        sweep_->resize();
    } else {
        sweep_.emplace(
            config_, layers_, queue_, ports_, back_,
            typename GradientSweep<T>::OfSequence{tokens_, readout_ ? &*readout_ : nullptr},
            forward_.streams(), places_);
    }
    if (reproducible_) {
        reduction_ = reproducible_gradient_reduction<T>(sizes_, forward_.n_chunk(), n_chunk_global);
    } else if (!reduction_) {
        reduction_ = fast_gradient_reduction<T>(sizes_, queue_.n_thread());
    }
}

template <class T>
bool GradientPasses<T>::run(bool alive, bool wants_inputs, GradientSums& sums) {
    bool is_finite = true;
    if (readout_) {
        const bool has_gradients = readout_->run(comm_, alive, sums);
        is_finite = has_gradients || !alive;
        alive = has_gradients;
    }
    for (int64_t s = config_.num_blocks; s >= 0; --s) {
        if (!alive) sums.poison();
        if (alive) sweep(s, wants_inputs, sums);
        if (s == 0) break;
        sums.finish_stage();
        is_finite = reduction_->reduce(comm_, !alive, dz_.data()) && is_finite;
        alive = alive && is_finite;
        if (alive) is_finite = set_latents(s - 1, sums);
        alive = alive && is_finite;
    }
    if (!alive) sums.poison();
    return is_finite;
}

template <class T>
void GradientPasses<T>::sweep(int64_t s, bool wants_inputs, GradientSums& sums) {
    const bool has_attention = s < config_.num_blocks;
    const bool has_decode = s > 0;
    typename GradientSweep<T>::Latents shared;
    shared.wants_inputs = wants_inputs;
    if (has_attention)
        shared.of_block = {forward_.z(s), dz_.data(), gamma_.data(), forward_.log_sum(s)};
    if (has_decode) {
        shared.z_before = forward_.z(s - 1);
        reduction_->begin();
    }
    queue_.parallel_for(forward_.n_chunk(), [&](int64_t chunk, int thread) {
        double* const arena = sums.open(thread).data();
        typename GradientSweep<T>::Latents latents = shared;
        if (has_decode) latents.dz = reduction_->open(chunk, thread);
        Buffer<T>& dq = dq_[static_cast<size_t>(thread)];
        std::ranges::fill(dq, T(0));
        latents.dq = {sizes_, dq.data()};
        const int64_t first = chunk * forward_.chunk_tiles();
        const int64_t end = std::min(first + forward_.chunk_tiles(), forward_.n_tile());
        for (int64_t tile = first; tile < end; ++tile) sweep_->run(s, tile, thread, latents, arena);
        if (has_decode) reduction_->close(chunk, thread);
        if (has_attention && arena) add_queries(s, latents.dq, arena);
        for (const PlaceRange& range : places_.written(s))
            sums.close(thread, range.begin, range.end);
    });
}

/// Backpropagates a block whose dz is complete through its latent blocks, gamma, and its queries
/// before their norm. Returns whether dz is finite: the same on all ranks, which compute the same.
template <class T>
bool GradientPasses<T>::set_latents(int64_t block, GradientSums& sums) {
    const auto i_block = static_cast<size_t>(block);
    const T* const z = forward_.encoded(block);
    if (!latent_blocks_.run(layers_.blocks[i_block], places_.blocks[i_block], z,
                            {sizes_, dz_.data()}, sums))
        return false;
    for (int64_t i = 0; i < sizes_.n_head * sizes_.n_latent; ++i) {
        const int64_t head = i / sizes_.n_latent, m = i % sizes_.n_latent;
        double sum = 0;
        for (int64_t d = 0; d < sizes_.n_dim; ++d) {
            sum += static_cast<double>(z[i * sizes_.n_dim + d]) *
                   static_cast<double>(dz_[(head * sizes_.n_dim + d) * sizes_.n_row() + m]);
        }
        gamma_[head * sizes_.n_row() + m] = static_cast<T>(sum);
    }
    if (config_.qk_norm) set_raw_queries(block);
    return true;
}

template <class T>
void GradientPasses<T>::set_raw_queries(int64_t block) {
    const T* const from = layers_.blocks[static_cast<size_t>(block)].latent_q;
    for_latents(sizes_, config_.shared_latents, [&](int64_t row, int64_t m, int64_t offset) {
        raw_queries_[row * sizes_.n_row() + m] = from[offset];
    });
}

/// Adds the contribution of a chunk to the gradients of latent_q and q_norm. Both are linear in dq,
/// so GradientSums adds the chunks as for all other weights, and dq needs no separate reduction.
template <class T>
void GradientPasses<T>::add_queries(int64_t i, LatentSums<T> dq, double* arena) const {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = places_.blocks[static_cast<size_t>(i)];
    const T scale = static_cast<T>(config_.attn_scale);
    for (int64_t j = 0; j < LatentSums<T>::size(sizes_); ++j) dq.data[j] *= scale;
    if (config_.qk_norm) {
        query_norm_backward(queue_, block.q_norm, raw_queries_.data(), dq, places.q_norm.in(arena));
    }
    for_latents(sizes_, config_.shared_latents, [&](int64_t row, int64_t m, int64_t offset) {
        arena[places.latent_q + offset] += static_cast<double>(dq.data[row * sizes_.n_row() + m]);
    });
}

template <class T>
int64_t GradientPasses<T>::bytes_sent() const {
    return config_.num_blocks * reduction_->bytes_sent() + (readout_ ? readout_->bytes_sent() : 0);
}

template <class T>
int64_t GradientPasses<T>::collectives() const {
    return config_.num_blocks * reduction_->collectives() +
           (readout_ ? readout_->collectives() : 0);
}

template <class T>
int64_t GradientPasses<T>::bytes() const {
    int64_t n_byte = sweep_->bytes() + reduction_->bytes() + latent_blocks_.bytes() + dz_.bytes() +
                     gamma_.bytes() + raw_queries_.bytes() + (readout_ ? readout_->bytes() : 0);
    for (const Buffer<T>& dq : dq_) n_byte += dq.bytes();
    return n_byte;
}

template class GradientPasses<float>;
template class GradientPasses<double>;

}  // namespace surrogate::impl::flare
