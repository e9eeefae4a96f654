// SPDX-License-Identifier: Apache-2.0
// Backward through the selected branch of attention.
#include <algorithm>

#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Tile;
using kernels::bsa::KeyBlock;

template <class T>
void LayerGradient<T>::selected_backward() {
    queue_.parallel_for(shape_.n_piece(),
                        [&](int64_t piece, int thread) { select_queries(piece, thread); });
    select_keys();
}

template <class T>
AttendGradient<T> LayerGradient<T>::of_selected(int64_t piece) const {
    return {shape_.piece_of(q_, piece), shape_.piece_of(out_.selected, piece),
            shape_.piece_of(out_.log_selected, piece), shape_.piece_of(delta_selected_, piece)};
}

/// Computes the gradients of the queries of a piece in the selected branch.
template <class T>
void LayerGradient<T>::select_queries(int64_t piece, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    Workspace<T>& work = forward_.work();
    const int64_t g = config_.group_size, k = work.n_choice();
    const int64_t n_group = std::max<int64_t>(1, shape_.piece() / g);
    const int64_t first = piece * shape_.piece() / g;
    KeyBlock<const T>* to = s.keys.data();
    for (int64_t p = first; p < first + n_group; ++p) {
        for (int64_t head = 0; head < config_.n_head; ++head) {
            for (int64_t i = 0; i < k; ++i)
                *to++ = forward_.fetch().block(head, work.chosen(p, head)[i]);
        }
    }
    const auto n_key = static_cast<size_t>(to - s.keys.data());
    kernels::bsa::attend_blocks_backward<T>(queue_, config_.heads(), {0, config_.n_head},
                                            of_selected(piece),
                                            {{s.keys.data(), n_key}, config_.block_size, g, k}, {},
                                            s.attend.data(), shape_.piece_of(dq_, piece));
}

/// Computes the gradients of the own keys and values in the selected branch. Queries of all ranks
/// visit them with their chosen blocks. A thread takes one head and some of the blocks.
template <class T>
void LayerGradient<T>::select_keys() {
    const int64_t n_head = config_.n_head, l = config_.block_size, g = config_.group_size;
    const int64_t n_part = (queue_.n_thread() + n_head - 1) / n_head;
    const int64_t begin = shape_.own.begin / l, n_block = shape_.n_local() / l;
    visits_.run(
        queue_, selecting_.slots, selecting_.bytes(),
        [&](int64_t piece, std::byte* to) {
            pack_queries(selecting_, of_selected(piece), to);
            std::copy_n(forward_.work().chosen(piece * shape_.piece() / g, 0), selecting_.n_choice,
                        selecting_.chosen(to));
        },
        [&](std::byte* visitors, int64_t n) {
            queue_.parallel_for(n_head * n_part, [&](int64_t item, int thread) {
                const int64_t part = item / n_head;
                const Range blocks{begin + n_block * part / n_part,
                                   begin + n_block * (part + 1) / n_part};
                add_of_selected(item % n_head, blocks, visitors, n,
                                scratch_[static_cast<size_t>(thread)]);
            });
        });
}

template <class T>
void LayerGradient<T>::add_of_selected(int64_t head, Range blocks, std::byte* visitors,
                                       int64_t n_visitor, Scratch& s) {
    Workspace<T>& work = forward_.work();
    const int64_t k = work.n_choice(), l = config_.block_size, n_head = config_.n_head;
    const int64_t n = std::min(config_.group_size, selecting_.n);  // queries of a group in a tile
    const int64_t channel = head * config_.head_dim() * dk_.row;
    const int64_t first_own = shape_.own.begin / l;
    for (int64_t i = 0; i < n_visitor; ++i) {
        std::byte* const visitor = visitors + i * selecting_.bytes();
        const int32_t* const chosen = selecting_.chosen(visitor);
        const AttendGradient<T> all = queries(selecting_, visitor);
        for (int64_t p = 0; p * n < selecting_.n; ++p) {
            int64_t count = 0;
            const int64_t first = head * k;
            for (int64_t j = 0; j < k; ++j) {
                const int64_t block = chosen[(p * n_head + head) * k + j];
                if (block < blocks.begin || block >= blocks.end) continue;
                const int64_t slot = (block - first_own) * l, at = first + count++;
                s.keys[at] = forward_.fetch().block(head, block);
                s.dkeys[at] = {dk_.column(slot) + channel, dv_.column(slot) + channel, dk_.row};
            }
            if (count == 0) continue;
            const auto some = [&](const Tile<const T>& field) {
                return kernels::points(field, p * n, n);
            };
            // The kernel expects the keys of `head` behind the keys of the heads before it.
            const auto n_key = static_cast<size_t>((head + 1) * count);
            kernels::bsa::attend_blocks_backward<T>(
                queue_, config_.heads(), {head, head + 1},
                {some(all.q), some(all.dy), some(all.log_sum), some(all.delta)},
                {{&s.keys[first - head * count], n_key}, l, config_.group_size, count},
                {&s.dkeys[first - head * count], n_key}, s.attend.data(), {});
        }
    }
}

template void LayerGradient<float>::selected_backward();
template void LayerGradient<double>::selected_backward();

}  // namespace surrogate::impl::bsa
