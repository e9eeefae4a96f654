// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/rings.hpp"

#include <algorithm>

namespace surrogate::kernels::sphere {

RingLayout::RingLayout(int64_t first_row, int64_t end_row, int64_t n_phase, int64_t n_column,
                       int64_t n_channel, std::span<const Strip> strips)
    : first_row_(first_row),
      end_row_(std::max(first_row, end_row)),
      n_phase_(n_phase),
      n_column_(n_column),
      n_channel_(n_channel),
      rings_(static_cast<size_t>((end_row_ - first_row_) * n_phase)) {
    for (const Strip& strip : strips) {
        if (strip.row < first_row_ * n_phase_ || strip.row >= end_row_ * n_phase_) continue;
        Ring& ring = rings_[index(strip.row)];
        ring.before = std::max(ring.before, -int64_t{strip.first});
        ring.after = std::max(ring.after, int64_t{strip.first} + strip.count - 1);
    }
    for (Ring& ring : rings_) {
        ring.before = round_up(ring.before, lane_count);  // column 0 of aligned memory is aligned
        const int64_t needed = ring.before + n_column_ + ring.after + lane_count;
        ring.step = round_up(needed, lane_count);
        if (ring.step / lane_count % 2 == 0) ring.step += lane_count;
        ring.after = ring.step - ring.before - n_column_;
        ring.begin = size_ + ring.before;
        size_ += n_channel_ * ring.step;
    }
}

template <class T>
void store_row(Tile<const T> x, int64_t row, Rings<T> rings) {
    const RingLayout& layout = *rings.layout;
    const int64_t p = layout.n_phase(), n = layout.n_column();
    for (int64_t r = 0; r < p; ++r) {
        for (int64_t c = 0; c < layout.n_channel(); ++c) {
            const T* from = x.data + c * x.stride[0] + r;
            T* to = rings.at(row * p + r, c);
            if (p == 1) {
                std::copy_n(from, n, to);
            } else {
                for (int64_t j = 0; j < n; ++j) to[j] = from[j * p];
            }
        }
        close_ring(row * p + r, rings);
    }
}

/// Fills the ends. An end may be longer than the ring: copies are then made from copies.
template <class T>
void close_ring(int64_t phase_row, Rings<T> rings) {
    const RingLayout& layout = *rings.layout;
    const int64_t n = layout.n_column();
    const int64_t before = layout.before(phase_row), after = layout.after(phase_row);
    for (int64_t c = 0; c < layout.n_channel(); ++c) {
        T* ring = rings.at(phase_row, c);
        for (int64_t j = 1; j <= before; ++j) ring[-j] = ring[n - j];
        for (int64_t j = 0; j < after; ++j) ring[n + j] = ring[j];
    }
}

template void store_row(Tile<const float>, int64_t, Rings<float>);
template void store_row(Tile<const double>, int64_t, Rings<double>);
template void close_ring(int64_t, Rings<float>);
template void close_ring(int64_t, Rings<double>);

}  // namespace surrogate::kernels::sphere
