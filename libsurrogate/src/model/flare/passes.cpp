// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/passes.hpp"

#include <algorithm>

namespace surrogate::impl::flare {

using kernels::flare::Partial;

template <class T>
Passes<T>::Passes(const Config& config, const Layers<T>& layers, Communicator& comm,
                  const kernels::Queue& queue, bool reproducible, PointPorts<T>& ports,
                  const OfSequence& sequence, Keeps keeps)
    : config_(config),
      layers_(layers),
      sizes_{config.num_heads, config.num_latents, config.head_dim()},
      comm_(comm),
      queue_(queue),
      reproducible_(reproducible),
      ports_(ports),
      sequence_(sequence),
      keeps_(keeps),
      latent_blocks_(config, queue) {}

template <class T>
int64_t Passes<T>::n_tile() const {
    return sequence_.tokens ? sequence_.tokens->n_tile() : ports_.n_tile();
}

template <class T>
void Passes<T>::allocate(int64_t chunk_tiles, int64_t n_chunk_global) {
    if (sweep_) {
        sweep_->resize();
    } else {
        sweep_.emplace(config_, layers_, queue_, ports_, sequence_, keeps_);
    }
    // Without reproducibility small problems are cut finer, so that every thread has a chunk.
    const int64_t share = (n_tile() + queue_.n_thread() - 1) / queue_.n_thread();
    chunk_tiles_ = reproducible_ ? chunk_tiles : std::clamp<int64_t>(share, 1, chunk_tiles);
    n_chunk_ = (n_tile() + chunk_tiles_ - 1) / chunk_tiles_;
    if (reproducible_) {
        reduction_ = reproducible_reduction<T>(sizes_, queue_.n_thread(), n_chunk_, n_chunk_global);
    } else if (!reduction_) {  // the fast reduction does not depend on the points
        reduction_ = fast_reduction<T>(sizes_, queue_.n_thread());
    }
    const bool keeps = keeps_ != Keeps::nothing;
    z_.resize((keeps ? config_.num_blocks : 1) * n_z());
    if (keeps) log_sum_.resize(config_.num_blocks * n_log_sum());
    if (keeps && config_.num_latent_blocks > 0) encoded_.resize(config_.num_blocks * n_z());
}

template <class T>
bool Passes<T>::run(bool alive) {
    bool is_finite = true;
    for (int64_t s = 0; s <= config_.num_blocks; ++s) {
        if (alive) sweep(s);
        if (s == config_.num_blocks) break;
        T* const z = z_.data() + slot(s) * n_z();
        T* const log_sum = log_sum_.data() ? log_sum_.data() + s * n_log_sum() : nullptr;
        is_finite = reduction_->reduce(comm_, !alive, z, log_sum) && is_finite;
        alive = alive && is_finite;
        if (!alive) continue;
        if (encoded_.size() > 0) std::copy_n(z, n_z(), encoded_.data() + s * n_z());
        latent_blocks_.run(layers_.blocks[static_cast<size_t>(s)], z);
    }
    return is_finite;
}

template <class T>
void Passes<T>::sweep(int64_t s) {
    const bool encodes = s < config_.num_blocks;
    if (encodes) reduction_->begin();
    queue_.parallel_for(n_chunk_, [&](int64_t chunk, int thread) {
        Partial<T> partial{};
        if (encodes) partial = reduction_->open(chunk, thread);
        const int64_t end = std::min((chunk + 1) * chunk_tiles_, n_tile());
        for (int64_t tile = chunk * chunk_tiles_; tile < end; ++tile) {
            sweep_->run(s, tile, thread, s > 0 ? z(s - 1) : nullptr, partial,
                        encodes ? reduction_->v_max(thread) : nullptr);
        }
        if (encodes) reduction_->close(chunk, thread);
    });
}

template <class T>
void Passes<T>::describe(Work& work) const {
    work.reduction_bytes = reduction_->bytes_sent();
    work.reductions = reduction_->collectives();
    work.latent_flops = latent_blocks_.flops();
    work.latent_exponentials = latent_blocks_.exponentials();
}

template <class T>
int64_t Passes<T>::bytes() const {
    return sweep_->bytes() + reduction_->bytes() + latent_blocks_.bytes() + z_.bytes() +
           encoded_.bytes() + log_sum_.bytes();
}

template class Passes<float>;
template class Passes<double>;

}  // namespace surrogate::impl::flare
