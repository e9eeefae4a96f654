// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/view.hpp"
#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere {

/// Layout of the phase rows of some consecutive grid rows in one block of memory. Each is padded
/// with the columns that strips reach beyond both ends of the ring, so that kernels never wrap an
/// index.
///   element (phase row p, channel c, column j):  data[begin(p) + c * step(p) + j],
///   j in [-before(p), n_column + after(p))
/// Phase rows are numbered from the first grid row. after(p) includes a group of lane_count columns
/// that runs over the end. Steps are odd multiples of lane_count: channels do not collide in one
/// cache set.
class RingLayout {
public:
    RingLayout() = default;
    /// Lays out grid rows [first_row, end_row) with n_phase phases of n_column columns, padded for
    /// `strips` (strips of other rows may be present and are ignored).
    RingLayout(int64_t first_row, int64_t end_row, int64_t n_phase, int64_t n_column,
               int64_t n_channel, std::span<const Strip> strips);

    int64_t first_row() const { return first_row_; }
    int64_t end_row() const { return end_row_; }
    int64_t n_phase() const { return n_phase_; }
    int64_t n_column() const { return n_column_; }
    int64_t n_channel() const { return n_channel_; }
    int64_t size() const { return size_; }  ///< elements of all rings
    int64_t begin(int64_t phase_row) const { return rings_[index(phase_row)].begin; }
    int64_t step(int64_t phase_row) const { return rings_[index(phase_row)].step; }
    int64_t before(int64_t phase_row) const { return rings_[index(phase_row)].before; }
    int64_t after(int64_t phase_row) const { return rings_[index(phase_row)].after; }

private:
    struct Ring {
        int64_t begin = 0, step = 0, before = 0, after = 0;
    };
    size_t index(int64_t phase_row) const {
        return static_cast<size_t>(phase_row - first_row_ * n_phase_);
    }
    int64_t first_row_ = 0, end_row_ = 0, n_phase_ = 1, n_column_ = 0, n_channel_ = 0, size_ = 0;
    std::vector<Ring> rings_;
};

/// Memory in such a layout; the caller owns both. Phase rows are addressed by their global number.
template <class T>
struct Rings {
    const RingLayout* layout = nullptr;
    T* data = nullptr;

    T* at(int64_t phase_row, int64_t channel) const {
        return data + layout->begin(phase_row) + channel * layout->step(phase_row);
    }
    /// Returns the ring without its ends: (n_channel, n_column). Only rows of a layout with one
    /// phase hold their columns in natural order.
    Tile<T> row(int64_t phase_row) const {
        return {data + layout->begin(phase_row),
                {layout->n_channel(), layout->n_column()},
                {layout->step(phase_row), 1}};
    }
    operator Rings<const T>() const requires(!std::is_const_v<T>) { return {layout, data}; }
};

/// Copies x (n_channel, n_column * n_phase), grid row `row` in natural order, to its phase rows and
/// fills their ends.
template <class T>
void store_row(Tile<const T> x, int64_t row, Rings<T> rings);

/// Fills the ends of a phase row from its columns.
template <class T>
void close_ring(int64_t phase_row, Rings<T> rings);

}  // namespace surrogate::kernels::sphere
