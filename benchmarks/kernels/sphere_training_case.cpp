// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/sphere_training_case.hpp"

#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;
using namespace kernels::sphere;

namespace {

Queue one_thread(const Queue& queue) {
    return Queue(queue.backend(), queue.level(), 1);
}

Buffer<double> doubles(const Buffer<float>& data) {
    Buffer<double> copy(data.size());
    std::copy(data.begin(), data.end(), copy.begin());
    return copy;
}

/// Returns the address in a copy of the memory that corresponds to a tile.
template <class To, class From>
Tile<To> moved(Tile<From> tile, const Buffer<float>& from, To* to) {
    return {to + (tile.data - from.data()), tile.shape, tile.stride};
}

double relative_error(Tile<const float> got, Tile<const double> want) {
    double difference = 0, size = 0;
    for (int64_t c = 0; c < want.shape[0]; ++c) {
        for (int64_t i = 0; i < want.shape[1]; ++i) {
            difference =
                std::max(difference, std::abs(static_cast<double>(got(c, i)) - want(c, i)));
            size = std::max(size, std::abs(want(c, i)));
        }
    }
    return difference / size;
}

}  // namespace

NeighborhoodTraining::NeighborhoodTraining(const Grid& grid, const Heads& heads,
                                           double theta_cutoff)
    : NeighborhoodLayer(grid, heads, theta_cutoff),
      back_(transposed_neighborhood(grid, grid, theta_cutoff, 0, grid.n_lat)),
      q_layout_(0, grid.n_lat, 1, grid.n_lon, heads.n_key_channel(), back_.strips),
      dy_layout_(0, grid.n_lat, 1, grid.n_lon, heads.n_value_channel(), back_.strips),
      sums_layout_(0, grid.n_lat, 1, grid.n_lon, 2 * heads.n_head, back_.strips),
      q_rings_(q_layout_.size()),
      dy_(dy_layout_.size()),
      sums_(sums_layout_.size()),
      dq_(q_.size()),
      dk_(q_.size()),
      dv_(y_.size()),
      n_backward_scratch_(neighborhood_backward_scratch(heads)),
      backward_scratch_(max_threads * n_backward_scratch_) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& x : dy_) x = normal(random);
    for (int64_t row = 0; row < grid.n_lat; ++row) close_ring(row, dy());
    project(Queue(Backend::simd, best_vector_level(), 1));
}

Tile<float> NeighborhoodTraining::ring_tile(Rings<float> rings, int64_t row, int64_t first) {
    Tile<float> tile = points(rings.row(row), first, std::min(tile_points, grid_.n_lon - first));
    return tile;
}

void NeighborhoodTraining::forward(const Queue& queue) {
    const Queue one = one_thread(queue);
    for_blocks(queue, 0, grid_.n_lat, [&](int64_t first, int64_t end, int64_t column, int thread) {
        NeighborhoodRow<float> rows[block_rows];
        for (int64_t row = first; row < end; ++row)
            rows[row - first] = {stencil_.list(row, 0), tile(q_, row, column),
                                 tile(y_, row, column),
                                 channels(ring_tile(sums(), row, column), 0, heads_.n_head)};
        attend_neighbors<float>(one, heads_, {rows, static_cast<size_t>(end - first)}, column, k(),
                                v(), weight_.data(), scratch_.data() + thread * n_scratch_);
    });
}

void NeighborhoodTraining::prepare_backward(const Queue& queue) {
    const Queue one = one_thread(queue);
    queue.parallel_for(grid_.n_lat, [&](int64_t row, int) {
        Tile<float> all = tile(q_, row, 0);
        all.shape[1] = grid_.n_lon;
        store_row<float>(all, row, {&q_layout_, q_rings_.data()});
        for (int64_t first = 0; first < grid_.n_lon; first += tile_points)
            attend_delta<float>(
                one, heads_, tile(y_, row, first), ring_tile(dy(), row, first),
                channels(ring_tile(sums(), row, first), heads_.n_head, heads_.n_head));
        close_ring(row, dy());
        close_ring(row, sums());
    });
}

void NeighborhoodTraining::backward_queries(const Queue& queue) {
    const Queue one = one_thread(queue);
    for_blocks(queue, 0, grid_.n_lat, [&](int64_t first, int64_t end, int64_t column, int thread) {
        QueryGradientRow<float> rows[block_rows];
        for (int64_t row = first; row < end; ++row)
            rows[row - first] = {stencil_.list(row, 0), tile(q_, row, column),
                                 ring_tile(dy(), row, column), ring_tile(sums(), row, column),
                                 tile(dq_, row, column)};
        attend_neighbors_backward_queries<float>(
            one, heads_, {rows, static_cast<size_t>(end - first)}, column, k(), v(), weight_.data(),
            backward_scratch_.data() + thread * n_backward_scratch_);
    });
}

void NeighborhoodTraining::backward_keys(const Queue& queue) {
    const Queue one = one_thread(queue);
    for_blocks(queue, 0, grid_.n_lat, [&](int64_t first, int64_t end, int64_t column, int thread) {
        KeyGradientRow<float> rows[block_rows];
        for (int64_t row = first; row < end; ++row)
            rows[row - first] = {back_.list(row, 0),          weight_[row],
                                 ring_tile(k(), row, column), ring_tile(v(), row, column),
                                 tile(dk_, row, column),      tile(dv_, row, column)};
        attend_neighbors_backward_keys<float>(
            one, heads_, {rows, static_cast<size_t>(end - first)}, column, queries(),
            backward_scratch_.data() + thread * n_backward_scratch_);
    });
}

double NeighborhoodTraining::error_of_row(int64_t row) {
    const Buffer<double> q64 = doubles(q_), k64 = doubles(k_), v64 = doubles(v_),
                         q_rings = doubles(q_rings_), dy64 = doubles(dy_), sums64 = doubles(sums_),
                         weight = doubles(weight_);
    Buffer<double> dq(dq_.size()), dk(dk_.size()), dv(dv_.size());
    const Tile<float> got_q = tile(dq_, row, 0), got_k = tile(dk_, row, 0),
                      got_v = tile(dv_, row, 0);
    const auto d = [&](Tile<float> tile, const Buffer<float>& from, const Buffer<double>& to) {
        return moved<const double>(tile, from, to.data());
    };
    const Tile<double> want_q = moved(got_q, dq_, dq.data()), want_k = moved(got_k, dk_, dk.data()),
                       want_v = moved(got_v, dv_, dv.data());
    const QueryGradientRow<double> query{stencil_.list(row, 0), d(tile(q_, row, 0), q_, q64),
                                         d(ring_tile(dy(), row, 0), dy_, dy64),
                                         d(ring_tile(sums(), row, 0), sums_, sums64), want_q};
    sphere::ref::attend_neighbors_backward_queries<double>(
        heads_, {&query, 1}, 0, {&k_layout_, k64.data()}, {&v_layout_, v64.data()}, weight.data());
    const KeyGradientRow<double> key{back_.list(row, 0),
                                     weight[row],
                                     d(ring_tile(k(), row, 0), k_, k64),
                                     d(ring_tile(v(), row, 0), v_, v64),
                                     want_k,
                                     want_v};
    sphere::ref::attend_neighbors_backward_keys<double>(
        heads_, {&key, 1}, 0,
        {{&q_layout_, q_rings.data()}, {&dy_layout_, dy64.data()}, {&sums_layout_, sums64.data()}});
    return std::max({relative_error(got_q, want_q), relative_error(got_k, want_k),
                     relative_error(got_v, want_v)});
}

double NeighborhoodTraining::error(const Queue& queue) {
    run(queue);
    double error = 0;
    for (int64_t row : {int64_t{0}, grid_.n_lat / 5, grid_.n_lat / 2})
        error = std::max(error, error_of_row(row));
    return error;
}

}  // namespace surrogate::bench
