// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/ring.hpp"

#include <algorithm>
#include <utility>

namespace surrogate::impl::bsa {

using kernels::SoftmaxState;
using kernels::Tiles;

namespace {

constexpr int64_t pieces_at_once = 8;  // queries that use a tile of keys while it is in cache

}  // namespace

template <class T>
Ring<T>::Ring(const Config& config, const kernels::Queue& queue, Communicator& comm,
              Workspace<T>& work, bool is_reproducible)
    : config_(config), queue_(queue), comm_(comm), work_(work), is_reproducible_(is_reproducible) {}

template <class T>
void Ring<T>::resize(std::span<const int64_t> slot_begins) {
    begins_.assign(slot_begins.begin(), slot_begins.end());
    int64_t largest = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) largest = std::max(largest, chunk_bytes(rank));
    if (comm_.size() > 1) {
        visitor_.resize(largest / static_cast<int64_t>(sizeof(T)));
        comm_.reserve_ring_shift(largest);
    }
    states_.resize(work_.shape().n_piece() * SoftmaxState<T>::size(config_.heads()));
    scratch_.resize(static_cast<size_t>(queue_.n_thread()));
    for (auto& scratch : scratch_) scratch.resize(kernels::attend_scratch(config_.heads()));
}

template <class T>
int64_t Ring<T>::chunk_bytes(int rank) const {
    const SlotShape& shape = work_.shape();
    return 2 * n_slot(rank) / shape.n_column * shape.row() * config_.n_channel *
           static_cast<int64_t>(sizeof(T));
}

template <class T>
void Ring<T>::run() {
    const kernels::Heads heads = config_.heads();
    const int64_t n_piece = work_.shape().n_piece();
    const auto state = [&](int64_t piece) {
        return SoftmaxState<T>{heads, states_.data() + piece * SoftmaxState<T>::size(heads)};
    };
    queue_.parallel_for(n_piece, [&](int64_t piece, int) { kernels::reset(state(piece)); });
    if (is_reproducible_) {
        run_in_order();
    } else {
        run_around();
    }
    queue_.parallel_for(n_piece, [&](int64_t piece, int) {
        kernels::finish(queue_, state(piece), work_.shape().piece_of(work_.y(), piece));
        if (log_sum_.data)
            kernels::log_sums(queue_, state(piece), work_.shape().piece_of(log_sum_, piece));
    });
}

template <class T>
void Ring<T>::run_in_order() {
    for (int rank = 0; rank < comm_.size(); ++rank) {
        T* const chunk = rank == comm_.rank() ? work_.k().data : visitor_.data();
        if (comm_.size() > 1) comm_.broadcast(chunk, chunk_bytes(rank), rank);
        attend(rank, chunk);
    }
}

template <class T>
void Ring<T>::run_around() {
    T* chunk = work_.k().data;
    T* next = visitor_.data();
    const int size = comm_.size();
    for (int step = 0; step < size; ++step) {
        const int from = (comm_.rank() - step + size) % size;
        const bool is_last = step + 1 == size;
        if (!is_last) {
            const int after = (from - 1 + size) % size;
            comm_.begin_ring_shift(chunk, chunk_bytes(from), next, chunk_bytes(after));
        }
        attend(from, chunk);
        if (!is_last) comm_.finish_exchange();
        std::swap(chunk, next);
    }
}

/// Computes attention of all own queries to the keys and values of a rank.
template <class T>
void Ring<T>::attend(int rank, T* chunk) {
    const SlotShape& shape = work_.shape();
    const kernels::Heads heads = config_.heads();
    const Tiles<T> k{chunk, config_.n_channel, n_slot(rank), shape.n_column, shape.row()};
    Tiles<T> v = k;
    v.data += k.n_tile() * k.n_channel * k.row;
    const int64_t n_item = (shape.n_piece() + pieces_at_once - 1) / pieces_at_once;
    queue_.parallel_for(n_item, [&](int64_t item, int thread) {
        const int64_t first = item * pieces_at_once;
        const int64_t end = std::min(first + pieces_at_once, shape.n_piece());
        for (int64_t tile = 0; tile < k.n_tile(); ++tile) {
            for (int64_t piece = first; piece < end; ++piece) {
                kernels::attend<T>(queue_, heads, shape.piece_of(work_.q(), piece), k.tile(tile),
                                   v.tile(tile), T(1), {},
                                   scratch_[static_cast<size_t>(thread)].data(),
                                   {heads, states_.data() + piece * SoftmaxState<T>::size(heads)});
            }
        }
    });
}

template <class T>
int64_t Ring<T>::bytes_sent() const {
    if (comm_.size() == 1) return 0;
    if (is_reproducible_) return chunk_bytes(comm_.rank());
    int64_t n_byte = 0;
    for (int step = 0; step + 1 < comm_.size(); ++step)
        n_byte += chunk_bytes((comm_.rank() - step + comm_.size()) % comm_.size());
    return n_byte;
}

template <class T>
int64_t Ring<T>::collectives() const {
    if (comm_.size() == 1) return 0;
    return is_reproducible_ ? comm_.size() : comm_.size() - 1;
}

template <class T>
int64_t Ring<T>::bytes() const {
    int64_t n_byte = visitor_.bytes() + states_.bytes();
    for (const auto& scratch : scratch_) n_byte += scratch.bytes();
    return n_byte;
}

template class Ring<float>;
template class Ring<double>;

}  // namespace surrogate::impl::bsa
