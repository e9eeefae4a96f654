// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/sphere/attention.hpp"

namespace surrogate::bench {

/// A layer of attention on the sphere in the steps of a plan: projections of every point to
/// queries, keys and values, then tile by tile attention and the projection of its result. Rows of
/// points are stored as (n_lat, C, row), keys and values in rings; numbers are fixed and random,
/// scores of the size of trained networks.
class SphereLayer {
public:
    double projection_flops() const;

protected:
    static constexpr int max_threads = 64;

    /// n_tile_rows: rows of latitude whose averages a thread stores at once.
    SphereLayer(const kernels::Grid& grid, const kernels::Heads& heads,
                std::span<const kernels::sphere::Strip> strips, int64_t n_tile_rows);

    void project(const kernels::Queue& queue);  ///< q, k, v of all points
    void project_out(const kernels::Queue& queue, int64_t row, int64_t first, int64_t tile_row,
                     int thread);

    kernels::Tile<float> tile(kernels::Buffer<float>& data, int64_t row, int64_t first) const;
    /// Returns the results of attention for points [first, ..) of a row.
    kernels::Tile<float> averages(int64_t first, int64_t tile_row, int thread);
    int64_t n_tile() const;
    kernels::sphere::Rings<float> k() { return {&k_layout_, k_.data()}; }
    kernels::sphere::Rings<float> v() { return {&v_layout_, v_.data()}; }

    kernels::Grid grid_;
    kernels::Heads heads_;
    int64_t row_;  ///< stride of channels in a row of points
    kernels::sphere::RingLayout k_layout_, v_layout_;
    kernels::Buffer<float> parameters_, x_, q_, k_, v_, y_;
    int64_t n_tile_rows_;
    kernels::Buffer<float> averages_;  ///< (thread, tile row, C, tile_points)
    kernels::Buffer<float> weight_;    ///< (n_lat) quadrature weights
};

/// Neighborhood attention of a grid with itself.
class NeighborhoodLayer : public SphereLayer {
public:
    NeighborhoodLayer(const kernels::Grid& grid, const kernels::Heads& heads, double theta_cutoff);

    /// Computes attention alone, of rows [first, end).
    void attend(const kernels::Queue& queue, int64_t first, int64_t end);
    void run(const kernels::Queue& queue);
    /// Returns the largest difference of some rows of attention from `ref` in double, relative to
    /// the largest result.
    double error(const kernels::Queue& queue);
    double attention_flops(int64_t first, int64_t end) const;
    int64_t n_lat() const { return grid_.n_lat; }

protected:
    NeighborhoodLayer(const kernels::Grid& grid, const kernels::Heads& heads,
                      kernels::sphere::Stencil stencil);
    /// Calls body(first row, end row, column, thread) for blocks of rows and tiles of columns.
    template <class Body>
    void for_blocks(const kernels::Queue& queue, int64_t first, int64_t end, const Body& body) {
        const int64_t n_block = (end - first + block_rows - 1) / block_rows;
        queue.parallel_for(n_block * n_tile(), [&](int64_t i, int thread) {
            const int64_t begin = first + i / n_tile() * block_rows;
            body(begin, std::min(end, begin + block_rows), i % n_tile() * kernels::tile_points,
                 thread);
        });
    }

    static constexpr int64_t block_rows = 4;  ///< rows of latitude that are processed together
    kernels::sphere::Stencil stencil_;
    int64_t n_scratch_;
    kernels::Buffer<float> scratch_;  ///< (thread, n_scratch)

private:
    void attend_block(const kernels::Queue& queue, int64_t first, int64_t end, int64_t column,
                      int thread);
};

/// Attention of all points to all.
class GlobalLayer : public SphereLayer {
public:
    GlobalLayer(const kernels::Grid& grid, const kernels::Heads& heads);

    void attend(const kernels::Queue& queue);  ///< attention alone
    void run(const kernels::Queue& queue);
    double error(const kernels::Queue& queue);
    double attention_flops() const;

private:
    void attend_tile(const kernels::Queue& queue, int64_t row, int64_t first, int thread);

    kernels::Buffer<float> states_, scratch_;  ///< (thread, ..)
};

}  // namespace surrogate::bench
